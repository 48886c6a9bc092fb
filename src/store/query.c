/* SPDX-License-Identifier: Apache-2.0
 * Plots: chooses the level that answers, and joins the buckets of one or more subjects to steps.
 */
#include "store/query.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "store/internal.h"

enum { SQL_MAX = 1 << 16, MINUTES_AN_HOUR = 60, PENDING_MAX = 4096, KEY_BUCKET_BITS = 32, SUBJECTS_AT_ONCE = 64 };

/* Steps that read well on an axis. Half an hour is left out: an hour is read from sixty times fewer rows. */
static const int64_t ladder_ms[] = {1000,   2000,    5000,    10000,    15000,    30000,    60000,    120000,    300000,    600000,
                                    900000, 3600000, 7200000, 10800000, 21600000, 43200000, 86400000, 604800000, 2592000000};

static int64_t nice_step(int64_t min_ms)
{
    for (size_t i = 0; i < ARRAY_LEN(ladder_ms); i++)
        if (ladder_ms[i] >= min_ms)
            return ladder_ms[i];
    return (min_ms + 86399999) / 86400000 * 86400000;
}

/* A step of 59 s would read every sample, where minutes are there already: round steps of about a bucket or more to whole
 * buckets. Round to hours only from two hours on: people ask for 90 minutes. */
