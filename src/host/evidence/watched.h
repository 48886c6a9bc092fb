/* SPDX-License-Identifier: Apache-2.0
 * Which programs are remembered between two looks, for how long, and how often they are looked at: the same on every system.
 */
#pragma once

#include "base/clock.h"
#include "host/evidence/evidence.h"

enum {
    LOOK_LEAST_MS = 300, /* two looks are so far apart: what is between is answered from the last one */
    QUICK_LEAST_MS = 4,
    WINDOW_MS = 4500, /* what was before says nothing about now */
};

/* First in what a system remembers of a process. */
struct watched_process {
    struct evidence_target target;
    struct mono looked_at; /* ns 0: not yet */
};

struct watch_list {
    struct watched_process **list; /* of memory that is freed here */
    size_t count, capacity;
    void (*done)(struct watched_process *w, void *user); /* what is inside of one; NULL: nothing */
    void *user;
};

/* NULL: it is not remembered; one whose number it has got is forgotten. */
struct watched_process *watched_find(struct watch_list *l, const struct evidence_target *target);
bool watched_has_room(struct watch_list *l);                       /* for one more */
void watched_add(struct watch_list *l, struct watched_process *w); /* where there is room */
void watched_forget(struct watch_list *l, const struct watched_process *w);
void watched_forget_old(struct watch_list *l, struct mono now, int64_t gap_ms); /* of the rounds */
void watched_done(struct watch_list *l);
bool watched_is_recent(const struct watched_process *w, struct mono now, bool quick); /* too recent for another look */

/* Nothing is known yet. */
void evidence_clear(struct host_evidence *ret);
