/* SPDX-License-Identifier: Apache-2.0
 * What is remembered of the cards, as text that outlives the daemon. The boot it was written in goes along: after another one every
 * card was reset.
 */
#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "insight/verdict/card_memory.h"

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
