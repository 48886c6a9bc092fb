/* SPDX-License-Identifier: Apache-2.0
 * All hosts of a server's database at this moment, and the energy they used: for views of a fleet. fleet/ interprets it.
 */
#pragma once

#include "model/gpu.h"
#include "model/host.h"
#include "model/limit.h"
#include "model/severity.h"
#include "store/store.h"

enum {
    HOST_ALIVE_MS = 5 * 60000,     /* a host that hasn't written for longer is silent, */
    HOST_GRACE_MS = 15000,         /* and one whose samples come more often, after this and twice their distance; */
    HOST_GAPS = 6,                 /* samples whose distances are read */
    HOST_SILENT_MS = 7 * 86400000, /* after this it is gone */
};

struct host_gpu {
    char host[HOST_NAME_SIZE];
    int index;
    char uuid[GPU_UUID_SIZE], name[GPU_NAME_SIZE];
    bool up, calm; /* calm: the host has judged it, and found nothing that asks for a look */
    struct reading util_permille, used_bytes, total_bytes, free_bytes, temp_mdegc, power_mw;
    struct reading instance_max_bytes; /* the largest instance of a partitioned GPU, of `rooms`; absent if not partitioned */
};
typedef int host_gpu_fn(void *user, const struct host_gpu *gpu);
/* Also of hosts that are silent, but for less than HOST_ALIVE_MS. -EINVAL: the database is a file, which holds one host or a few.
 */
int all_hosts_gpus(struct store *s, bool rooms, host_gpu_fn *each, void *user, struct error *err);
/* Hosts that have stopped writing, how long ago, and what their GPUs did last; no GPUs: unknown. */
struct silent_host {
    char host[HOST_NAME_SIZE];
    int64_t silent_ms, waited_ms; /* waited: since the database has been up */
    struct reading gpus, util_permille, used_bytes, total_bytes, temp_mdegc, power_mw;
};
typedef int silent_host_fn(void *user, const struct silent_host *host);
int all_hosts_silent(struct store *s, silent_host_fn *each, void *user, struct error *err);

/* Hosts that a person has forgotten, and how long ago. */
typedef int forgotten_host_fn(void *user, const char *host, const char *by, int64_t ago_ms);
int all_hosts_forgotten(struct store *s, forgotten_host_fn *each, void *user, struct error *err);
/* Forgets a host, or expects it again, with an event in its history. -ENOENT: it never wrote here. */
int all_hosts_forget(const struct env *env, const char *url, const char *host, const char *by, bool undo, struct error *err);

/* How far the clocks of live hosts are ahead of the server's. */
typedef int host_clock_fn(void *user, const char *host, int64_t ahead_ms);
int all_hosts_clocks(struct store *s, host_clock_fn *each, void *user, struct error *err);

/* Present findings of live hosts, at most half a minute old: the episodes that have not ended. trouble: only those that ask for a
 * look, or say that a GPU is held. */
struct host_finding {
    char host[HOST_NAME_SIZE];
    int gpu_index;                        /* -1: a finding about the host */
    char uuid[GPU_UUID_SIZE];             /* "": a finding about the host */
    char code[32];                        /* text, since a later version may have codes that this one lacks */
    char process[PROCESS_WORDS];          /* short name; "" if not about a process */
    char headline[FINDING_HEADLINE_SIZE]; /* at the worst moment */
    enum severity severity;
    double confidence;
    int64_t since_ms; /* duration so far */
};
typedef int host_finding_fn(void *user, const struct host_finding *finding);
int all_hosts_findings(struct store *s, bool trouble, host_finding_fn *each, void *user, struct error *err);

struct host_process {
    char host[HOST_NAME_SIZE];
    int gpu_index;
    struct process who; /* name, user, container and job */
    struct reading mem_bytes, util_permille, power_mw;
    enum limit limit; /* in the last minute; LIMIT_UNJUDGED if unknown */
};
typedef int host_process_fn(void *user, const struct host_process *process);
int all_hosts_processes(struct store *s, host_process_fn *each, void *user, struct error *err);

/* Energy of a host's GPUs; or of all processes with the same user, container and job, on any host. */
typedef int host_energy_fn(void *user, const char *host, const struct process *who, int64_t energy_mj);
/* Energy used in the last span_ms. */
int all_hosts_energy(struct store *s, bool processes, int64_t span_ms, host_energy_fn *each, void *user, struct error *err);
