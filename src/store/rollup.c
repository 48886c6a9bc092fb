/* SPDX-License-Identifier: Apache-2.0
 * Samples to minutes, minutes to hours. Writing a row marks its bucket pending in the same transaction (running.c); when the
 * bucket is over, it is recomputed from everything below it and unmarked, again in one transaction. So a bucket ends up right
 * whatever happens: a restart finds the marks, a late row or a clock that was set back marks it again. A minute that begins and
 * ends in one transaction needs no mark.
 *
 *   row of 10:31:07 ─▶ pending(minute 10:31) ─▶ at 10:32 minutes(10:31) := samples, pending(hour 10) ─▶ at 11:00 hours(10)
 *
 * To save space, redundant values are not stored: count if it equals that of the row, min and max if both equal the mean.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "store/internal.h"

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
    ret->count = db_is_null(q, column + 3) ? samples : db_i64(q, column + 3);
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
    db_bind_i64(q, 1, bucket_key(m->subject, m->bucket));
    db_bind_i64(q, 2, row->samples);
    for (size_t i = 0; i < s->schema.count[m->series]; i++)
        bind_aggregate(q, 3 + 4 * (int)i, &row->columns[i], row->samples);
    return db_put(q, err);
}

static int sum_up_samples(struct store *s, enum series series, int64_t subject, int64_t bucket, struct bucket_row *row,
                          struct error *err)
{
    struct db_statement *q = s->read_raw[series];
    int64_t begin_ms = bucket * level_ms(LEVEL_MINUTE);
    db_bind_i64(q, 1, begin_ms);
    db_bind_i64(q, 2, begin_ms + level_ms(LEVEL_MINUTE));
    db_bind_i64(q, 3, subject);
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
    db_bind_i64(q, 1, bucket_key(subject, first));
    db_bind_i64(q, 2, bucket_key(subject, first + count));
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
    bool marked = !r || running_may_be_marked(r, m);
    int rc = compute(s, m, r, row, err);
    if (rc == 0 && row->samples)
        rc = write_bucket(s, m, row, err);
    if (rc == 0 && marked)
        rc = running_unmark(s, m, r, err);
    if (rc < 0 || m->level != LEVEL_MINUTE || !row->samples)
        return rc;
    if (r)
        running_add_to_hour(s, m->series, r, m->bucket, row);
    return running_mark_hour(s, m->series, m->subject, m->bucket * level_ms(LEVEL_MINUTE) / level_ms(LEVEL_HOUR), r, err);
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
    db_bind_i64(q, 1, level);
    db_bind_i64(q, 2, bucket_of(level, now_ms));
    db_bind_i64(q, 3, s->host_id);
    db_bind_i64(q, 4, (int64_t)max);
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
        return running_mark_bucket(s, &hour, err);
    return rc < 0 ? rc : fold(s, &hour, one, row, err);
}

int rollup_overdue(struct store *s, enum series series, enum level level, int64_t bucket, struct error *err)
{
    struct db_statement *q = store_statement(s, ST_OVERDUE, err);
    if (!q)
        return err->code;
    db_bind_i64(q, 1, series);
    db_bind_i64(q, 2, level);
    db_bind_i64(q, 3, bucket);
    db_bind_i64(q, 4, ROLLUP_BUCKETS_A_WRITE);
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
