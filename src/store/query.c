/* SPDX-License-Identifier: Apache-2.0
 * Plots: chooses the level that answers, and joins the buckets of one or more subjects to steps; and the same for processes.
 */
#include "store/query.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/units.h"
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
    ret->count = db_i64_or(q, sum + 1, samples);
    ret->min = ret->max = ret->count ? ret->sum / ret->count : 0;
    if (wanted & WANTS_MAX)
        ret->max = db_i64_or(q, *column - 1, ret->max);
    if (wanted & WANTS_MIN)
        ret->min = db_i64_or(q, sum + 2, ret->min);
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
    db_bind_numbers(q, 1, raw_parameter(from_ms), raw_parameter(to_ms), c->subject);
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
    db_bind_numbers(q, 1, factor, d->plot->series, of.list[0].subject, from * factor, to * factor, level, from, to, PENDING_MAX);
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

/* ---- memory, load and energy of processes over time, from their minutes. Means cover the time in which their GPU was watched: a
 * minute without the process counts as zero, so that the processes of a GPU add up to no more than the GPU itself; a minute that
 * was not recorded does not count. ---- */

enum { RUN_LOOKUPS_MAX = 500 };

/* known: samples of the GPU in that minute, once it is summed up. Samples of a run without a reading count with the mean of its
 * others. */
static const char by_minute[] = "SELECT minute, MAX(known), MAX(samples), SUM(memory), SUM(memory_most), SUM(sm), SUM(energy), "
                                "MAX(seen_ms), MAX(limit_code), SUM(generated), SUM(prompt), SUM(running) FROM (";
static const char of_gpu[] = "SELECT c.id & 4294967295 AS minute, c.samples AS known, 0 AS samples, NULL AS memory, NULL AS "
                             "memory_most, NULL AS sm, 0 AS energy, 0 AS seen_ms, NULL AS limit_code, NULL AS generated, NULL AS "
                             "prompt, NULL AS running FROM minutes c WHERE c.id >= %lld AND c.id < "
                             "%lld";
static const char of_runs[] =
    "SELECT m.minute AS minute, 0 AS known, m.samples AS samples, CASE WHEN m.memory_count > 0 THEN m.memory_sum_bytes * m.samples "
    "/ m.memory_count END AS memory, m.memory_max_bytes AS memory_most, CASE WHEN m.sm_count > 0 THEN m.sm_sum_permille * "
    "m.samples "
    "/ m.sm_count END AS sm, m.energy_mj AS energy, p.last_seen_ms AS seen_ms, m.limit_code, m.generated_tokens AS generated, "
    "m.prompt_tokens AS prompt, CASE WHEN m.samples > 0 THEN "
    /* CROSS JOIN keeps SQLite to this order: a GPU has had more runs than a plot has minutes. */
    "m.running_sum * 1000 / m.samples END AS running FROM process_minutes m CROSS JOIN processes p CROSS JOIN gpus g CROSS JOIN "
    "hosts h WHERE m.minute >= $1 AND m.minute < $2 AND p.id = m.process_id AND g.id = p.gpu_id AND h.id = g.host_id";

/* The step whose minutes are being read. */
struct process_step {
    int64_t at; /* time / step; -1: none yet */
    bool there; /* some run had a minute in it */
    bool known[PROCESS_COLUMNS];
    struct aggregate values[PROCESS_COLUMNS];
    uint32_t limits[LIMIT_COUNT]; /* minutes */
};

/* Adds the mean of one minute, weighted by `samples` of the GPU. */
static void add_mean(struct process_step *step, enum process_column column, int64_t mean, int64_t max, int64_t samples)
{
    const struct series_column plain = {.scale = 1};
    const struct aggregate minute = {mean * samples, mean, max, samples};
    aggregate_join(&step->values[column], &plain, &minute);
}

/* The watched length of a minute: all of it once the GPU's minute is summed up; else up to the last sample of its processes.
 * Energy is booked to the minute in which it was used, so this is its divisor. */
static int64_t watched_ms(int64_t known, int64_t minute, int64_t seen_ms)
{
    return known > 0 ? MINUTE_MS : MIN_OF(seen_ms - minute * MINUTE_MS, (int64_t)MINUTE_MS);
}

static void add_reported(struct process_step *step, struct db_statement *q, int from, enum process_column column, int64_t per_ms)
{
    if (db_is_null(q, from))
        return;
    int64_t value = per_ms ? (int64_t)((double)db_i64(q, from) * 1000 * MS_PER_S / (double)per_ms) : db_i64(q, from);
    add_mean(step, column, value, value, 1);
    step->known[column] = true;
}

static void add_minute(struct process_step *step, struct db_statement *q)
{
    int64_t minute = db_i64(q, 0), known = db_i64(q, 1), own = db_i64(q, 2), energy = db_i64(q, 6);
    int64_t samples = MAX_OF(known, own), passed_ms = watched_ms(known, minute, db_i64(q, 7));
    bool there = own > 0 || energy > 0, memory = !db_is_null(q, 3), sm = !db_is_null(q, 5);
    if (samples <= 0)
        return;
    step->there |= there;
    struct str limits = db_text(q, 8);
    for (struct store_limit one; store_next_limit(&limits, &one);)
        step->limits[one.limit]++;
    int64_t held = memory ? db_i64(q, 3) / samples : 0, share = sm ? db_i64(q, 5) / samples : 0;
    add_mean(step, PROCESS_MEMORY_BYTES, held, memory ? db_i64(q, 4) : 0, samples);
    add_mean(step, PROCESS_SM_PERMILLE, share, share, samples);
    step->known[PROCESS_MEMORY_BYTES] |= memory;
    step->known[PROCESS_SM_PERMILLE] |= sm;
    if (there) {
        const struct series_column plain = {.scale = 1};
        aggregate_join(&step->values[PROCESS_ENERGY_MJ], &plain, &(struct aggregate){energy, energy, energy, 1});
        step->known[PROCESS_ENERGY_MJ] = true;
    }
    /* No power from the first seconds of a minute: they are too short for a mean. */
    if (passed_ms < PASSED_MIN_MS)
        return;
    int64_t power = energy * MS_PER_S / passed_ms;
    add_mean(step, PROCESS_POWER_MW, power, power, samples);
    step->known[PROCESS_POWER_MW] |= there;
    add_reported(step, q, 9, PROCESS_TOKENS_MILLI, passed_ms);
    add_reported(step, q, 10, PROCESS_PROMPT_MILLI, passed_ms);
    add_reported(step, q, 11, PROCESS_RUNNING_MILLI, 0);
}

