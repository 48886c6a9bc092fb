/* SPDX-License-Identifier: Apache-2.0
 * The queue of one target, the alerts it has sent, and when the next message is due. Decisions only: no thread, no clock, no
 * network; the file functions at the end save it across restarts.
 *
 *   put ──▶ queue ──▶ due? ──▶ take a group ──▶ sent:    leaves the queue; firing ones are remembered as sent
 *                                          └──▶ failed:  stays, with a growing pause; given up if refused too often or too old
 *
 * Quiet hours and digests hold notices that are not urgent enough, then send them together.
 */
#pragma once

#include "alert/notify/notify.h"
#include "base/clock.h"
#include "base/error.h"
#include "config/config.h"
#include "model/severity.h"
#include "net/retry.h"

/* When people do not want messages: recurring quiet hours, and digests at fixed times, both by severity. Pure functions of the
 * time, in the local time zone.
 *
 *   quiet  = ["22:00-07:00", "sat,sun 00:00-24:00 info", "mon-fri 12:00-13:00 all"]
 *   digest = ["08:00", "hourly info"]
 *
 * A rule without severities applies to info and warning: critical alerts get through. */

enum { QUIET_RULES_MAX = 16 };

struct quiet_rule {
    unsigned days;        /* one bit per day, Monday is 1 */
    int from_min, to_min; /* time of day; a digest uses only the first. to_min below from_min: ends the next day */
    unsigned severities;  /* one bit per enum severity */
    bool hourly;          /* of a digest */
};

struct quiet {
    struct quiet_rule list[QUIET_RULES_MAX];
    size_t count;
};

/* -EINVAL and a message about the first mistake. */
int quiet_parse(const struct config_list *texts, bool digest, struct quiet *ret, struct error *err);

/* Until when alerts of this severity are held; ms 0: send now. */
struct wall quiet_until(const struct quiet *q, enum severity severity, struct wall now);
/* The first digest after `since`; ms 0: this severity isn't collected. */
struct wall digest_after(const struct quiet *d, enum severity severity, struct wall since);

enum {
    OUTBOX_SENT_MAX = 1000, /* beyond that, the one that began first is forgotten */
    OUTBOX_GROUP_MAX = 100,
    OUTBOX_REFUSALS_MAX = 4, /* don't retry forever if the target refuses */
    OUTBOX_PAUSE_MAX_MS = 300000,
    OUTBOX_RETRY_AFTER_MAX_MS = 3600000,
    OUTBOX_AGE_MAX_MS = 86400000,      /* age limit of failed notices */
    OUTBOX_HELD_MAX_MS = 8 * 86400000, /* age limit of notices that were held while no daemon ran */
    OUTBOX_FILE_MAX = 16 << 20,
};

struct outbox_rules {
    bool send_resolved;
    bool group; /* several notices per message */
    size_t group_max;
    int64_t group_wait_ms, min_interval_ms;
    struct quiet quiet, digest;
    int64_t repeat_ms; /* how often to repeat alerts that still fire; 0: never */
};

struct outbox_item {
    struct alert_notice notice;
    struct mono due;
    struct wall queued_at;
    struct wall tried_at; /* first attempt; ms 0: none yet */
    uint32_t refusals;
    bool taken; /* in the batch being sent */
};

struct outbox_sent {
    struct alert_notice notice;
    bool confirmed; /* in the current roll call */
};

struct outbox {
    struct outbox_rules rules;
    struct outbox_item **items; /* oldest first */
    size_t count, capacity;
    struct outbox_sent **sent;
    size_t sent_count, sent_capacity;
    struct retry retry;
    struct mono last_sent; /* ns 0: never */
    struct wall last_sent_at;
    struct mono repeat_at; /* ns 0: once something was sent */
    uint64_t given_up;     /* notices since the start */
    bool changed;          /* unsaved changes */
};

void outbox_done(struct outbox *o);

/* False if it was sent already, or must not be sent. A full queue drops its oldest notice. */
bool outbox_put(struct outbox *o, const struct alert_notice *notice, struct mono now, struct wall today);

/* A roll call: between these two calls, all firing alerts are put again. Those that were sent before and are now missing are
 * reported as resolved: their rule is gone, or a crash hid their end. */
void outbox_roll_begin(struct outbox *o);
void outbox_roll_end(struct outbox *o, struct mono now, struct wall today);

/* Time of the next action; ns INT64_MAX: none. Checks held notices again within a minute because clocks get set and computers
 * sleep. */
struct mono outbox_due(const struct outbox *o, struct mono now, struct wall today);
/* How many notices quiet hours or a digest hold, and when the first is released; ms 0: none is held. */
size_t outbox_held(const struct outbox *o, struct wall today, struct wall *until);

struct outbox_batch {
    const struct alert_notice *list[OUTBOX_SENT_MAX]; /* the leading one first; owned by the outbox */
    size_t count;
    size_t taken; /* how many queued items it covers */
    bool repeat;  /* a repetition of alerts already sent */
};

/* Takes the batch to send now; false if nothing is due. */
bool outbox_take(struct outbox *o, struct mono now, struct wall today, struct outbox_batch *batch);

enum outbox_result { OUTBOX_SENT, OUTBOX_FAILED, OUTBOX_REFUSED, OUTBOX_CANCELLED };
/* Records the outcome. `pause_ms` is what the target asked for (0: nothing). Returns the pause until the next attempt, 0 if
 * sent. May free the notices of the batch. */
int64_t outbox_settle(struct outbox *o, const struct outbox_batch *batch, enum outbox_result result, int64_t pause_ms,
                      struct mono now, struct wall today);

void outbox_write(const struct outbox *o, const char *name, struct buf *out);
/* Reads into an empty outbox; everything is due at once. -EINVAL if damaged. */
int outbox_read(struct outbox *o, struct str text, struct mono now, struct wall today, struct error *err);
