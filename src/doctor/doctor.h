/* SPDX-License-Identifier: Apache-2.0
 * The doctor: looks at everything that decides what whirr can see, and tells what to fix, in order.
 *
 *   machine ──doctor_look()──▶ facts ──doctor_judge()──▶ findings ──▶ text or JSON
 *
 * Judging is a pure function of the facts and the snapshot.
 */
#pragma once

#include "base/env.h"
#include "base/json_writer.h"
#include "format/table/page.h"
#include "model/snapshot.h"
#include "source/sysfs/bus.h"

enum { DOCTOR_CARDS_MAX = 64, DOCTOR_NODES_MAX = 96, DOCTOR_FINDINGS_MAX = 48 };

/* A display controller or accelerator on the PCI bus, whether a source shows it or not. */
struct doctor_card {
    struct bus_gpu on_bus;
    int gpu_index; /* -1: no source shows it */
};

/* A device file that drivers are reached through. */
struct doctor_node {
    char path[64];
    char group[33]; /* that owns it; "" unknown */
    unsigned mode;
    bool usable; /* we may read and write it */
    bool member; /* we are in its group */
};

struct doctor_facts {
    char kernel[64];
    char machine[16];
    char nvidia_module[32]; /* version of the loaded kernel module; "" not loaded */
    bool nouveau_loaded;
    int bus_error; /* the PCI bus could not be looked at; 0: it was */
    size_t card_count;
    struct doctor_card cards[DOCTOR_CARDS_MAX];
    size_t node_count;
    struct doctor_node nodes[DOCTOR_NODES_MAX];
    bool root, cap_ptrace;
    int hidepid;               /* of /proc; 0: processes of others can be seen */
    char container[32];        /* "docker", ...; "" none was recognised */
    bool wsl;                  /* Linux runs beside Windows, whose driver answers */
    char places[768];          /* directories where the driver's library was looked for behind the loader's own */
    bool own_pid_namespace;    /* pids of the host are not ours */
    bool guards_nothing;       /* [worker] asks for evictions, and there is no worker */
    char visible_devices[128]; /* NVIDIA_VISIBLE_DEVICES; "" unset */
};

enum urgency { URGENT, USEFUL, NOTE };

struct doctor_finding {
    enum urgency urgency;
    char what[256]; /* a sentence */
    char fix[384];  /* what to do; "" nothing needs to be done */
};

struct findings {
    size_t count;
    struct doctor_finding list[DOCTOR_FINDINGS_MAX];
};

void doctor_look(const struct env *env, const struct snapshot *s, struct doctor_facts *facts);
/* Urgent ones first. */
void doctor_judge(const struct doctor_facts *facts, const struct snapshot *s, struct findings *findings);

/* described: what the sources say about themselves. */
void doctor_text(struct buf *out, const struct page *page, const struct doctor_facts *facts, const struct snapshot *s,
                 const struct findings *findings, const char *described);
void doctor_json(struct json_writer *j, const struct doctor_facts *facts, const struct snapshot *s, const struct findings *findings,
                 const char *described);
