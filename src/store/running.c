/* SPDX-License-Identifier: Apache-2.0
 * The current minute and hour of each GPU or host, summed up in memory as long as all of its rows are there, and the marks of
 * buckets that the database has not summed up yet. rollup.c handles buckets that are over.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "store/internal.h"

void running_init(struct running *r)
{
    *r = (struct running){.minute = {.bucket = -1, .newest = -1}, .hour = {.bucket = -1, .newest = -1}, .hour_marked = -1};
}

void running_done(struct running *r)
{
    free(r->minute.row);
    free(r->hour.row);
    running_init(r);
}

struct running *running_of(struct store *s, enum series series, int64_t subject)
{
    if (series == SERIES_HOST)
        return &s->host_running;
    for (size_t i = 0; i < s->gpu_count; i++) { /* start with the last identified one */
        size_t at = (s->gpu_next + s->gpu_count - 1 + i) % s->gpu_count;
        if (s->gpus[at].id == subject)
            return &s->gpus[at].running;
    }
    return NULL;
}

static void bind_mark(struct db_statement *q, const struct mark *m)
{
    db_bind_i64(q, 1, m->series);
    db_bind_i64(q, 2, m->level);
    db_bind_i64(q, 3, m->subject);
    db_bind_i64(q, 4, m->bucket);
}

int running_mark_bucket(struct store *s, const struct mark *m, struct error *err)
{
    struct db_statement *q = store_statement(s, ST_PENDING, err);
    if (!q)
        return err->code;
    bind_mark(q, m);
    return db_put(q, err);
}

int running_unmark(struct store *s, const struct mark *m, struct running *r, struct error *err)
{
    struct db_statement *q = store_statement(s, ST_PENDING_DONE, err);
    if (!q)
        return err->code;
    if (r && m->level == LEVEL_HOUR && r->hour_marked == m->bucket)
        r->hour_marked = -1;
    bind_mark(q, m);
    return db_put(q, err);
}

static int mark_minute(struct store *s, enum series series, int64_t subject, struct running *r, struct error *err)
{
    if (r->marked || r->minute.bucket < 0)
        return 0;
    r->marked = true;
    const struct mark m = {series, LEVEL_MINUTE, subject, r->minute.bucket};
    return running_mark_bucket(s, &m, err);
}

int running_mark(struct store *s, struct error *err)
{
    int rc = mark_minute(s, SERIES_HOST, s->host_id, &s->host_running, err);
    for (size_t i = 0; rc == 0 && i < s->gpu_count; i++)
        rc = mark_minute(s, SERIES_GPU, s->gpus[i].id, &s->gpus[i].running, err);
    return rc;
}

/* On a server, another host may delete a mark. */
int running_mark_hour(struct store *s, enum series series, int64_t subject, int64_t hour, struct running *r, struct error *err)
{
    if (r && r->hour_marked == hour && s->db->ops->kind == DB_SQLITE)
        return 0;
    if (r)
        r->hour_marked = hour;
    const struct mark m = {series, LEVEL_HOUR, subject, hour};
    return running_mark_bucket(s, &m, err);
}

bool running_may_be_marked(const struct running *r, const struct mark *m)
{
    /* A minute that began here, without earlier rows, may have no mark yet. */
    return m->level != LEVEL_MINUTE || r->minute.bucket != m->bucket || r->marked || !r->minute.whole;
}

/* The newest bucket with rows from before this process started. */
static int find_newest(struct store *s, enum series series, int64_t subject, struct running *r, struct error *err)
{
    char sql[256];
    /* Pending rows are marked, so both tables together know every bucket. */
    snprintf(sql, sizeof sql,
             "SELECT MAX(bucket) FROM (SELECT MAX(id) & 4294967295 AS bucket FROM %s WHERE id >= %lld AND id < %lld UNION ALL "
             "SELECT MAX(bucket) FROM pending WHERE series = %d AND level = %d AND subject = %lld) AS known",
             series_table(series, LEVEL_MINUTE), (long long)bucket_key(subject, 0), (long long)bucket_key(subject + 1, 0), series,
             LEVEL_MINUTE, (long long)subject);
    int rc = db_query_i64(s->db, sql, 0, &r->minute.newest, err);
    r->hour.newest = r->minute.newest * level_ms(LEVEL_MINUTE) / level_ms(LEVEL_HOUR);
    return rc;
}

