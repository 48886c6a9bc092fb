/* SPDX-License-Identifier: Apache-2.0
 * Plots: which level answers, and one subject's buckets joined to steps.
 */
#include "store/query.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "store/internal.h"

enum { SQL_MAX = 1 << 16, MINUTES_AN_HOUR = 60, PENDING_MAX = 4096 };

/* Steps that people read well on an axis. Half an hour is left out: an hour is read from sixty times fewer rows. */
static const int64_t ladder_ms[] = {1000,   2000,    5000,    10000,    15000,    30000,    60000,    120000,    300000,    600000,
                                    900000, 3600000, 7200000, 10800000, 21600000, 43200000, 86400000, 604800000, 2592000000};

static int64_t nice_step(int64_t least_ms)
{
    for (size_t i = 0; i < ARRAY_LEN(ladder_ms); i++)
        if (ladder_ms[i] >= least_ms)
            return ladder_ms[i];
    return (least_ms + 86399999) / 86400000 * 86400000;
}

bool store_has(const struct store *s, enum series series, size_t column)
{
    return s->schema.has[series][column];
}

int64_t store_horizon(const struct store *s, enum series series, enum level level)
{
    return s->horizon_ms[series][level];
}

/* The finest level that still reaches back to `since`. */
static enum level finest_level(const struct store *s, enum series series, int64_t since_ms)
{
    if (since_ms >= s->horizon_ms[series][LEVEL_RAW])
        return LEVEL_RAW;
    return since_ms >= s->horizon_ms[series][LEVEL_MINUTE] ? LEVEL_MINUTE : LEVEL_HOUR;
}

void store_plan(struct store *s, const struct store_plot *plot, int64_t *ret_step_ms, enum level *ret_level)
{
    int64_t span = MAX_OF(plot->until_ms - plot->since_ms, (int64_t)1);
    int64_t points = (int64_t)MIN_OF(plot->points ? plot->points : QUERY_POINTS_DEFAULT, (size_t)QUERY_POINTS_MAX);
    int64_t least = (span + points - 1) / points;
    int64_t step = plot->step_ms > 0 ? MAX_OF(plot->step_ms, (span + QUERY_POINTS_MAX - 1) / QUERY_POINTS_MAX) : nice_step(least);
    enum level finest = finest_level(s, plot->series, plot->since_ms);
    step = MAX_OF(step, level_ms(finest));
    /* A step is made of whole buckets. */
    enum level level = step % level_ms(LEVEL_HOUR) == 0     ? LEVEL_HOUR
                       : step % level_ms(LEVEL_MINUTE) == 0 ? LEVEL_MINUTE
                                                            : LEVEL_RAW;
    if (level < finest) {
        level = finest;
        step = (step + level_ms(level) - 1) / level_ms(level) * level_ms(level);
    }
    *ret_step_ms = step;
    *ret_level = level;
}

/* A plot while it is drawn. */
struct drawing {
    struct store *s;
    const struct store_plot *plot;
    struct series_column columns[QUERY_COLUMNS_MAX];
    bool known[QUERY_COLUMNS_MAX]; /* the database has the column at all */
    int64_t step_ms;
    int64_t current; /* step being filled; -1: none */
    bool filled;
    struct aggregate values[QUERY_COLUMNS_MAX];
    store_point_fn *each;
    void *user;
    struct db_statement *rows[LEVEL_COUNT];
    char table[LEVEL_COUNT][PART_NAME_SIZE]; /* that they are read from */
};

static int emit(struct drawing *d)
{
    int rc = 0;
    if (d->filled) {
        struct store_point point = {.at = {d->current * d->step_ms}, .values = d->values};
        rc = d->each(d->user, &point);
    }
    d->filled = false;
    for (size_t i = 0; i < d->plot->column_count; i++)
        d->values[i] = (struct aggregate){0};
    return rc;
}

static int join(struct drawing *d, int64_t at_ms, const struct aggregate *values)
{
    int64_t step = at_ms / d->step_ms;
    if (step != d->current) {
        int rc = emit(d);
        if (rc != 0)
            return rc;
        d->current = step;
    }
    d->filled = true;
    for (size_t i = 0; i < d->plot->column_count; i++)
        aggregate_join(&d->values[i], &d->columns[i], &values[i]);
    return 0;
}

