/* SPDX-License-Identifier: Apache-2.0
 * The doctor: examines everything that decides what whirr can see, and lists what to fix, in order.
 *
 *   machine ──doctor_read()──▶ facts ──doctor_judge()──▶ findings ──▶ text or JSON
 *
 * Judging is a pure function of the facts and the snapshot.
 */
#pragma once

#include "base/env.h"
#include "base/json_writer.h"
#include "format/table/page_table.h"
#include "model/snapshot.h"
#include "source/sysfs/bus.h"

enum { DOCTOR_CARDS_MAX = 64, DOCTOR_NODES_MAX = 96, DOCTOR_FINDINGS_MAX = 48, DOCTOR_CUT_OFF_MAX = 8 };

/* A display controller or accelerator on the PCI bus, whether or not a source shows it. */
struct doctor_card {
    struct bus_gpu on_bus;
    int gpu_index; /* -1: no source shows it */
};

/* A device file through which programs reach a driver. */
struct doctor_node {
    char path[64];
    char group[33]; /* owning group; "": unknown */
    unsigned mode;
    bool usable; /* readable and writable for us */
    bool member; /* we belong to its group */
};

/* A container with NVIDIA's device files whose device cgroup doesn't allow them. */
struct doctor_cut_off {
    char container[64];
    bool already; /* else from the next `systemctl daemon-reload` on, unless there was one */
};

struct doctor_facts {
    char kernel[64];
    char machine[16];
    char nvidia_module[32]; /* version of the loaded kernel module; "": not loaded */
    int bus_error;          /* why the PCI bus could not be read; 0: it could */
    size_t card_count;
    struct doctor_card cards[DOCTOR_CARDS_MAX];
    size_t node_count;
    struct doctor_node nodes[DOCTOR_NODES_MAX];
    bool root, cap_ptrace;
    int hidepid;               /* of /proc; 0: other users' processes are visible */
    char container[32];        /* "docker", ...; "": none recognized */
    bool wsl;                  /* runs in WSL: the Windows driver answers */
    char places[768];          /* directories that were searched for the driver's library besides the loader's own */
    bool own_pid_namespace;    /* PIDs differ from the host's */
    bool guards_nothing;       /* [worker] configures evictions, but there is no worker */
    char visible_devices[128]; /* NVIDIA_VISIBLE_DEVICES; "": unset */
    bool cut_off_here;         /* the container of this process is one of these */
    size_t cut_off_count;
    struct doctor_cut_off cut_off[DOCTOR_CUT_OFF_MAX];
};

enum urgency { URGENT, USEFUL, NOTE };

struct doctor_finding {
    enum urgency urgency;
    char what[256]; /* a sentence */
    char fix[384];  /* what to do; "": nothing */
};

struct findings {
    size_t count;
    struct doctor_finding list[DOCTOR_FINDINGS_MAX];
};

void doctor_read(const struct env *env, const struct snapshot *s, struct doctor_facts *facts);
/* Sorts urgent findings first. */
void doctor_judge(const struct doctor_facts *facts, const struct snapshot *s, struct findings *findings);

/* described: how the sources describe themselves. */
void doctor_text(struct buf *out, const struct page *page, const struct doctor_facts *facts, const struct snapshot *s,
                 const struct findings *findings, const char *described);
void doctor_json(struct json_writer *j, const struct doctor_facts *facts, const struct snapshot *s, const struct findings *findings,
                 const char *described);