static int64_t whole_buckets(int64_t step_ms)
{
    const int64_t minute = level_ms(LEVEL_MINUTE), hour = level_ms(LEVEL_HOUR);
    if (step_ms <= minute / 2)
        return step_ms;
    int64_t unit = step_ms > 2 * hour ? hour : minute;
    return (step_ms + unit - 1) / unit * unit;
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
    int64_t min_ms = (span + points - 1) / points;
    int64_t step = plot->step_ms > 0 ? MAX_OF(plot->step_ms, (span + QUERY_POINTS_MAX - 1) / QUERY_POINTS_MAX) : nice_step(min_ms);
    enum level finest = finest_level(s, plot->series, plot->since_ms);
    step = MAX_OF(whole_buckets(step), level_ms(finest));
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

/* The state of one subject's line. */
struct plot_course {
    int64_t subject;
    int64_t current; /* step being filled; -1: none */
    bool filled;
    struct aggregate values[QUERY_COLUMNS_MAX];
};

/* The lines that one statement reads. */
struct plot_courses {
    struct plot_course *list;
    size_t count;
};

/* A plot while it is drawn. */
struct drawing {
    struct store *s;
    const struct store_plot *plot;
    const struct plot_course *courses; /* of all subjects, in the caller's order */
    struct series_column columns[QUERY_COLUMNS_MAX];
    bool known[QUERY_COLUMNS_MAX]; /* the database has the column */
    int64_t step_ms;
    store_point_fn *each;
    void *user;
    struct db_statement *rows[LEVEL_COUNT];
    char table[LEVEL_COUNT][PART_NAME_SIZE]; /* the table that `rows` reads */
    size_t subjects[LEVEL_COUNT];            /* and the number of its subjects */
};

static int emit(struct drawing *d, struct plot_course *c)
{
    int rc = 0;
    if (c->filled) {
        struct store_point point = {.at = {c->current * d->step_ms}, .place = (size_t)(c - d->courses), .values = c->values};
        rc = d->each(d->user, &point);
    }
    c->filled = false;
    for (size_t i = 0; i < d->plot->column_count; i++)
        c->values[i] = (struct aggregate){0};
    return rc;
}

static int query_join(struct drawing *d, struct plot_course *c, int64_t at_ms, const struct aggregate *values)
{
    int64_t step = at_ms / d->step_ms;
    if (step != c->current) {
        int rc = emit(d, c);
        if (rc != 0)
            return rc;
        c->current = step;
    }
    c->filled = true;
    for (size_t i = 0; i < d->plot->column_count; i++)
        aggregate_join(&c->values[i], &d->columns[i], &values[i]);
    return 0;
}

static unsigned wanted(const struct drawing *d, size_t column)
{
    return d->plot->wanted ? d->plot->wanted[column] : WANTS_MIN | WANTS_MAX;
}

/* Writes the columns that read_aggregate expects. */
static void write_aggregate(const char *name, unsigned wanted, struct buf *sql)
{
    buf_printf(sql, ", %s_sum, %s_count", name, name);
    if (wanted & WANTS_MIN)
        buf_printf(sql, ", %s_min", name);
    if (wanted & WANTS_MAX)
        buf_printf(sql, ", %s_max", name);
}

static int64_t column_or(struct db_statement *q, int column, int64_t fallback)
{
    return db_is_null(q, column) ? fallback : db_i64(q, column);
}

/* NULL means the same as in rollup_read_aggregate. Advances `column`. */
static void read_aggregate(struct db_statement *q, unsigned wanted, int64_t samples, int *column, struct aggregate *ret)
{
    int sum = *column;
    bool known = !db_is_null(q, sum);
    *ret = (struct aggregate){0};
    *column += 2 + ((wanted & WANTS_MIN) != 0) + ((wanted & WANTS_MAX) != 0);
    if (!known)
        return;
    ret->sum = db_i64(q, sum);
    ret->count = column_or(q, sum + 1, samples);
    ret->min = ret->max = ret->count ? ret->sum / ret->count : 0;
    if (wanted & WANTS_MAX)
        ret->max = column_or(q, *column - 1, ret->max);
    if (wanted & WANTS_MIN)
        ret->min = column_or(q, sum + 2, ret->min);
}

/* Keys in [$1, $2), or in [$3, $4), ... */
static void write_key_ranges(size_t count, struct buf *sql)
{
    buf_char(sql, '(');
    for (size_t i = 0; i < count; i++)
        buf_printf(sql, "%s(id >= $%zu AND id < $%zu)", i ? " OR " : "", 2 * i + 1, 2 * i + 2);
    buf_char(sql, ')');
}

static int prepare_rows(struct drawing *d, size_t subjects, enum level level, const char *table, struct error *err)
{
    bool part = strcmp(table, series_table(d->plot->series, level)) != 0;
    if (d->rows[level] && d->subjects[level] == subjects && strcmp(table, d->table[level]) == 0)
        return 0;
    db_finish(&d->rows[level]);
    str_copy(d->table[level], PART_NAME_SIZE, str_from(table));
    d->subjects[level] = subjects;
    AUTO_BUF struct buf sql = BUF(SQL_MAX);
    const struct raw_words *words = raw_words(d->s->db->ops->kind, d->plot->series);
    buf_printf(&sql, "SELECT %s", level == LEVEL_RAW ? words->ms : "id, samples");
    for (size_t i = 0; i < d->plot->column_count; i++) {
        const char *name = d->columns[i].name;
        if (!d->known[i])
            buf_text(&sql, level == LEVEL_RAW ? ", NULL" : "");
        else if (level == LEVEL_RAW)
            buf_printf(&sql, ", %s", name);
        else
            write_aggregate(name, wanted(d, i), &sql);
    }
    buf_printf(&sql, " FROM %s WHERE ", table);
    if (level == LEVEL_RAW) {
        buf_printf(&sql, "%s AND %s = $3 ORDER BY %s", words->span, words->subject, words->time);
    } else {
        write_key_ranges(subjects, &sql);
        buf_printf(&sql, "%s ORDER BY id", part ? "" : parts_between(d->s->db->ops->kind, level));
    }
    return db_prepare_text(d->s->db, &sql, &d->rows[level], err);
}

static int draw_samples(struct drawing *d, void *of, enum level level, const char *table, int64_t from_ms, int64_t to_ms,
                        struct error *err)
{
    struct plot_course *c = of;
    int rc = prepare_rows(d, 1, level, table, err);
    if (rc < 0)
        return rc;
    struct db_statement *q = d->rows[level];
    db_bind_i64(q, 1, raw_parameter(from_ms));
    db_bind_i64(q, 2, raw_parameter(to_ms));
    db_bind_i64(q, 3, c->subject);
    while ((rc = db_step(q, err)) == 1) {
        struct aggregate values[QUERY_COLUMNS_MAX] = {0};
        for (size_t i = 0; i < d->plot->column_count; i++)
            if (!db_is_null(q, 1 + (int)i))
                aggregate_add(&values[i], &d->columns[i], db_i64(q, 1 + (int)i));
        rc = query_join(d, c, db_i64(q, 0), values);
        if (rc != 0) {
            db_reset(q);
            return rc;
        }
    }
    return rc;
}

/* Draws the rows of a level from one partition at a time. A server plans a statement about one table in a tenth of the time, and
 * for the whole table of minutes it would compute the time of each row. */
typedef int draw_fn(struct drawing *d, void *of, enum level level, const char *table, int64_t from_ms, int64_t to_ms,
                    struct error *err);

static int draw_parts(struct drawing *d, draw_fn *draw, void *of, enum level level, int64_t from_ms, int64_t to_ms,
                      struct error *err)
{
    int rc = 0;
    for (int64_t end_ms; rc == 0 && from_ms < to_ms; from_ms = end_ms) {
        char part[PART_NAME_SIZE];
        const char *all = series_table(d->plot->series, level);
        end_ms = to_ms;
        bool known = partition_find(d->s, parted_of(d->plot->series, level), from_ms, &end_ms, part);
        rc = draw(d, of, level, known ? part : all, from_ms, end_ms, err);
        if (known && partition_lost(d->s, rc))
            rc = draw(d, of, level, all, from_ms, end_ms, err);
    }
    return rc;
}

static int draw_raw(struct drawing *d, struct plot_course *c, int64_t from_ms, int64_t to_ms, struct error *err)
{
    return draw_parts(d, draw_samples, c, LEVEL_RAW, from_ms, to_ms, err);
}

/* Buckets of a level that are missing or outdated in their table: those pending on any host, and those above a pending one. */
static int load_pending(struct drawing *d, struct plot_courses of, enum level level, int64_t from, int64_t to, int64_t *buckets,
                        size_t *count, struct error *err)
{
    AUTO_STATEMENT struct db_statement *q = NULL;
    AUTO_BUF struct buf who = BUF(SQL_MAX), sql = BUF(SQL_MAX);
    int64_t factor = level_ms(level) / level_ms(LEVEL_MINUTE);
    *count = 0;
    for (size_t i = 0; of.count > 1 && i < of.count; i++)
        buf_printf(&who, ", %lld", (long long)of.list[i].subject);
    const char *others = who.at ? who.at : "";
    buf_printf(&sql,
               "SELECT DISTINCT bucket / $1 AS b FROM pending WHERE series = $2 AND level = 1 AND subject IN ($3%s) AND bucket >= "
               "$4 AND bucket < $5 UNION SELECT bucket FROM pending WHERE series = $2 AND level = $6 AND subject IN ($3%s) AND "
               "bucket >= $7 AND bucket < $8 ORDER BY 1 LIMIT $9",
               others, others);
    int rc = sql.failed || who.failed ? error_set(err, -ENOMEM, "out of memory") : db_prepare(d->s->db, sql.at, &q, err);
    if (rc < 0)
        return rc;
    db_bind_i64(q, 1, factor);
    db_bind_i64(q, 2, d->plot->series);
    db_bind_i64(q, 3, of.list[0].subject);
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

static int draw_buckets(struct drawing *d, struct plot_courses of, enum level level, int64_t from, int64_t to, struct error *err);

/* Computes a bucket from the level below, for each subject separately: it may be pending for only one of them. */
static int draw_from_below(struct drawing *d, struct plot_courses of, enum level level, int64_t bucket, struct error *err)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && of.count > 1 && i < of.count; i++)
        rc = draw_buckets(d, (struct plot_courses){&of.list[i], 1}, level, bucket, bucket + 1, err);
    if (of.count > 1)
        return rc;
    if (level == LEVEL_MINUTE)
        return draw_raw(d, of.list, bucket * level_ms(LEVEL_MINUTE), (bucket + 1) * level_ms(LEVEL_MINUTE), err);
    return draw_buckets(d, of, LEVEL_MINUTE, bucket * MINUTES_AN_HOUR, (bucket + 1) * MINUTES_AN_HOUR, err);
}