static int prepare_rows(struct drawing *d, enum level level, const char *table, struct error *err)
{
    bool part = strcmp(table, series_table(d->plot->series, level)) != 0;
    if (d->rows[level] && strcmp(table, d->table[level]) == 0)
        return 0;
    db_finish(&d->rows[level]);
    str_copy(d->table[level], PART_NAME_SIZE, str_from(table));
    AUTO_BUF struct buf sql = BUF(SQL_MAX);
    const struct raw_words *words = raw_words(d->s->db->ops->kind, d->plot->series);
    buf_printf(&sql, "SELECT %s", level == LEVEL_RAW ? words->ms : "id, samples");
    for (size_t i = 0; i < d->plot->column_count; i++) {
        const char *name = d->columns[i].name;
        if (!d->known[i])
            buf_text(&sql, level == LEVEL_RAW ? ", NULL" : ", NULL, NULL, NULL, NULL");
        else if (level == LEVEL_RAW)
            buf_printf(&sql, ", %s", name);
        else
            buf_printf(&sql, ", %s_sum, %s_min, %s_max, %s_count", name, name, name, name);
    }
    buf_printf(&sql, " FROM %s WHERE ", table);
    if (level == LEVEL_RAW)
        buf_printf(&sql, "%s AND %s = $3 ORDER BY %s", words->span, words->subject, words->time);
    else
        buf_printf(&sql, "id >= $1 AND id < $2%s ORDER BY id", part ? "" : parts_between(d->s->db->ops->kind, level));
    return sql.failed ? error_set(err, -ENOMEM, "out of memory") : db_prepare(d->s->db, sql.at, &d->rows[level], err);
}

static int draw_raw(struct drawing *d, int64_t from_ms, int64_t to_ms, struct error *err)
{
    int rc = prepare_rows(d, LEVEL_RAW, series_table(d->plot->series, LEVEL_RAW), err);
    if (rc < 0)
        return rc;
    struct db_statement *q = d->rows[LEVEL_RAW];
    db_bind_i64(q, 1, raw_parameter(from_ms));
    db_bind_i64(q, 2, raw_parameter(to_ms));
    db_bind_i64(q, 3, d->plot->subject);
    while ((rc = db_step(q, err)) == 1) {
        struct aggregate values[QUERY_COLUMNS_MAX] = {0};
        for (size_t i = 0; i < d->plot->column_count; i++)
            if (!db_is_null(q, 1 + (int)i))
                aggregate_add(&values[i], &d->columns[i], db_i64(q, 1 + (int)i));
        rc = join(d, db_i64(q, 0), values);
        if (rc != 0) {
            db_reset(q);
            return rc;
        }
    }
    return rc;
}

/* Buckets of a level that are not, or not rightly, in their table: those pending, and those above a pending one. */
static int load_pending(struct drawing *d, enum level level, int64_t from, int64_t to, int64_t *buckets, size_t *count,
                        struct error *err)
{
    AUTO_STATEMENT struct db_statement *q = NULL;
    int64_t factor = level_ms(level) / level_ms(LEVEL_MINUTE);
    *count = 0;
    int rc = db_prepare(
        d->s->db,
        "SELECT DISTINCT bucket / $1 AS b FROM pending WHERE series = $2 AND level = 1 AND subject = $3 AND bucket >= $4 "
        "AND bucket < $5 UNION SELECT bucket FROM pending WHERE series = $2 AND level = $6 AND subject = $3 "
        "AND bucket >= $7 AND bucket < $8 ORDER BY 1 LIMIT $9",
        &q, err);
    if (rc < 0)
        return rc;
    db_bind_i64(q, 1, factor);
    db_bind_i64(q, 2, d->plot->series);
    db_bind_i64(q, 3, d->plot->subject);
    db_bind_i64(q, 4, from * factor);
    db_bind_i64(q, 5, to * factor);
    db_bind_i64(q, 6, level);
    db_bind_i64(q, 7, from);
    db_bind_i64(q, 8, to);
    db_bind_i64(q, 9, PENDING_MAX);
    while ((rc = db_step(q, err)) == 1)
        buckets[(*count)++] = db_i64(q, 0);
    return rc;
}

static int draw_buckets(struct drawing *d, enum level level, int64_t from, int64_t to, struct error *err);

