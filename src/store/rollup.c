/* SPDX-License-Identifier: Apache-2.0
 * Samples to minutes, minutes to hours. Writing a row marks its bucket pending in the same transaction; when the bucket is over,
 * it is recomputed from everything below it and unmarked, again in one transaction. So a bucket ends up right whatever happens: a
 * restart finds the marks, a late row or a clock that was set back marks it again. A minute that begins and ends in one
 * transaction needs no mark.
 *
 *   row of 10:31:07 ─▶ pending(minute 10:31) ─▶ at 10:32 minutes(10:31) := samples, pending(hour 10) ─▶ at 11:00 hours(10)
 *
 * The current minute and hour of each GPU or host are summed up in memory as long as all of their rows are there.
 *
 * To save space, redundant values are not stored: count if it equals that of the row, min and max if both equal the mean.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "store/internal.h"

/* ---- running buckets ---- */

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

/* NULL: no row of it yet */
static struct running *running_of(struct store *s, enum series series, int64_t subject)
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

static int mark_bucket(struct store *s, const struct mark *m, struct error *err)
{
    return store_put(s, ST_PENDING, err, m->series, m->level, m->subject, m->bucket);
}

static int unmark(struct store *s, const struct mark *m, struct running *r, struct error *err)
{
    if (r && m->level == LEVEL_HOUR && r->hour_marked == m->bucket)
        r->hour_marked = -1;
    return store_put(s, ST_PENDING_DONE, err, m->series, m->level, m->subject, m->bucket);
}

static int mark_minute(struct store *s, enum series series, int64_t subject, struct running *r, struct error *err)
{
    if (r->marked || r->minute.bucket < 0)
        return 0;
    r->marked = true;
    const struct mark m = {series, LEVEL_MINUTE, subject, r->minute.bucket};
    return mark_bucket(s, &m, err);
}

int running_mark(struct store *s, struct error *err)
{
    int rc = mark_minute(s, SERIES_HOST, s->host_id, &s->host_running, err);
    for (size_t i = 0; rc == 0 && i < s->gpu_count; i++)
        rc = mark_minute(s, SERIES_GPU, s->gpus[i].id, &s->gpus[i].running, err);
    return rc;
}

/* On a server, another host may delete a mark. */
static int mark_hour(struct store *s, enum series series, int64_t subject, int64_t hour, struct running *r, struct error *err)
{
    if (r && r->hour_marked == hour && s->db->ops->kind == DB_SQLITE)
        return 0;
    if (r)
        r->hour_marked = hour;
    const struct mark m = {series, LEVEL_HOUR, subject, hour};
    return mark_bucket(s, &m, err);
}

static bool may_be_marked(const struct running *r, const struct mark *m)
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

static void bucket_add_row(const struct store *s, enum series series, const struct reading *row, struct bucket_row *to)
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

/* Adds a summed-up minute to its hour, once. */
static void running_add_to_hour(struct store *s, enum series series, struct running *r, int64_t minute,
                                const struct bucket_row *row)
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

/* Ends a running bucket: later rows must be summed up with the stored ones. Returns whether `row` covers the whole bucket. */
static bool running_take(struct running *r, const struct mark *m, struct bucket_row *row)
{
    struct running_bucket *b = running_at(r, m);
    if (!b)
        return false;
    b->bucket = -1;
    if (b->whole)
        *row = *b->row;
    return b->whole;
}

/* Notes that a row was written to the database without going through memory. */
static void running_pass_by(struct running *r, const struct mark *m)
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

/* ---- buckets that are over ---- */

enum { SQL_MAX = 1 << 17 };

static int prepare_reading(struct store *s, enum series series, struct error *err)
{
    if (s->read_raw[series])
        return 0;
    AUTO_BUF struct buf raw = BUF(SQL_MAX), columns = BUF(SQL_MAX);
    const struct raw_words *words = raw_words(s->db->ops->kind, series);
    buf_printf(&raw, "SELECT %s", words->ms);
    for (size_t i = 0; i < s->schema.count[series]; i++) {
        const char *name = s->schema.columns[series][i].name;
        buf_printf(&raw, ", %s", name);
        buf_printf(&columns, ", %s_sum, %s_min, %s_max, %s_count", name, name, name, name);
    }
    buf_printf(&raw, " FROM %s WHERE %s AND %s = $3", series_table(series, LEVEL_RAW), words->span, words->subject);
    int rc = 0;
    for (int level = LEVEL_MINUTE; rc == 0 && level < LEVEL_COUNT; level++) {
        AUTO_BUF struct buf buckets = BUF(SQL_MAX);
        buf_printf(&buckets, "SELECT samples%s FROM %s WHERE id >= $1 AND id < $2%s", columns.at ? columns.at : "",
                   series_table(series, (enum level)level), parts_between(s->db->ops->kind, (enum level)level));
        rc = raw.failed || columns.failed || buckets.failed ? error_set(err, -ENOMEM, "out of memory")
                                                            : db_prepare(s->db, buckets.at, &s->read_buckets[series][level], err);
    }
    return rc < 0 ? rc : db_prepare(s->db, raw.at, &s->read_raw[series], err);
}

