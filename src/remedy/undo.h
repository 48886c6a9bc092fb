/* SPDX-License-Identifier: Apache-2.0
 * What whirr has changed and still holds, by whichever door: one list, newest first. Plain data and its JSON; who finds it adds it.
 */
#pragma once

#include "answer/answer.h"
#include "lease/lease.h"

enum { UNDO_MAX = 256, UNDO_TEXT = 192, UNDO_ID_SIZE = 80 };

enum undo_door {
    UNDO_SETTING,
    UNDO_RESERVATION,
    UNDO_SILENCE,
    UNDO_GUARD,
    UNDO_NOTIFIER,
    UNDO_TOKEN,
    UNDO_SETUP,
    UNDO_FORGOTTEN,
    UNDO_DOORS
};

enum undo_state { UNDO_NOT_ASKED, UNDO_DONE, UNDO_UNDER_WAY, UNDO_REFUSED, UNDO_DRY_RUN, UNDO_STATES };

struct undo_entry {
    char id[UNDO_ID_SIZE];
    enum undo_door door;
    char what[UNDO_TEXT], before[UNDO_TEXT], now[UNDO_TEXT], by[96], how[128];
    struct wall since, until;
    bool simulated;
    enum undo_state state; /* after a request to take it back */
    char why_not[192];
};

struct undo_list {
    size_t count;
    struct undo_entry at[UNDO_MAX];
};

extern const struct answer undo_list_answer;

/* An empty one with that ID; NULL: there are too many. */
struct undo_entry *undo_add(struct undo_list *l, enum undo_door door, const char *id);
/* Only of settings and reservations that hold. */
void undo_add_lease(struct undo_list *list, const struct lease *l);
void undo_sort(struct undo_list *l);
