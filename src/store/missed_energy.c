/* SPDX-License-Identifier: Apache-2.0
 * Energy that a GPU used while nothing was read or written: its own counter kept counting. It is booked to the GPU and to no
 * process, since nothing recorded which processes ran.
 *
 * Across a restart, both readings must come from the same counter: stored since this boot, not decreased (a reloaded driver starts
 * at 0), and differing by no more than the GPU could have drawn in that time. A counter that was reset and has already passed the
 * old reading again would book too little, never too much.
 */
#include <stdio.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "store/internal.h"

enum { SEARCH_BACK_MS = 7 * DAY_MS, GAP_MS = 60000 };

struct last_reading {
    int64_t at_ms, counter_mj; /* at_ms 0: none */
    int64_t booked_mj;         /* from power readings since the counter was read */
};

/* The newest row with a counter value, and the energy booked since that value was read: the counter is read every 30 s, and the
 * rows in between repeat it. */
static int find_last(struct store *s, int64_t gpu_id, int64_t before_ms, struct last_reading *ret, struct error *err)
{
    AUTO_STATEMENT struct db_statement *q = NULL;
    const struct raw_words *words = raw_words(s->db->ops->kind, SERIES_GPU);
    char sql[512];
    snprintf(sql, sizeof sql,
             "SELECT %s, energy_mj, power_mw FROM samples WHERE %s AND %s = $3 AND energy_mj IS NOT NULL ORDER BY %s DESC",
             words->ms, words->span, words->subject, words->time);
    int rc = db_prepare(s->db, sql, &q, err);
    if (rc < 0)
        return rc;
    db_bind_i64(q, 1, before_ms - SEARCH_BACK_MS);
    db_bind_i64(q, 2, before_ms);
    db_bind_i64(q, 3, gpu_id);
    int64_t later_ms = 0, later_mw = 0;
    while ((rc = db_step(q, err)) == 1) {
        int64_t at_ms = db_i64(q, 0), counter_mj = db_i64(q, 1), power_mw = db_is_null(q, 2) ? 0 : db_i64(q, 2);
        if (ret->at_ms == 0)
            *ret = (struct last_reading){at_ms, counter_mj, 0};
        else if (counter_mj != ret->counter_mj)
            break;
        else if (later_ms - at_ms <= GAP_MS)
            ret->booked_mj += (later_mw + power_mw) / 2 * (later_ms - at_ms) / MS_PER_S;
        later_ms = at_ms;
        later_mw = power_mw;
    }
    if (rc == 1)
        db_reset(q);
    return rc < 0 ? rc : 0;
}

static int book(struct store *s, int64_t gpu_id, int64_t minute, int64_t energy_mj, struct error *err)
{
    int rc = partition_ready(s, PARTED_ENERGY, minute * MINUTE_MS, err);
    struct db_statement *q = rc == 0 ? store_statement(s, ST_ENERGY, err) : NULL;
    if (!q)
        return rc < 0 ? rc : err->code;
    db_bind_i64(q, 1, minute);
    db_bind_i64(q, 2, gpu_id);
    db_bind_i64(q, 3, energy_mj);
    db_bind_i64(q, 4, 0);
    db_bind_i64(q, 5, ENERGY_UNWATCHED);
    rc = db_put(q, err);
    return rc < 0 ? rc : hours_mark(s, minute, err);
}

/* Spreads the energy evenly over the time in which it was used: by minutes, or by hours if it was more than a day. */
static int spread(struct store *s, int64_t gpu_id, int64_t since_ms, int64_t until_ms, int64_t energy_mj, struct error *err)
{
    int64_t step_ms = until_ms - since_ms > DAY_MS ? HOUR_MS : MINUTE_MS, given_mj = 0;
    int rc = 0;
    for (int64_t at = since_ms, next; rc == 0 && at < until_ms; at = next) {
        next = MIN_OF(at / step_ms * step_ms + step_ms, until_ms);
        int64_t upto_mj = energy_upto(energy_mj, next - since_ms, until_ms - since_ms);
        if (upto_mj > given_mj)
            rc = book(s, gpu_id, at / MINUTE_MS, upto_mj - given_mj, err);
        given_mj = upto_mj;
    }
    return rc;
}

static bool could_be(const struct gpu *gpu, int64_t energy_mj, int64_t ms)
{
    int64_t max_mw;
    if (!reading_get(gpu->power_limit_max_mw, &max_mw) && !reading_get(gpu->power_limit_mw, &max_mw))
        max_mw = 2000000; /* no GPU draws more */
    return (double)energy_mj <= 1.1 * (double)max_mw * (double)ms / MS_PER_S;
}

int missed_energy_spread(struct store *s, const struct gpu *gpu, int64_t gpu_id, const struct energy_used *used, struct error *err)
{
    int64_t from_ms = used->unwatched_from.ms, to_ms = used->unwatched_to.ms;
    if (used->unwatched_mj <= 0 || to_ms <= from_ms || !could_be(gpu, used->unwatched_mj, to_ms - from_ms + GAP_MS))
        return 0;
    return spread(s, gpu_id, from_ms, to_ms, used->unwatched_mj, err);
}

int missed_energy_book(struct store *s, const struct snapshot *snapshot, const struct gpu *gpu, const struct known_gpu *known,
                       struct error *err)
{
    int column = series_find(SERIES_GPU, "energy_mj");
    int64_t counter_mj, now_ms = snapshot->taken_at.ms, boot_ms = now_ms - snapshot->taken.ns / NS_PER_MS;
    if (column < 0 || !s->schema.has[SERIES_GPU][column] || !reading_get(gpu->energy_mj, &counter_mj))
        return 0;
    struct last_reading last = {0};
    int rc = find_last(s, known->id, now_ms, &last, err);
    if (rc < 0 || last.at_ms == 0 || last.at_ms < boot_ms || counter_mj <= last.counter_mj)
        return rc;
    int64_t energy_mj = counter_mj - last.counter_mj - last.booked_mj - known->meter.uncounted_mj;
    if (energy_mj <= 0 || !could_be(gpu, counter_mj - last.counter_mj, now_ms - last.at_ms + GAP_MS))
        return 0;
    return spread(s, known->id, last.at_ms, now_ms, energy_mj, err);
}
