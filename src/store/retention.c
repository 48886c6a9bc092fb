/* SPDX-License-Identifier: Apache-2.0
 * The time for retention, and what to keep. Each host has a row in `retention`: its limits, its view of the time (struct
 * clock_trust), and when it last wrote. So that no single wrong clock or host can delete rows:
 *
 *   - a host's own time advances with the time it has seen pass; a clock that claims more must hold for hours first
 *   - on a server, the time is the one on which the live hosts and the server agree: the lower median
 *   - the widest limits of all hosts win, as long as a host may still have rows within them
 *
 * Only the host whose turn it is to clean up reads the rows of all hosts.
 */
#include "store/internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/units.h"

/* ---- which clock may be believed ---- */

enum {
    SLACK_SHARE = 64
}; /* a clock that NTP slews runs up to 0.05 % fast or slow; within a bit over 1 % it counts as the same clock */

struct clock_trust trust_begin(int64_t wall_ms, int64_t newest_ms)
{
    return (struct clock_trust){.believed_ms = newest_ms > 0 ? MIN_OF(wall_ms, newest_ms) : wall_ms};
}

static bool near(int64_t a_ms, int64_t b_ms, int64_t slack_ms)
{
    return llabs(a_ms - b_ms) <= slack_ms;
}

/* How long a leap has to hold: a quarter of its length, but at least six hours and at most a day. */
static int64_t needs(int64_t from_ms, int64_t to_ms)
{
    return MAX_OF(6 * HOUR_MS, MIN_OF(llabs(to_ms - from_ms) / 4, 24 * HOUR_MS));
}

/* A claim of "at least that late" also holds while the clock shows more, and vice versa. */
static bool holds(const struct clock_trust *t, int64_t wall_ms, int64_t slack_ms)
{
    return t->claim_ms > t->believed_ms ? wall_ms >= t->claim_ms - slack_ms : wall_ms <= t->claim_ms + slack_ms;
}

void trust_step(struct clock_trust *t, int64_t wall_ms, int64_t passed_ms)
{
    int64_t slack_ms = passed_ms / SLACK_SHARE;
    t->believed_ms += passed_ms;
    if (t->claim_ms)
        t->claim_ms += passed_ms;
    bool agrees = near(wall_ms, t->believed_ms, slack_ms);
    bool holding = t->claim_ms && !agrees && holds(t, wall_ms, slack_ms);
    if (agrees)
        t->believed_ms = wall_ms;
    if (holding && near(wall_ms, t->claim_ms, slack_ms))
        t->claim_ms = wall_ms;
    /* A moment against the claim must not undo hours for it: a host without an RTC boots into 1970 each day. */
    t->held_ms += holding ? passed_ms : -passed_ms;
    if (holding && t->held_ms >= needs(t->believed_ms, t->claim_ms)) {
        t->believed_ms = t->claim_ms;
        t->claim_ms = t->held_ms = 0;
    } else if (!holding && t->held_ms <= 0) {
        t->claim_ms = agrees ? 0 : wall_ms;
        t->held_ms = 0;
    }
}

int64_t trust_now(const struct clock_trust *t, int64_t wall_ms)
{
    return MIN_OF(wall_ms, t->believed_ms);
}

/* How far the clock is ahead of the believed time (negative: behind). */
static int64_t trust_offset(const struct clock_trust *t, int64_t wall_ms)
{
    return wall_ms - t->believed_ms;
}

int64_t trust_wait(const struct clock_trust *t, int64_t wall_ms)
{
    if (!t->claim_ms)
        return 0;
    return needs(t->believed_ms, wall_ms) - (near(wall_ms, t->claim_ms, HOUR_MS) ? t->held_ms : 0);
}

static int trust_compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

int64_t trust_of_many(int64_t *times_ms, size_t count)
{
    qsort(times_ms, count, sizeof *times_ms, trust_compare);
    return count ? times_ms[(count - 1) / 2] : 0;
}