static int prepare_writing(struct store *s, enum series series, enum level level, struct error *err)
{
    if (s->insert_bucket[series][level])
        return 0;
    AUTO_BUF struct buf sql = BUF(SQL_MAX);
    bool sqlite = s->db->ops->kind == DB_SQLITE;
    buf_printf(&sql, "INSERT %sINTO %s (id, samples", sqlite ? "OR REPLACE " : "", series_table(series, level));
    for (size_t i = 0; i < s->schema.count[series]; i++) {
        const char *name = s->schema.columns[series][i].name;
        buf_printf(&sql, ", %s_sum, %s_min, %s_max, %s_count", name, name, name, name);
    }
    buf_text(&sql, ") VALUES ($1, $2");
    for (size_t i = 0; i < 4 * s->schema.count[series]; i++)
        buf_printf(&sql, ", $%zu", i + 3);
    buf_text(&sql, ")");
    return db_prepare_text(s->db, &sql, &s->insert_bucket[series][level], err);
}

/* Deletes from one partition: a server plans a statement about a partitioned table anew each time, to prune partitions, which
 * takes longer than the rest of a minute. */
static int prepare_removing(struct store *s, enum series series, enum level level, int64_t at_ms, struct error *err)
{
    enum parted which = parted_of(series, level);
    struct db_statement **q = &s->delete_bucket[series][level];
    int64_t period_ms = parts_period(which, at_ms);
    if (*q && s->delete_period_ms[series][level] == period_ms)
        return 0;
    char part[PART_NAME_SIZE], sql[PART_NAME_SIZE + 64];
    parts_name(which, period_ms, part);
    snprintf(sql, sizeof sql, "DELETE FROM %s WHERE id = $1", part);
    db_finish(q);
    s->delete_period_ms[series][level] = period_ms;
    return db_prepare(s->db, sql, q, err);
}

static void bind_aggregate(struct db_statement *q, int at, const struct aggregate *a, int64_t samples)
{
    if (a->count == 0) {
        for (int i = 0; i < 4; i++)
            db_bind_null(q, at + i);
        return;
    }
    bool constant = a->min == a->max && a->sum == a->min * a->count;
    db_bind_i64(q, at, a->sum);
    if (constant) {
        db_bind_null(q, at + 1);
        db_bind_null(q, at + 2);
    } else {
        db_bind_i64(q, at + 1, a->min);
        db_bind_i64(q, at + 2, a->max);
    }
    if (a->count == samples)
        db_bind_null(q, at + 3);
    else
        db_bind_i64(q, at + 3, a->count);
}

/* The reverse of bind_aggregate. */
static void rollup_read_aggregate(struct db_statement *q, int column, int64_t samples, struct aggregate *ret)
{
    *ret = (struct aggregate){0};
    if (db_is_null(q, column))
        return;
    ret->sum = db_i64(q, column);
    ret->count = db_i64_or(q, column + 3, samples);
    if (db_is_null(q, column + 1)) {
        ret->min = ret->max = ret->count ? ret->sum / ret->count : 0;
    } else {
        ret->min = db_i64(q, column + 1);
        ret->max = db_i64(q, column + 2);
    }
}

/* Deletes even if no row is expected: another host may have summed up a bucket that looked abandoned. */
static int write_bucket(struct store *s, const struct mark *m, const struct bucket_row *row, struct error *err)
{
    int rc = partition_ready(s, parted_of(m->series, m->level), m->bucket * level_ms(m->level), err);
    if (rc == 0)
        rc = prepare_writing(s, m->series, m->level, err);
    if (rc < 0)
        return rc;
    if (s->db->ops->kind == DB_POSTGRES) { /* in a file, the insert replaces */
        rc = prepare_removing(s, m->series, m->level, m->bucket * level_ms(m->level), err);
        if (rc == 0) {
            db_bind_i64(s->delete_bucket[m->series][m->level], 1, bucket_key(m->subject, m->bucket));
            rc = db_put(s->delete_bucket[m->series][m->level], err);
        }
    }
    if (rc < 0)
        return rc;
    struct db_statement *q = s->insert_bucket[m->series][m->level];
    db_bind_numbers(q, 1, bucket_key(m->subject, m->bucket), row->samples);
    for (size_t i = 0; i < s->schema.count[m->series]; i++)
        bind_aggregate(q, 3 + 4 * (int)i, &row->columns[i], row->samples);
    return db_put(q, err);
}