/* Rows come in key order: subject by subject. */
static struct plot_course *course_of(struct plot_courses of, struct plot_course *last, int64_t key)
{
    int64_t subject = key >> KEY_BUCKET_BITS;
    for (size_t i = 0; last->subject != subject && i < of.count; i++)
        if (of.list[i].subject == subject)
            last = &of.list[i];
    return last;
}

static int draw_table(struct drawing *d, void *all, enum level level, const char *table, int64_t from_ms, int64_t to_ms,
                      struct error *err)
{
    struct plot_courses of = *(struct plot_courses *)all;
    int64_t from = from_ms / level_ms(level), to = to_ms / level_ms(level);
    int rc = prepare_rows(d, of.count, level, table, err);
    if (rc < 0)
        return rc;
    struct db_statement *q = d->rows[level];
    struct plot_course *c = of.list;
    for (size_t i = 0; i < of.count; i++) {
        db_bind_i64(q, 2 * (int)i + 1, bucket_key(of.list[i].subject, from));
        db_bind_i64(q, 2 * (int)i + 2, bucket_key(of.list[i].subject, to));
    }
    while ((rc = db_step(q, err)) == 1) {
        struct aggregate values[QUERY_COLUMNS_MAX];
        int64_t key = db_i64(q, 0), samples = db_i64(q, 1);
        c = course_of(of, c, key);
        int column = 2;
        for (size_t i = 0; i < d->plot->column_count; i++)
            if (d->known[i])
                read_aggregate(q, wanted(d, i), samples, &column, &values[i]);
            else
                values[i] = (struct aggregate){0};
        rc = query_join(d, c, (key & 0xffffffff) * level_ms(level), values);
        if (rc != 0) {
            db_reset(q);
            return rc;
        }
    }
    return rc;
}