/* ---- what this host believes and keeps ---- */

enum {
    STEP_MS = 10000,      /* interval for comparing clocks */
    SAVE_MS = 60000,      /* interval for storing the outcome */
    WITNESSES_MAX = 4096, /* hosts */
};

/* Hosts that wrote within this time count as live: their clocks vote. */
#define ALIVE_MS (2 * HOUR_MS)
/* How long hosts of an older version have to state their limits. */
#define UNKNOWN_MS (7 * DAY_MS)

int retention_open(struct store *s, struct error *err)
{
    /* A server would have to read its tables for this; hosts update last_seen_ms every minute. */
    if (s->db->ops->kind == DB_POSTGRES)
        return db_query_i64(s->db, "SELECT MAX(last_seen_ms) FROM hosts", 0, &s->retention.newest_ms, err);
    int rc = 0;
    for (int series = 0; rc == 0 && series < SERIES_COUNT; series++) {
        char sql[64];
        int64_t newest;
        snprintf(sql, sizeof sql, "SELECT MAX(id) FROM %s", series_table((enum series)series, LEVEL_RAW));
        rc = db_query_i64(s->db, sql, 0, &newest, err);
        if (rc == 0)
            s->retention.newest_ms = MAX_OF(s->retention.newest_ms, raw_key_ms(newest));
    }
    return rc;
}

/* Loads what this host knew when it last wrote; a new host starts with the other hosts' time, or with the newest row. */
static int retention_load(struct store *s, int64_t wall_ms, struct error *err)
{
    struct retention *r = &s->retention;
    AUTO_STATEMENT struct db_statement *q = NULL;
    int rc = db_prepare(s->db, "SELECT believed_ms, claim_ms, held_ms FROM retention WHERE host_id = $1 AND alive_ms > 0", &q, err);
    if (rc < 0)
        return rc;
    db_bind_i64(q, 1, s->host_id);
    rc = db_step(q, err);
    if (rc == 1) {
        r->trust = (struct clock_trust){db_i64(q, 0), db_i64(q, 1), db_i64(q, 2)};
        db_reset(q);
    } else if (rc == 0) {
        int64_t newest;
        rc = db_query_i64(s->db, "SELECT MAX(now_ms) FROM retention WHERE alive_ms > 0", 0, &newest, err);
        r->trust = trust_begin(wall_ms, newest ? newest : r->newest_ms);
    }
    if (rc < 0)
        return rc;
    trust_step(&r->trust, wall_ms, 0);
    r->host_id = s->host_id;
    r->stepped = r->saved = (struct mono){0};
    return 0;
}

static int save(struct store *s, int64_t alive_ms, struct error *err)
{
    const struct store_limits *l = &s->limits;
    const struct retention *r = &s->retention;
    return db_execf(
        s->db, err,
        "INSERT INTO retention (host_id, raw_ms, minute_ms, hour_ms, process_ms, event_ms, now_ms, believed_ms, claim_ms, held_ms,"
        " alive_ms, ahead_ms) VALUES (%lld, %lld, %lld, %lld, %lld, %lld, %lld, %lld, %lld, %lld, %lld, %lld) ON CONFLICT "
        "(host_id) DO UPDATE SET"
        " raw_ms = excluded.raw_ms, minute_ms = excluded.minute_ms, hour_ms = excluded.hour_ms,"
        " process_ms = excluded.process_ms, event_ms = excluded.event_ms, now_ms = excluded.now_ms, believed_ms = "
        "excluded.believed_ms,"
        " claim_ms = excluded.claim_ms, held_ms = excluded.held_ms, alive_ms = excluded.alive_ms,"
        " ahead_ms = excluded.ahead_ms",
        (long long)s->host_id, (long long)l->raw_ms, (long long)l->minute_ms, (long long)l->hour_ms, (long long)l->process_ms,
        (long long)l->event_ms, (long long)trust_now(&r->trust, r->wall_ms), (long long)r->trust.believed_ms,
        (long long)r->trust.claim_ms, (long long)r->trust.held_ms, (long long)alive_ms, (long long)(r->wall_ms - alive_ms));
}