static int sum_up_samples(struct store *s, enum series series, int64_t subject, int64_t bucket, struct bucket_row *row,
                          struct error *err)
{
    struct db_statement *q = s->read_raw[series];
    int64_t begin_ms = bucket * level_ms(LEVEL_MINUTE);
    db_bind_numbers(q, 1, begin_ms, begin_ms + level_ms(LEVEL_MINUTE), subject);
    int rc;
    while ((rc = db_step(q, err)) == 1) {
        row->samples++;
        for (size_t i = 0; i < s->schema.count[series]; i++)
            if (!db_is_null(q, (int)i + 1))
                aggregate_add(&row->columns[i], &s->schema.columns[series][i], db_i64(q, (int)i + 1));
    }
    return rc;
}

/* Joins `count` buckets of a level from `first` on. */
static int join_buckets(struct store *s, enum series series, enum level level, int64_t subject, int64_t first, int64_t count,
                        struct bucket_row *row, struct error *err)
{
    struct db_statement *q = s->read_buckets[series][level];
    db_bind_numbers(q, 1, bucket_key(subject, first), bucket_key(subject, first + count));
    int rc;
    while ((rc = db_step(q, err)) == 1) {
        int64_t samples = db_i64(q, 0);
        row->samples += samples;
        for (size_t i = 0; i < s->schema.count[series]; i++) {
            struct aggregate minute;
            rollup_read_aggregate(q, 1 + 4 * (int)i, samples, &minute);
            aggregate_join(&row->columns[i], &s->schema.columns[series][i], &minute);
        }
    }
    return rc;
}

static int compute(struct store *s, const struct mark *m, struct running *r, struct bucket_row *row, struct error *err)
{
    const int64_t minutes = level_ms(LEVEL_HOUR) / level_ms(LEVEL_MINUTE);
    if (r && running_take(r, m, row))
        return 0;
    *row = (struct bucket_row){0};
    int rc = prepare_reading(s, m->series, err);
    if (rc < 0)
        return rc;
    return m->level == LEVEL_MINUTE ? sum_up_samples(s, m->series, m->subject, m->bucket, row, err)
                                    : join_buckets(s, m->series, LEVEL_MINUTE, m->subject, m->bucket * minutes, minutes, row, err);
}

static int roll_up(struct store *s, const struct mark *m, struct running *r, struct bucket_row *row, struct error *err)
{
    bool marked = !r || may_be_marked(r, m);
    int rc = compute(s, m, r, row, err);
    if (rc == 0 && row->samples)
        rc = write_bucket(s, m, row, err);
    if (rc == 0 && marked)
        rc = unmark(s, m, r, err);
    if (rc < 0 || m->level != LEVEL_MINUTE || !row->samples)
        return rc;
    if (r)
        running_add_to_hour(s, m->series, r, m->bucket, row);
    return mark_hour(s, m->series, m->subject, m->bucket * level_ms(LEVEL_MINUTE) / level_ms(LEVEL_HOUR), r, err);
}

static int roll_up_mark(struct store *s, const struct mark *m, struct bucket_row *row, struct error *err)
{
    return roll_up(s, m, running_of(s, m->series, m->subject), row, err);
}

/* The marks of one level whose bucket is not the current one, of this host and its GPUs. */
static int load_marks(struct store *s, enum level level, int64_t now_ms, struct mark *marks, size_t max, size_t *ret,
                      struct error *err)
{
    *ret = 0;
    struct db_statement *q = store_statement(s, ST_MARKS, err);
    if (!q)
        return err->code;
    int rc;
    db_bind_numbers(q, 1, level, bucket_of(level, now_ms), s->host_id, (int64_t)max);
    while ((rc = db_step(q, err)) == 1)
        marks[(*ret)++] = (struct mark){(enum series)db_i64(q, 0), level, db_i64(q, 1), db_i64(q, 2)};
    return rc;
}

/* Rolls up the running minutes that are over. */
static int roll_up_running(struct store *s, int64_t now_bucket, struct bucket_row *row, struct error *err)
{
    struct mark host = {SERIES_HOST, LEVEL_MINUTE, s->host_id, s->host_running.minute.bucket};
    int rc = host.bucket >= 0 && host.bucket != now_bucket ? roll_up(s, &host, &s->host_running, row, err) : 0;
    for (size_t i = 0; rc == 0 && i < s->gpu_count; i++) {
        struct mark gpu = {SERIES_GPU, LEVEL_MINUTE, s->gpus[i].id, s->gpus[i].running.minute.bucket};
        if (gpu.bucket >= 0 && gpu.bucket != now_bucket)
            rc = roll_up(s, &gpu, &s->gpus[i].running, row, err);
    }
    return rc;
}

