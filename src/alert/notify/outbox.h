/* SPDX-License-Identifier: Apache-2.0
 * What one target has still to hear, what it has heard, and when the next message is due. Decisions only: no thread, no clock, no
 * network; the file functions at the end keep it over a restart.
 *
 *   put ──▶ queue ──▶ due? ──▶ take a group ──▶ sent:    leaves the queue; firing ones are remembered as heard
 *                                          └──▶ failed:  stays, and a pause that grows; refused too often or too old: given up
 *
 * In quiet hours and before a digest, what is not urgent enough is held; then it is told together.
 */
#pragma once

#include "alert/notify/notify.h"
#include "alert/notify/quiet.h"
#include "net/retry.h"

enum {
    OUTBOX_HEARD_MAX = 1000, /* the one that began first is forgotten */
    OUTBOX_GROUP_MAX = 100,
    OUTBOX_REFUSALS_MAX = 4, /* a target that refuses is not asked for ever */
    OUTBOX_PAUSE_MAX_MS = 300000,
    OUTBOX_RETRY_AFTER_MAX_MS = 3600000,
    OUTBOX_AGE_MAX_MS = 86400000,      /* of what is tried in vain */
    OUTBOX_HELD_MAX_MS = 8 * 86400000, /* of what was held while no daemon ran to send it */
    OUTBOX_FILE_MAX = 16 << 20,
};

struct outbox_rules {
    bool tell_resolved;
    bool group; /* several at once; else one message a notice */
    size_t group_max;
    int64_t group_wait_ms, min_interval_ms;
    struct quiet quiet, digest;
    int64_t repeat_ms; /* what was heard and still fires is told again so often; 0: never */
};

struct outbox_item {
    struct alert_notice notice;
    struct mono due;
    struct wall queued_at;
    struct wall tried_at; /* for the first time; ms 0: not yet */
    uint32_t refusals;
    bool taken; /* is in the batch that is under way */
};

struct outbox_heard {
    struct alert_notice notice;
    bool confirmed; /* in the roll call that is going on */
};

struct outbox {
    struct outbox_rules rules;
    struct outbox_item **items; /* oldest first */
    size_t count, capacity;
    struct outbox_heard **heard;
    size_t heard_count, heard_capacity;
    struct retry retry;
    struct mono last_sent; /* ns 0: never */
    struct wall last_sent_at;
    struct mono repeat_at; /* ns 0: as soon as something was heard */
    uint64_t given_up;     /* notices, since the start */
    bool changed;          /* since it was saved */
};

void outbox_done(struct outbox *o);

/* False: it was known already, or must not be told. A full queue gives its oldest up. */
bool outbox_put(struct outbox *o, const struct alert_notice *notice, struct mono now, struct wall today);

/* A roll call: between these two, everything that fires is put again. What was sent and is not among it is over, though no end was
 * reported: the rule is gone, or a crash came in between. It is told as resolved. */
void outbox_roll_begin(struct outbox *o);
void outbox_roll_end(struct outbox *o, struct mono now, struct wall today);

/* When there is something to do next; ns INT64_MAX: nothing. What is held is looked at again within a minute: clocks are set, and
 * computers sleep. */
struct mono outbox_due(const struct outbox *o, struct mono now, struct wall today);
/* How many are held by quiet hours or for a digest, and until when the first of them is; ms 0: none is. */
size_t outbox_held(const struct outbox *o, struct wall today, struct wall *until);

struct outbox_batch {
    const struct alert_notice *list[OUTBOX_HEARD_MAX]; /* the leading one first; owned by the outbox */
    size_t count;
    size_t taken; /* items of the queue that it stands for */
    bool repeat;  /* of what was heard already */
};

/* What is to be told now; false: nothing is due. */
bool outbox_take(struct outbox *o, struct mono now, struct wall today, struct outbox_batch *batch);

enum outbox_result { OUTBOX_SENT, OUTBOX_FAILED, OUTBOX_REFUSED, OUTBOX_CANCELLED };
/* What became of it. `pause_ms` is what the target asked for (0: nothing). Returns the pause until the next attempt, 0 when it was
 * sent. The notices of the batch may be gone afterwards. */
int64_t outbox_settle(struct outbox *o, const struct outbox_batch *batch, enum outbox_result result, int64_t pause_ms,
                      struct mono now, struct wall today);

void outbox_write(const struct outbox *o, const char *name, struct buf *out);
/* Into an empty outbox; everything is due at once. -EINVAL: it is damaged. */
int outbox_read(struct outbox *o, struct str text, struct mono now, struct wall today, struct error *err);