/* The clock that decides which hosts are live: the server's own, or this host's for its file. */
static int ask_clock(struct store *s, int64_t *ret_ms, struct error *err)
{
    *ret_ms = s->retention.wall_ms;
    if (s->db->ops->kind == DB_SQLITE)
        return 0;
    return db_query_i64(s->db, "SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)", *ret_ms, ret_ms, err);
}

/* The time on which all live hosts agree. A file has one host. */
static int agree(struct store *s, int64_t server_ms, struct error *err)
{
    struct retention *r = &s->retention;
    r->now_ms = r->own_ms;
    if (s->db->ops->kind == DB_SQLITE)
        return 0;
    AUTO_FREE int64_t *times = calloc(WITNESSES_MAX, sizeof *times);
    AUTO_STATEMENT struct db_statement *q = NULL;
    if (!times)
        return error_set(err, -ENOMEM, "out of memory");
    size_t count = 0;
    times[count++] = r->now_ms;
    times[count++] = server_ms;
    int rc = db_prepare(s->db, "SELECT now_ms FROM retention WHERE host_id <> $1 AND alive_ms > $2 AND alive_ms < $3", &q, err);
    if (rc < 0)
        return rc;
    db_bind_numbers(q, 1, s->host_id, server_ms - ALIVE_MS, server_ms + ALIVE_MS);
    while ((rc = db_step(q, err)) == 1)
        if (count < WITNESSES_MAX)
            times[count++] = db_i64(q, 0);
    r->now_ms = trust_of_many(times, count);
    return rc;
}

static void widen(int64_t *keep_ms, int64_t wanted_ms, int64_t last_ms, int64_t now_ms)
{
    if (wanted_ms > *keep_ms && last_ms + wanted_ms > now_ms)
        *keep_ms = wanted_ms;
}

/* The widest limits of all hosts. */
static int ask_requests(struct store *s, struct error *err)
{
    struct retention *r = &s->retention;
    AUTO_STATEMENT struct db_statement *q = NULL;
    r->keep = s->limits;
    r->unknown = false;
    int rc = db_execf(s->db, err, "UPDATE retention SET now_ms = %lld WHERE alive_ms = 0 AND now_ms = 0", (long long)r->now_ms);
    if (rc == 0)
        rc = db_prepare(s->db,
                        "SELECT raw_ms, minute_ms, hour_ms, process_ms, event_ms, now_ms, alive_ms FROM retention "
                        "WHERE host_id <> $1",
                        &q, err);
    if (rc < 0)
        return rc;
    db_bind_i64(q, 1, s->host_id);
    while ((rc = db_step(q, err)) == 1) {
        int64_t *const keep[] = {&r->keep.raw_ms, &r->keep.minute_ms, &r->keep.hour_ms, &r->keep.process_ms, &r->keep.event_ms};
        int64_t last_ms = db_i64(q, 5);
        for (int i = 0; i < (int)ARRAY_LEN(keep); i++)
            widen(keep[i], db_i64(q, i), last_ms, r->now_ms);
        r->unknown |= db_i64(q, 6) == 0 && last_ms + UNKNOWN_MS > r->now_ms;
    }
    return rc;
}

/* Repairs a horizon that lies ahead of every clock: an earlier version believed a wrong one. New rows must not count as older
 * than it. */