static void running_begin(struct running_bucket *r, int64_t bucket)
{
    if (!r->row)
        r->row = malloc(sizeof *r->row);
    r->whole = r->row && bucket > r->newest;
    if (r->whole)
        *r->row = (struct bucket_row){0};
    r->bucket = bucket;
    r->newest = MAX_OF(r->newest, bucket);
}

static int begin_minute(struct store *s, enum series series, int64_t subject, int64_t bucket, struct running *r, struct error *err)
{
    int rc = r->minute.newest < 0 ? find_newest(s, series, subject, r, err) : 0;
    if (rc == 0 && r->minute.bucket >= 0) { /* the previous minute isn't summed up yet */
        s->marks_hour = 0;
        rc = mark_minute(s, series, subject, r, err);
    }
    if (rc < 0)
        return rc;
    r->marked = false;
    running_begin(&r->minute, bucket);
    return 0;
}

void bucket_add_row(const struct store *s, enum series series, const struct reading *row, struct bucket_row *to)
{
    to->samples++;
    for (size_t i = 0; i < s->schema.count[series]; i++)
        if (row[i].state == READING_OK)
            aggregate_add(&to->columns[i], &s->schema.columns[series][i], row[i].value);
}

int running_add(struct store *s, enum series series, const struct reading *row, int64_t subject_id, int64_t at_ms,
                struct error *err)
{
    struct running *r = running_of(s, series, subject_id);
    int64_t bucket = bucket_of(LEVEL_MINUTE, at_ms);
    r->last_ms = at_ms;
    if (r->minute.bucket != bucket) {
        int rc = begin_minute(s, series, subject_id, bucket, r, err);
        if (rc < 0)
            return rc;
    }
    if (!r->minute.whole)
        return 0;
    bucket_add_row(s, series, row, r->minute.row);
    return 0;
}

void running_add_to_hour(struct store *s, enum series series, struct running *r, int64_t minute, const struct bucket_row *row)
{
    int64_t hour = minute * level_ms(LEVEL_MINUTE) / level_ms(LEVEL_HOUR);
    if (r->hour.newest < 0)
        return; /* left over from the previous run: the hour's other rows are unknown */
    if (hour != r->hour.bucket)
        running_begin(&r->hour, hour);
    else if (minute <= r->hour_minute)
        r->hour.whole = false; /* the minute is already part of the hour, with other rows */
    r->hour_minute = minute;
    if (!r->hour.whole)
        return;
    r->hour.row->samples += row->samples;
    for (size_t i = 0; i < s->schema.count[series]; i++)
        aggregate_join(&r->hour.row->columns[i], &s->schema.columns[series][i], &row->columns[i]);
}

static struct running_bucket *running_at(struct running *r, const struct mark *m)
{
    struct running_bucket *b = m->level == LEVEL_MINUTE ? &r->minute : &r->hour;
    return b->bucket == m->bucket ? b : NULL;
}

bool running_take(struct running *r, const struct mark *m, struct bucket_row *row)
{
    struct running_bucket *b = running_at(r, m);
    if (!b)
        return false;
    b->bucket = -1;
    if (b->whole)
        *row = *b->row;
    return b->whole;
}

void running_pass_by(struct running *r, const struct mark *m)
{
    struct running_bucket *b = running_at(r, m);
    if (b)
        b->whole = false;
}

bool running_may_collide(struct store *s, enum series series, int64_t subject_id, int64_t at_ms)
{
    const struct running *r = running_of(s, series, subject_id);
    int64_t bucket = bucket_of(LEVEL_MINUTE, at_ms);
    return r->minute.newest < 0 || bucket < r->minute.newest || (bucket == r->minute.newest && !r->minute.whole) ||
           (bucket == r->minute.bucket && at_ms <= r->last_ms);
}