/* Draws stored rows of buckets in [from, to). */
static int draw_stored(struct drawing *d, struct plot_courses of, enum level level, int64_t from, int64_t to, struct error *err)
{
    return draw_parts(d, draw_table, &of, level, from * level_ms(level), to * level_ms(level), err);
}

static int draw_buckets(struct drawing *d, struct plot_courses of, enum level level, int64_t from, int64_t to, struct error *err)
{
    AUTO_FREE int64_t *pending = malloc(PENDING_MAX * sizeof *pending);
    if (!pending)
        return error_set(err, -ENOMEM, "out of memory");
    size_t count;
    int rc = load_pending(d, of, level, from, to, pending, &count, err);
    for (size_t i = 0; rc == 0 && i < count; i++) {
        rc = draw_stored(d, of, level, from, pending[i], err);
        if (rc == 0)
            rc = draw_from_below(d, of, level, pending[i], err);
        from = pending[i] + 1;
    }
    return rc != 0 ? rc : draw_stored(d, of, level, from, to, err);
}

static int draw(struct drawing *d, struct plot_courses of, enum level level, struct error *err)
{
    const struct store_plot *plot = d->plot;
    int64_t bucket_ms = level_ms(level);
    if (level == LEVEL_RAW)
        return draw_raw(d, of.list, plot->since_ms, plot->until_ms, err);
    /* Whole buckets: the first may begin before `since`. */
    return draw_buckets(d, of, level, plot->since_ms / bucket_ms, (plot->until_ms + bucket_ms - 1) / bucket_ms, err);
}

/* A server stores the rows of one minute side by side, and reads those of all subjects in one pass. A file stores the rows of
 * one subject side by side. */
static int draw_all(struct drawing *d, struct plot_courses all, enum level level, struct error *err)
{
    size_t at_once = d->s->db->ops->kind == DB_POSTGRES && level != LEVEL_RAW ? SUBJECTS_AT_ONCE : 1;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < all.count; i += at_once)
        rc = draw(d, (struct plot_courses){all.list + i, MIN_OF(at_once, all.count - i)}, level, err);
    for (size_t i = 0; rc == 0 && i < all.count; i++)
        rc = emit(d, &all.list[i]);
    return rc;
}

int store_series(struct store *s, const struct store_plot *plot, store_point_fn *each, void *user, struct error *err)
{
    if (plot->column_count == 0 || plot->column_count > QUERY_COLUMNS_MAX)
        return error_set(err, -EINVAL, "1 to %d metrics can be asked for at once", QUERY_COLUMNS_MAX);
    struct drawing d = {.s = s, .plot = plot, .each = each, .user = user};
    size_t count = plot->subjects ? plot->subject_count : 1;
    AUTO_FREE struct plot_course *courses = calloc(count + 1, sizeof *courses);
    if (!courses)
        return error_set(err, -ENOMEM, "out of memory");
    d.courses = courses;
    for (size_t i = 0; i < count; i++) {
        courses[i].subject = plot->subjects ? plot->subjects[i] : plot->subject;
        courses[i].current = -1;
    }
    enum level level;
    store_plan(s, plot, &d.step_ms, &level);
    for (size_t i = 0; i < plot->column_count; i++) {
        d.columns[i] = series_column(plot->series, plot->columns[i]);
        d.known[i] = s->schema.has[plot->series][plot->columns[i]];
    }
    int rc = draw_all(&d, (struct plot_courses){courses, count}, level, err);
    for (int i = 0; i < LEVEL_COUNT; i++)
        db_finish(&d.rows[i]);
    return rc < 0 ? rc : 0;
}