static int roll_up_marked(struct store *s, int64_t now_ms, struct bucket_row *row, struct error *err)
{
    AUTO_FREE struct mark *marks = malloc(ROLLUP_BUCKETS_A_WRITE * sizeof *marks);
    if (!marks)
        return error_set(err, -ENOMEM, "out of memory");
    int rc = running_mark(s, err);
    s->rollup_left = false;
    for (int level = LEVEL_MINUTE; rc == 0 && level < LEVEL_COUNT; level++) {
        size_t count;
        rc = load_marks(s, (enum level)level, now_ms, marks, ROLLUP_BUCKETS_A_WRITE, &count, err);
        for (size_t i = 0; rc == 0 && i < count; i++)
            rc = roll_up_mark(s, &marks[i], row, err);
        s->rollup_left |= count == ROLLUP_BUCKETS_A_WRITE;
    }
    s->marks_hour = s->rollup_left ? 0 : bucket_of(LEVEL_HOUR, now_ms);
    return rc;
}

int rollup_pending(struct store *s, int64_t now_ms, struct error *err)
{
    int64_t now_bucket = bucket_of(LEVEL_MINUTE, now_ms);
    if (s->rolled_bucket == now_bucket && !s->rollup_left)
        return 0;
    AUTO_FREE struct bucket_row *row = malloc(sizeof *row);
    if (!row)
        return error_set(err, -ENOMEM, "out of memory");
    /* Within the hour, no other host marks buckets of this one. */
    int rc = s->marks_hour == bucket_of(LEVEL_HOUR, now_ms) ? roll_up_running(s, now_bucket, row, err)
                                                            : roll_up_marked(s, now_ms, row, err);
    if (rc == 0)
        s->rolled_bucket = now_bucket;
    return rc;
}

/* Adds one row to a bucket whose other rows were deleted: it can't be recomputed. */
static int fold(struct store *s, const struct mark *m, const struct reading *one, struct bucket_row *row, struct error *err)
{
    *row = (struct bucket_row){0};
    int rc = prepare_reading(s, m->series, err);
    if (rc == 0)
        rc = join_buckets(s, m->series, m->level, m->subject, m->bucket, 1, row, err);
    if (rc < 0)
        return rc;
    bucket_add_row(s, m->series, one, row);
    return write_bucket(s, m, row, err);
}

int rollup_add_late(struct store *s, enum series series, const struct reading *one, int64_t subject_id, int64_t at_ms,
                    struct error *err)
{
    AUTO_FREE struct bucket_row *row = malloc(sizeof *row);
    if (!row)
        return error_set(err, -ENOMEM, "out of memory");
    struct running *r = running_of(s, series, subject_id);
    struct mark minute = {series, LEVEL_MINUTE, subject_id, bucket_of(LEVEL_MINUTE, at_ms)};
    struct mark hour = {series, LEVEL_HOUR, subject_id, bucket_of(LEVEL_HOUR, at_ms)};
    running_pass_by(r, &minute);
    running_pass_by(r, &hour);
    s->marks_hour = 0;
    int rc = fold(s, &minute, one, row, err);
    /* The hour can be recomputed from its minutes while these still exist. */
    if (rc == 0 && hour.bucket * level_ms(LEVEL_HOUR) >= s->horizon_ms[series][LEVEL_MINUTE])
        return mark_bucket(s, &hour, err);
    return rc < 0 ? rc : fold(s, &hour, one, row, err);
}

int rollup_overdue(struct store *s, enum series series, enum level level, int64_t bucket, struct error *err)
{
    struct db_statement *q = store_statement(s, ST_OVERDUE, err);
    if (!q)
        return err->code;
    db_bind_numbers(q, 1, series, level, bucket, ROLLUP_BUCKETS_A_WRITE);
    AUTO_FREE struct mark *marks = malloc(ROLLUP_BUCKETS_A_WRITE * sizeof *marks);
    AUTO_FREE struct bucket_row *row = malloc(sizeof *row);
    if (!marks || !row)
        return error_set(err, -ENOMEM, "out of memory");
    size_t count = 0;
    int rc;
    while ((rc = db_step(q, err)) == 1)
        marks[count++] = (struct mark){series, level, db_i64(q, 0), db_i64(q, 1)};
    for (size_t i = 0; rc == 0 && i < count; i++)
        rc = roll_up_mark(s, &marks[i], row, err);
    return rc < 0 ? rc : count > 0;
}
