/* SPDX-License-Identifier: Apache-2.0
 * How a lease lives, as pure functions: what follows each event, whose value a GPU has, when a lease is over. ask/ask_lease.c and
 * lease_settings.c perform the actions and report how they went; no other place decides an order of steps.
 * tests/unit/lease/test_lease_state.c walks every interleaving of several such processes, with faults between any two steps.
 *
 *   GPUs       NONE -> DECIDING -> STARTING -> HELD -> LEAVING -> OVER
 *                         |  \___> JOINING -> QUEUED -> TURN __/        (no room: it waits in line)
 *   settings   NONE -> READING -> WRITING -> SETTING -> KEEPING -> ACTIVE -> MARKING -> RESTORING -> REMOVING -> OVER
 *
 * In the journal, a setting is "written" from SETTING on, "active" from ACTIVE on, "restoring" from RESTORING on. The journal is
 * ahead of the GPU at the beginning, and behind it at the end: a process that finds a record knows what may have been changed.
 */
#pragma once

#include "lease/lease.h"
#include "source/source_control.h"

enum lease_stage {
    STAGE_NONE,
    /* GPUs */
    STAGE_DECIDING,
    STAGE_JOINING,
    STAGE_QUEUED,
    STAGE_TURN,
    STAGE_STARTING,
    STAGE_HELD,
    STAGE_LEAVING,
    /* settings */
    STAGE_READING,
    STAGE_WRITING,
    STAGE_SETTING,
    STAGE_KEEPING,
    STAGE_ACTIVE,
    STAGE_MARKING,
    STAGE_RESTORING,
    STAGE_REMOVING,
    STAGE_OVER
};

enum lease_event {
    EVENT_ASK,    /* a person wants GPUs */
    EVENT_CHANGE, /* a person wants a setting changed */
    EVENT_END,    /* its end has come, or another try to end it */
    EVENT_DONE,   /* the action succeeded; of a decision: there is room */
    EVENT_FULL,   /* no room now */
    EVENT_FAILED  /* the action failed, or can never succeed */
};

enum lease_action {
    ACTION_REST, /* nothing until the next event */
    /* GPUs */
    ACTION_DECIDE, /* take the lock, and look whether there is room */
    ACTION_JOIN,   /* record it as waiting */
    ACTION_AWAIT,  /* give the lock back, and sleep until something may have changed */
    ACTION_START,  /* make its program, and record it as active */
    ACTION_LEAVE,  /* remove its record */
    /* settings, all with the journal's lock */
    ACTION_READ,           /* what the GPU has now, to restore it later */
    ACTION_MARK_WRITTEN,   /* record the values */
    ACTION_SET,            /* if the GPU still has what was read */
    ACTION_MARK_ACTIVE,    /* record the values that the driver made of it */
    ACTION_MARK_RESTORING, /* drop what isn't ours anymore, and record that the rest is going back */
    ACTION_RESTORE,        /* what is ours */
    ACTION_REMOVE          /* the record */
};

struct lease_rule {
    enum lease_stage stage;
    enum lease_event event;
    enum lease_stage next;
    enum lease_action action;
};
extern const struct lease_rule lease_rules[];
extern const size_t lease_rule_count;

/* The action that follows the event. An event that means nothing at this stage changes nothing: ACTION_REST. */
enum lease_action lease_next(enum lease_stage *stage, enum lease_event event);

/* The stage of a setting found in the journal. */
enum lease_stage lease_stage_of(const char *step);

/* ---- whose value a GPU has ---- */

enum value_owner {
    VALUE_BEFORE,  /* what it was before the lease */
    VALUE_OURS,    /* what we set, or half of it: to be restored */
    VALUE_RESET,   /* the driver's default: a reload, a suspend or a boot has taken ours away */
    VALUE_FOREIGN, /* another program's: stays */
};

/* What is known about a changed setting. */
struct lease_value {
    enum control_kind kind;
    bool unfinished; /* recorded as "written" or "restoring": it may be half done, or rounded by the driver */
    struct control_value asked, before;
    int64_t least, most;
};

/* `rc` and `now` are control_look()'s; rc is 0 or -EBUSY. */
enum value_owner lease_value_owner(const struct lease_value *v, int rc, const struct control_state *now);

/* ---- when a lease is over ---- */

struct lease_life {
    bool held;       /* a process has its file open */
    bool alive;      /* the process it names exists */
    bool other_boot; /* the host was booted since */
    struct wall now;
};

/* NULL: it isn't; else why. */
const char *lease_over(const struct lease *l, const struct lease_life *life);