static int repair_horizon(struct store *s, struct error *err)
{
    struct retention *r = &s->retention;
    int64_t latest_ms = MAX_OF(r->wall_ms, r->trust.believed_ms);
    int rc = 0;
    for (int series = 0; rc == 0 && series < SERIES_COUNT; series++) {
        for (int level = 0; rc == 0 && level < LEVEL_COUNT; level++) {
            int64_t *horizon_ms = &s->horizon_ms[series][level];
            if (*horizon_ms <= latest_ms)
                continue;
            int64_t unit_ms = level_ms(level == LEVEL_HOUR ? LEVEL_HOUR : (enum level)(level + 1));
            int64_t now_ms = trust_now(&r->trust, r->wall_ms);
            r->healed_ms = MAX_OF(r->healed_ms, *horizon_ms - latest_ms);
            *horizon_ms = 0;
            rc = set_horizon(s, (enum series)series, (enum level)level, MAX_OF(now_ms - now_ms % unit_ms, (int64_t)1), err);
        }
    }
    return rc;
}

/* Once a minute, stores for the other hosts that this one is live, and its limits. */
static int publish(struct store *s, struct mono seen, struct error *err)
{
    struct retention *r = &s->retention;
    int64_t clock_ms;
    if (!r->due && r->saved.ns && mono_since_ms(seen, r->saved) < SAVE_MS)
        return 0;
    int rc = ask_clock(s, &clock_ms, err);
    if (rc == 0)
        rc = save(s, clock_ms, err);
    r->saved = seen;
    r->due = false;
    return rc;
}

int retention_step(struct store *s, struct wall now, struct mono seen, struct error *err)
{
    struct retention *r = &s->retention;
    if (!s->host_id)
        return 0;
    bool first = r->host_id != s->host_id;
    if (!first && !r->due && mono_since_ms(seen, r->stepped) < STEP_MS)
        return 1;
    int rc = first ? retention_load(s, now.ms, err) : 0;
    if (rc < 0)
        return rc;
    int64_t passed_ms = r->stepped.ns ? MAX_OF(mono_since_ms(seen, r->stepped), (int64_t)0) : 0;
    if (r->stepped.ns && llabs(now.ms - r->wall_ms - passed_ms) > STEP_MS)
        r->saved = (struct mono){0}; /* the clock was set */
    r->wall_ms = now.ms;
    if (r->stepped.ns)
        trust_step(&r->trust, now.ms, passed_ms);
    r->stepped = seen;
    r->own_ms = trust_now(&r->trust, now.ms);
    if (first || r->due)
        r->asked = (struct mono){0};
    rc = repair_horizon(s, err);
    if (rc == 0)
        rc = publish(s, seen, err);
    return rc < 0 ? rc : 1;
}

bool retention_rests(const struct store *s, struct mono seen)
{
    const struct retention *r = &s->retention;
    return s->db->ops->kind == DB_POSTGRES && r->host_id && r->host_id == s->host_id && !r->due &&
           r->cleaned_ms / MINUTE_MS == r->own_ms / MINUTE_MS && mono_since_ms(seen, r->stepped) < STEP_MS;
}

int retention_ask(struct store *s, struct error *err)
{
    struct retention *r = &s->retention;
    int64_t clock_ms;
    if (r->asked.ns && mono_since_ms(r->stepped, r->asked) < STEP_MS)
        return 0;
    int rc = ask_clock(s, &clock_ms, err);
    if (rc == 0)
        rc = agree(s, clock_ms, err);
    if (rc == 0)
        rc = ask_requests(s, err);
    if (rc == 0)
        r->asked = r->stepped;
    return rc;
}

int store_clock_side(const struct store_clock *clock)
{
    return clock->offset_ms > HOUR_MS ? 1 : clock->offset_ms < -MINUTE_MS ? -1 : 0;
}

void store_clock(const struct store *s, struct store_clock *ret)
{
    const struct retention *r = &s->retention;
    *ret = (struct store_clock){0};
    if (!r->host_id)
        return;
    *ret = (struct store_clock){
        .offset_ms = trust_offset(&r->trust, r->wall_ms), .wait_ms = trust_wait(&r->trust, r->wall_ms), .healed_ms = r->healed_ms};
}
