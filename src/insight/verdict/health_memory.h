/* SPDX-License-Identifier: Apache-2.0
 * What is remembered of each GPU over samples and restarts: errors that its driver or the kernel log told of, resets, faults that
 * came back after one, a loss that is over, the most links that were ever up. It gives findings to a verdict, and takes from the
 * verdict what has held. Passed in and out: no clock, no I/O.
 *
 *   areas ──▶ collection ──▶ recall: what the readings of the moment can't know ──▶ presence ──▶ keep: what holds, and since when
 */
#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "insight/baseline/baseline.h"
#include "model/finding.h"
#include "model/snapshot.h"

struct collection;

enum {
    HEALTH_FAULTS_MAX = 24, /* per card; the oldest that is over falls out */
    HEALTH_SIMULATED_SIZE = 128,
};

/* From best to worst; what is worse outranks. */
enum health_state { HEALTH_UNKNOWN, HEALTH_ASLEEP, HEALTH_HEALTHY, HEALTH_DEGRADED, HEALTH_FAILING, HEALTH_LOST };

/* Something that was found wrong with a card, now or before. Plain data: can be kept over a restart. */
struct health_fault {
    finding_code code;
    int32_t number; /* the XID, the driver's fault; 0 otherwise */
    struct wall first_at, last_at;
    uint32_t times;
    uint64_t total;   /* ever seen: what a counter shows, while `times` begins anew */
    uint32_t resets;  /* of the card, when it was seen last */
    bool returned;    /* came back after a reset */
    bool active;      /* it has held for its time, and is not over */
    struct wall held; /* since when it holds without a break; 0: it does not */
    enum severity severity;
    enum health_effect health;
    const char *advice; /* of this finding; NULL: that of its kind, also after a restart */
    char reason[160];   /* its headline behind "GPU 1" */
};

/* A GPU; of NPUs, accelerators and ports (id.kind) only the place in the inventory. */
struct health_card {
    struct gpu_id id;
    int index;
    char source[SOURCE_NAME_SIZE];
    char machine[HEALTH_SIMULATED_SIZE]; /* of a simulated card: the host it belongs to; else "" */
    char serial[GPU_TEXT_SIZE];
    struct wall first_seen, last_seen;
    struct wall forgotten; /* a person said that it need not be there; 0: it has to, until it is seen again */
    char forgotten_by[64];
    bool simulated;
    enum gpu_state last_state;
    uint32_t resets;
    struct reading energy_mj, ecc_corrected, ecc_uncorrected; /* as last read: going back means a reset */
    struct reading replays;                                   /* at the start of the window that is counted in */
    struct wall replays_at, replays_since;                    /* that window's start; that of the one before */
    double replays_per_min;                                   /* in the one before */
    struct wall slow_since;                                   /* its link is of a lower generation under load; 0: not so */
    int64_t nvlinks_most;                                     /* links seen active */
    size_t fault_count;
    struct health_fault faults[HEALTH_FAULTS_MAX];
    enum health_state state;
    struct wall state_since;
};

struct health_history {
    int64_t same_ms;                     /* window in which one XID from driver and log counts once; 0: 5 s */
    const struct baselines *usual;       /* borrowed; NULL: nothing is known */
    char machine[HEALTH_SIMULATED_SIZE]; /* the simulated host that is shown; "" none */
    unsigned changes;                    /* of which cards there are, and which have to be there */
    size_t card_count;
    struct health_card cards[GPU_MAX];
};

struct health_history *health_history_new(void); /* NULL: out of memory */
void health_history_free(struct health_history *h);

/* Learns which cards there are, so that health_note_xid() finds them before the first judgement. */
void health_meet(struct health_history *h, const struct snapshot *now);
/* The memory of this GPU, made when it is not there yet; NULL: it is full. */
struct health_card *health_card_of(struct health_history *h, const struct gpu *gpu);
/* A port of InfiniBand that had a link once: whether it has one. */
void health_note_port(struct health_history *h, const char *name, const char *model, bool up, struct wall at);

/* A person took it out: it need not be there any more (`at` 0: it has to again). -ENOENT: no card has this UUID, PCI address or
 * index; -EBUSY: it is there; -EMLINK: several. */
/* By its index, UUID or PCI address. */
bool health_is_called(const struct health_card *card, const char *which);
int health_forget(struct health_history *h, const struct snapshot *now, const char *which, struct wall at, const char *by,
                  struct health_card **ret);
/* The GPU that is now where this card was; NULL: none. */
const struct gpu *health_successor(const struct health_card *card, const struct snapshot *now);
bool health_is_there(const struct health_card *card, const struct snapshot *now);

/* Takes the snapshot (with its XID events), and adds what is remembered to what the areas have found in it. */
void card_memory_recall(struct health_history *h, struct collection *c);
/* What the whole collection has is remembered: what holds, since when, and whether it came back. */
void card_memory_keep(struct health_history *h, const struct collection *c);
/* A logged fault as a finding of its card; false: it is none, or none any more. */
bool card_memory_logged(const struct health_card *card, const struct health_fault *fault, struct wall now, struct finding *ret);

/* An XID from elsewhere (the kernel log, also from before the start). The same one within a few seconds counts once. False: no card
 * with this PCI address is known. */
bool health_note_xid(struct health_history *h, const char *pci_address, int64_t code, struct wall at);
/* The same for a fault that a kernel driver told of (source/fault/kernel_log.def). */
bool health_note_driver_fault(struct health_history *h, const char *pci_address, int64_t code, struct wall at);
/* Likewise for a switch, for all GPUs with links to others. */
bool health_note_switch_fault(struct health_history *h, const struct snapshot *s, int64_t code, struct wall at);
/* The machine was booted since the memory was written: every card was reset. */
void health_note_boot(struct health_history *h);

/* ---- as text that outlives the daemon (health_file.c). The boot it was written in goes along: after another one every card was
 * reset. ---- */

enum {
    HEALTH_FILE_MAX = 4 << 20,
    HEALTH_BOOT_SIZE = 40, /* of the kernel's boot id */
    HEALTH_MACHINE_SIZE = 65,
    HEALTH_UNNAMED_MAX_MS = 604800000, /* a card without UUID and PCI address that was not seen for a week may be forgotten */
    HEALTH_FORGOTTEN_MAX_MS = 30 * 86400000LL, /* so long `whirr forget` can be undone */
};

/* Up to where the kernel log is part of it. */
struct health_log_mark {
    int64_t us;     /* since boot */
    struct wall at; /* for logs that have only dates */
};

/* Where it is written: hosts may share a home. "" unknown. */
struct health_host {
    char machine[HEALTH_MACHINE_SIZE]; /* the id of its system, else its name */
    char boot[HEALTH_BOOT_SIZE];
};

/* Simulated cards belong to the simulated host in h->machine, which both must know: those of another one are left out. */
void health_write(const struct health_history *h, const struct health_host *host, struct health_log_mark until, struct wall now,
                  struct buf *out);
/* Into an empty history. -EINVAL: it cannot be understood. -EXDEV: it is another host's. *until is 0 after another boot. */
int health_read(struct health_history *h, struct str text, const struct health_host *host, struct wall now,
                struct health_log_mark *until, struct error *err);
/* Which cards there are, without what happened to them. */
void health_keep_names(struct health_history *h);