static int end_step(struct process_step *step, int64_t step_ms, store_point_fn *each, void *user)
{
    for (int i = 0; i < PROCESS_COLUMNS; i++)
        if (!step->known[i])
            step->values[i] = (struct aggregate){0};
    struct store_point point = {.at = {step->at * step_ms}, .values = step->values};
    for (int i = LIMIT_UNJUDGED + 1; i < LIMIT_COUNT; i++)
        if (step->limits[i] > step->limits[point.limit])
            point.limit = (enum limit)i;
    return step->there ? each(user, &point) : 0;
}

/* Lists the IDs of the selected runs. If they are few, their minutes are looked up; otherwise all minutes are read. */
static int which_runs(struct store *s, const struct store_process_plot *plot, struct buf *list, size_t *count, struct error *err)
{
    AUTO_BUF struct buf sql = BUF(SQL_MAX);
    AUTO_STATEMENT struct db_statement *q = NULL;
    buf_text(&sql, "SELECT p.id FROM processes p JOIN gpus g ON g.id = p.gpu_id JOIN hosts h ON h.id = g.host_id "
                   "WHERE p.last_seen_ms >= $1 AND p.first_seen_ms < $2");
    store_which_runs(s->db->ops->kind, &plot->runs, 3, &sql);
    buf_printf(&sql, " LIMIT %d", RUN_LOOKUPS_MAX + 1);
    int rc = db_prepare_text(s->db, &sql, &q, err);
    if (rc < 0)
        return rc;
    /* A run may begin or end in another part of the first and the last step, or have its first energy in the minute before its
     * first sample. */
    int64_t around_ms = MAX_OF(plot->step_ms, (int64_t)HOUR_MS);
    db_bind_numbers(q, 1, plot->since_ms - around_ms, plot->until_ms + around_ms);
    store_bind_runs(q, &plot->runs, 3);
    while ((rc = db_step(q, err)) == 1)
        buf_printf(list, "%s%lld", (*count)++ ? ", " : "", (long long)db_i64(q, 0));
    return rc;
}

static int prepare_minutes(struct store *s, const struct store_process_plot *plot, const char *runs, struct db_statement **ret,
                           struct error *err)
{
    AUTO_BUF struct buf sql = BUF(SQL_MAX);
    /* Steps of whole hours read whole hours of the GPU, so read whole hours of its processes, too. */
    int64_t whole_ms = plot->step_ms >= HOUR_MS && plot->step_ms % HOUR_MS == 0 ? HOUR_MS : MINUTE_MS, gpu_id = plot->runs.gpu_id;
    int64_t from = plot->since_ms / whole_ms * (whole_ms / MINUTE_MS);
    int64_t to = (plot->until_ms + whole_ms - 1) / whole_ms * (whole_ms / MINUTE_MS);
    buf_text(&sql, by_minute);
    if (gpu_id) {
        buf_printf(&sql, of_gpu, (long long)bucket_key(gpu_id, from), (long long)bucket_key(gpu_id, to));
        parts_among(s->db->ops->kind, LEVEL_MINUTE, "c", from, to, &sql);
        buf_text(&sql, " UNION ALL ");
    }
    buf_text(&sql, of_runs);
    if (runs)
        buf_printf(&sql, " AND m.process_id IN (%s)", runs);
    store_which_runs(s->db->ops->kind, &plot->runs, 3, &sql);
    buf_text(&sql, ") AS t GROUP BY minute ORDER BY minute");
    int rc = db_prepare_between(s->db, &sql, from, to, ret, err);
    if (rc < 0)
        return rc;
    store_bind_runs(*ret, &plot->runs, 3);
    return 0;
}

int store_process_series(struct store *s, const struct store_process_plot *plot, store_point_fn *each, void *user,
                         struct error *err)
{
    AUTO_BUF struct buf runs = BUF(SQL_MAX);
    AUTO_STATEMENT struct db_statement *q = NULL;
    size_t count = 0;
    int rc = which_runs(s, plot, &runs, &count, err);
    if (rc == 0 && count > 0)
        rc = prepare_minutes(s, plot, count <= RUN_LOOKUPS_MAX ? runs.at : NULL, &q, err);
    if (rc < 0 || count == 0)
        return rc;
    struct process_step step = {.at = -1};
    int64_t step_ms = MAX_OF(plot->step_ms, (int64_t)MINUTE_MS);
    while ((rc = db_step(q, err)) == 1) {
        int64_t at = db_i64(q, 0) * MINUTE_MS / step_ms;
        if (at != step.at) {
            rc = end_step(&step, step_ms, each, user);
            if (rc != 0)
                break;
            step = (struct process_step){.at = at};
        }
        add_minute(&step, q);
    }
    if (rc == 0)
        rc = end_step(&step, step_ms, each, user);
    db_reset(q);
    return rc < 0 ? rc : 0;
}
