/* SPDX-License-Identifier: Apache-2.0
 * Which programs are remembered between looks, for how long, and how often they are read: the same on every system.
 */
#pragma once

#include "base/clock.h"
#include "host/evidence/evidence.h"

enum {
    LOOK_LEAST_MS = 300, /* minimum distance of two looks; in between, the last one answers */
    QUICK_LEAST_MS = 4,
    WINDOW_MS = 4500, /* older looks say nothing about now */
};

/* First member of each system's per-process memory. */
struct watched_process {
    struct evidence_target target;
    struct mono looked_at; /* ns 0: never */
};

struct watch_list {
    struct watched_process **list; /* entries are freed here */
    size_t count, capacity;
    void (*done)(struct watched_process *w, void *user); /* frees an entry's contents; NULL: nothing to free */
    void *user;
};

/* NULL: not watched. Drops an older process with the same PID. */
struct watched_process *watched_find(struct watch_list *l, const struct evidence_target *target);
bool watched_has_room(struct watch_list *l); /* room for one more; call before watched_add */
void watched_add(struct watch_list *l, struct watched_process *w);
void watched_forget(struct watch_list *l, const struct watched_process *w);
void watched_forget_old(struct watch_list *l, struct mono now, int64_t gap_ms); /* not looked at for several rounds */
void watched_done(struct watch_list *l);
bool watched_is_recent(const struct watched_process *w, struct mono now, bool quick); /* too recent for another look */

/* Marks everything unknown. */
void evidence_clear(struct host_evidence *ret);