/* A bucket from the level below. */
static int draw_from_below(struct drawing *d, enum level level, int64_t bucket, struct error *err)
{
    if (level == LEVEL_MINUTE)
        return draw_raw(d, bucket * level_ms(LEVEL_MINUTE), (bucket + 1) * level_ms(LEVEL_MINUTE), err);
    return draw_buckets(d, LEVEL_MINUTE, bucket * MINUTES_AN_HOUR, (bucket + 1) * MINUTES_AN_HOUR, err);
}

static int draw_table(struct drawing *d, enum level level, const char *table, int64_t from, int64_t to, struct error *err)
{
    int rc = prepare_rows(d, level, table, err);
    if (rc < 0)
        return rc;
    struct db_statement *q = d->rows[level];
    db_bind_i64(q, 1, bucket_key(d->plot->subject, from));
    db_bind_i64(q, 2, bucket_key(d->plot->subject, to));
    while ((rc = db_step(q, err)) == 1) {
        struct aggregate values[QUERY_COLUMNS_MAX] = {0};
        int64_t bucket = db_i64(q, 0) & 0xffffffff, samples = db_i64(q, 1);
        for (size_t i = 0; i < d->plot->column_count; i++)
            rollup_read_aggregate(q, 2 + 4 * (int)i, samples, &values[i]);
        rc = join(d, bucket * level_ms(level), values);
        if (rc != 0) {
            db_reset(q);
            return rc;
        }
    }
    return rc;
}

/* Stored rows from `from` on, up to and without `to`: from the parts themselves, one after the other. A server plans a statement
 * about one table in a tenth of the time, and about all of them it would compute the time of each row. */
static int draw_stored(struct drawing *d, enum level level, int64_t from, int64_t to, struct error *err)
{
    int rc = 0;
    for (int64_t end; rc == 0 && from < to; from = end) {
        char part[PART_NAME_SIZE];
        const char *all = series_table(d->plot->series, level);
        int64_t end_ms = to * level_ms(level);
        bool known = partition_find(d->s, parted_of(d->plot->series, level), from * level_ms(level), &end_ms, part);
        end = end_ms / level_ms(level);
        rc = draw_table(d, level, known ? part : all, from, end, err);
        if (rc == -ESTALE && known) { /* dropped a moment ago */
            partition_unload(d->s);
            rc = draw_table(d, level, all, from, end, err);
        }
    }
    return rc;
}

static int draw_buckets(struct drawing *d, enum level level, int64_t from, int64_t to, struct error *err)
{
    AUTO_FREE int64_t *pending = malloc(PENDING_MAX * sizeof *pending);
    if (!pending)
        return error_set(err, -ENOMEM, "out of memory");
    size_t count;
    int rc = load_pending(d, level, from, to, pending, &count, err);
    for (size_t i = 0; rc == 0 && i < count; i++) {
        rc = draw_stored(d, level, from, pending[i], err);
        if (rc == 0)
            rc = draw_from_below(d, level, pending[i], err);
        from = pending[i] + 1;
    }
    return rc != 0 ? rc : draw_stored(d, level, from, to, err);
}

int store_series(struct store *s, const struct store_plot *plot, store_point_fn *each, void *user, struct error *err)
{
    if (plot->column_count == 0 || plot->column_count > QUERY_COLUMNS_MAX)
        return error_set(err, -EINVAL, "1 to %d metrics can be asked for at once", QUERY_COLUMNS_MAX);
    struct drawing d = {.s = s, .plot = plot, .current = -1, .each = each, .user = user};
    enum level level;
    store_plan(s, plot, &d.step_ms, &level);
    for (size_t i = 0; i < plot->column_count; i++) {
        d.columns[i] = series_column(plot->series, plot->columns[i]);
        d.known[i] = s->schema.has[plot->series][plot->columns[i]];
    }
    /* Whole buckets: the first may begin before `since`. */
    int64_t bucket_ms = level_ms(level);
    int64_t from = plot->since_ms / bucket_ms, to = (plot->until_ms + bucket_ms - 1) / bucket_ms;
    int rc = level == LEVEL_RAW ? draw_raw(&d, plot->since_ms, plot->until_ms, err) : draw_buckets(&d, level, from, to, err);
    if (rc == 0)
        rc = emit(&d);
    for (int i = 0; i < LEVEL_COUNT; i++)
        db_finish(&d.rows[i]);
    return rc < 0 ? rc : 0;
}
