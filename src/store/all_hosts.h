/* SPDX-License-Identifier: Apache-2.0
 * All hosts of a server's database at this moment, and what they used: for views of a fleet. What it means is said in fleet/.
 */
#pragma once

#include "model/gpu.h"
#include "model/host.h"
#include "model/limit.h"
#include "model/severity.h"
#include "store/store.h"

enum {
    HOST_ALIVE_MS = 5 * 60000,     /* a host that has not written for longer is silent, */
    HOST_SILENT_MS = 7 * 86400000, /* and after this it is gone */
};

struct host_gpu {
    char host[HOST_NAME_SIZE];
    int index;
    char uuid[GPU_UUID_SIZE], name[GPU_NAME_SIZE];
    bool up;
    struct reading util_permille, used_bytes, total_bytes, free_bytes, temp_mdegc, power_mw;
    struct reading instance_most_bytes; /* of a divided one, the size of its largest instance; absent: it is not divided */
};
typedef int host_gpu_fn(void *user, const struct host_gpu *gpu);
/* -EINVAL: a file has one host, or few. */
int all_hosts_gpus(struct store *s, host_gpu_fn *each, void *user, struct error *err);
/* Hosts that have stopped writing, and how long ago. */
typedef int silent_host_fn(void *user, const char *host, int64_t silent_ms);
int all_hosts_silent(struct store *s, silent_host_fn *each, void *user, struct error *err);

/* How far the clocks of hosts that are there are ahead of the server's. */
typedef int host_clock_fn(void *user, const char *host, int64_t ahead_ms);
int all_hosts_clocks(struct store *s, host_clock_fn *each, void *user, struct error *err);

/* What a host that is there finds at this moment, within half a minute: the episodes that have not ended. */
struct host_finding {
    char host[HOST_NAME_SIZE];
    int gpu_index;                        /* -1: about the host */
    char uuid[GPU_UUID_SIZE];             /* "" about the host */
    char code[32];                        /* a later version has codes of its own */
    char process[PROCESS_WORDS];          /* its short name; "" about no process */
    char headline[FINDING_HEADLINE_SIZE]; /* of the worst moment */
    enum severity severity;
    double confidence;
    int64_t since_ms; /* for how long, up to now */
};
typedef int host_finding_fn(void *user, const struct host_finding *finding);
int all_hosts_findings(struct store *s, host_finding_fn *each, void *user, struct error *err);

struct host_process {
    char host[HOST_NAME_SIZE];
    int gpu_index;
    struct process who; /* name, user, container and job */
    struct reading mem_bytes, util_permille, power_mw;
    enum limit limit; /* of the last minute; LIMIT_UNJUDGED: not known */
};
typedef int host_process_fn(void *user, const struct host_process *process);
int all_hosts_processes(struct store *s, host_process_fn *each, void *user, struct error *err);

/* Of a host's GPUs; or of processes that have user, container and job in common, on any host. */
typedef int host_energy_fn(void *user, const char *host, const struct process *who, int64_t energy_mj);
/* What was used in the last span. */
int all_hosts_energy(struct store *s, bool processes, int64_t span_ms, host_energy_fn *each, void *user, struct error *err);
