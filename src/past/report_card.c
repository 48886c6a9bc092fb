/* SPDX-License-Identifier: Apache-2.0
 * The GPUs' hours, load and hot spells, from minutes.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "insight/facts/levels.h"
#include "past/report.h"

/* A plot has at most QUERY_POINTS_MAX points: read longer spans in pieces. */
enum { PIECE_MS = 5 * 86400 * 1000, SPELL_GAP_STEPS = 2 };
/* Of a longer span, only the last days are read by minute, and the rest by hour. */
#define MINUTES_MAX_MS (31LL * 86400 * 1000)

static const char *const column_names[] = {"util_permille", "temp_mdegc", "throttle_bits", "power_mw"};
enum { COL_UTIL, COL_TEMP, COL_THROTTLE, COL_POWER, COL_COUNT };
static const unsigned char wanted[COL_COUNT] = {[COL_TEMP] = WANTS_MAX};

/* The longest. */
struct hot_spells {
    struct report_hot list[REPORT_HOT_MAX];
    size_t count;
};

struct card_course {
    struct report_gpu *gpu;
    const struct report *report;
    int64_t from_ms;         /* nothing is known from before */
    int64_t utils, util_sum; /* weighted by steps */
    struct report_hot spell; /* the current one; until.ms 0: none */
    double slowed_ms;
    struct hot_spells spells;
    unsigned char *watched; /* a bit for each hour since first_hour that is counted by minutes; NULL: none */
};

/* Some GPUs, in the order of the report. */
struct card_courses {
    const struct report *report;
    struct card_course *list;
    size_t count;
    int64_t step_ms;
    int64_t first_hour, hours; /* of the current piece */
};

static int64_t length_ms(const struct report_hot *spell)
{
    return spell->until.ms - spell->since.ms;
}

/* Inserts into a list of the longest. */
static void keep_spell(const struct report_hot *spell, struct report_hot list[REPORT_HOT_MAX], size_t *count)
{
    size_t least = 0;
    if (*count < REPORT_HOT_MAX) {
        list[(*count)++] = *spell;
        return;
    }
    for (size_t i = 1; i < *count; i++)
        if (length_ms(&list[i]) < length_ms(&list[least]))
            least = i;
    if (length_ms(&list[least]) < length_ms(spell))
        list[least] = *spell;
}

static void end_spell(struct card_course *c)
{
    struct report_hot *spell = &c->spell;
    if (!spell->until.ms)
        return;
    int64_t lasted = length_ms(spell);
    spell->slowed = lasted > 0 ? MIN_OF(c->slowed_ms / (double)lasted, 1.0) : 0;
    keep_spell(spell, c->spells.list, &c->spells.count);
    *spell = (struct report_hot){0};
    c->slowed_ms = 0;
}

/* The requested part of a step, whose edges may lie outside of the span. */
static int64_t known_ms(const struct card_course *c, const struct store_point *point, int64_t step_ms)
{
    return MAX_OF(MIN_OF(point->at.ms + step_ms, c->report->until.ms) - MAX_OF(point->at.ms, c->from_ms), (int64_t)0);
}

static void note_heat(struct card_course *c, const struct store_point *point, int64_t step_ms)
{
    const struct aggregate *temp = &point->values[COL_TEMP], *throttle = &point->values[COL_THROTTLE];
    struct report_hot *spell = &c->spell;
    if (spell->until.ms && point->at.ms - spell->until.ms > SPELL_GAP_STEPS * step_ms)
        end_spell(c);
    if (!temp->count || temp->max < c->report->hot_mdegc)
        return;
    if (!spell->until.ms)
        *spell = (struct report_hot){.gpu_index = c->gpu->index, .since = {MAX_OF(point->at.ms, c->from_ms)}};
    spell->until = (struct wall){MIN_OF(point->at.ms + step_ms, c->report->until.ms)};
    spell->resolution_ms = MAX_OF(spell->resolution_ms, step_ms);
    spell->temp_max_mdegc = MAX_OF(spell->temp_max_mdegc, temp->max);
    if (throttle->count)
        c->slowed_ms += (double)throttle->sum / (double)throttle->count * (double)known_ms(c, point, step_ms);
}

/* Adds the watched, busy and idle time of a fully watched step, as far as known. */
static void note_time(struct card_course *c, const struct store_point *point, int64_t step_ms)
{
    const struct aggregate *util = &point->values[COL_UTIL];
    double hours = (double)known_ms(c, point, step_ms) / HOUR_MS;
    c->gpu->hours += hours;
    if (util->count) {
        int64_t mean = util->sum / util->count;
        c->util_sum += mean;
        c->utils++;
        if (mean >= PROCESS_BUSY_LEAST)
            c->gpu->busy_hours += hours;
        const struct aggregate *power = &point->values[COL_POWER];
        if (mean < PROCESS_IDLE_MAX && power->count) {
            c->gpu->idle_hours += hours;
            c->gpu->idle_mj += power->sum / power->count * known_ms(c, point, step_ms) / 1000;
        }
    }
}

static void note_step(struct card_course *c, const struct store_point *point, int64_t step_ms)
{
    const struct aggregate *temp = &point->values[COL_TEMP];
    if (temp->count)
        c->gpu->temp_max_mdegc = reading_ok(MAX_OF(reading_or(c->gpu->temp_max_mdegc, INT64_MIN), temp->max));
    note_heat(c, point, step_ms);
}

static int take_point(void *user, const struct store_point *point)
{
    struct card_courses *all = user;
    struct card_course *c = &all->list[point->place];
    int64_t hour = point->at.ms / HOUR_MS - all->first_hour;
    bool counted = c->watched && hour >= 0 && hour < all->hours && c->watched[hour / 8] >> hour % 8 & 1;
    if (!counted)
        note_time(c, point, all->step_ms);
    note_step(c, point, all->step_ms);
    return 0;
}

/* Counts an hour by its minutes: it may have been watched in part. */
static int take_hour(void *user, const struct store_watched_hour *h)
{
    struct card_courses *all = user;
    for (size_t i = 0; i < all->count; i++) {
        struct card_course *c = &all->list[i];
        int64_t hour = h->hour - all->first_hour;
        if (c->gpu->id != h->gpu_id)
            continue;
        c->watched[hour / 8] |= (unsigned char)(1 << hour % 8);
        c->gpu->hours += (double)h->watched_ms / HOUR_MS;
        c->gpu->busy_hours += (double)h->busy_ms / HOUR_MS;
        c->gpu->idle_hours += (double)h->idle_ms / HOUR_MS;
        c->gpu->idle_mj += h->idle_mj;
        c->util_sum += h->util_sum_permille;
        c->utils += h->util_minutes;
    }
    return 0;
}

static void forget_hours(struct card_courses *all)
{
    for (size_t i = 0; i < all->count; i++)
        free(TAKE(all->list[i].watched));
    all->hours = 0;
}

/* The whole hours of a piece that is read by hour. */
static int read_hours(struct store *s, struct card_courses *all, const int64_t *subjects, int64_t from_ms, int64_t to_ms,
                      struct error *err)
{
    all->first_hour = (from_ms + HOUR_MS - 1) / HOUR_MS;
    all->hours = MAX_OF(to_ms / HOUR_MS - all->first_hour, (int64_t)0);
    for (size_t i = 0; i < all->count; i++)
        if (!(all->list[i].watched = calloc((size_t)all->hours / 8 + 1, 1)))
            return error_set(err, -ENOMEM, "out of memory");
    return store_watched_hours(s, subjects, all->count, all->first_hour, all->first_hour + all->hours, take_hour, all, err);
}

static int see_run(void *user, const struct store_process_run *run)
{
    struct report_hot *spell = user;
    process_words(&run->process, SHORT_NAME, spell->process);
    str_copy(spell->user, sizeof spell->user, str_from(run->process.user));
    return 1;
}

/* The process with the most energy during the hot spell. */
static int find_culprit(struct store *s, struct report_hot *spell, int64_t gpu_id, struct error *err)
{
    const struct store_span span = {
        .gpu_id = gpu_id, .since_ms = spell->since.ms, .until_ms = spell->until.ms, .within = true, .limit = 1};
    return store_process_runs(s, &span, see_run, spell, err);
}

/* One piece, by hour or by minute. */
static int read_piece(struct store *s, struct card_courses *all, int64_t from_ms, int64_t to_ms, bool by_hours, struct error *err)
{
    size_t columns[COL_COUNT];
    int64_t subjects[GPU_MAX];
    for (size_t i = 0; i < COL_COUNT; i++)
        columns[i] = (size_t)series_find(SERIES_GPU, column_names[i]);
    for (size_t i = 0; i < all->count; i++)
        subjects[i] = all->list[i].gpu->id;
    const struct store_plot plot = {.series = SERIES_GPU,
                                    .subjects = subjects,
                                    .subject_count = all->count,
                                    .since_ms = from_ms,
                                    .until_ms = to_ms,
                                    .step_ms = level_ms(by_hours ? LEVEL_HOUR : LEVEL_MINUTE),
                                    .columns = columns,
                                    .column_count = COL_COUNT,
                                    .wanted = wanted};
    enum level level;
    store_plan(s, &plot, &all->step_ms, &level);
    int rc = all->step_ms == HOUR_MS ? read_hours(s, all, subjects, from_ms, to_ms, err) : 0;
    if (rc == 0)
        rc = store_series(s, &plot, take_point, all, err);
    forget_hours(all);
    return rc;
}

/* By hour, except for hours that are not aggregated yet. */
static int read_settled(struct store *s, struct card_courses *all, int64_t from_ms, int64_t to_ms, struct error *err)
{
    struct hour_segments segments;
    int rc = store_hour_segments(s, from_ms / MINUTE_MS, (to_ms + MINUTE_MS - 1) / MINUTE_MS, 1, &segments, err);
    for (size_t i = 0; rc == 0 && i < segments.count; i++) {
        const struct hour_segment *g = &segments.list[i];
        rc = read_piece(s, all, MAX_OF(g->from * MINUTE_MS, from_ms), MIN_OF(g->to * MINUTE_MS, to_ms), g->hours, err);
    }
    return rc;
}

static int read_points(struct store *s, void *courses, struct error *err)
{
    struct card_courses *all = courses;
    const struct report *r = all->report;
    int rc = 0;
    if (!all->count)
        return 0;
    /* Pieces end on whole hours, so that no step counts twice. */
    for (int64_t from = r->since.ms; rc == 0 && from < r->until.ms;) {
        bool by_hours = from < r->until.ms - MINUTES_MAX_MS;
        int64_t to = MIN_OF(from / HOUR_MS * HOUR_MS + (by_hours ? 12 : 1) * (int64_t)PIECE_MS, r->until.ms);
        rc = by_hours ? read_settled(s, all, from, to, err) : read_piece(s, all, from, to, false, err);
        from = to;
    }
    return rc;
}

/* The longest spells of all GPUs, and their processes. */
static int take_spells(struct store *s, struct report *r, struct card_courses *all, struct error *err)
{
    int rc = 0;
    for (size_t i = 0; i < all->count; i++)
        for (size_t k = 0; k < all->list[i].spells.count; k++)
            keep_spell(&all->list[i].spells.list[k], r->hot, &r->hot_count);
    for (size_t i = 0; i < all->count; i++)
        for (size_t k = 0; rc == 0 && k < r->hot_count; k++)
            if (r->hot[k].gpu_index == all->list[i].gpu->index && !r->hot[k].process[0])
                rc = find_culprit(s, &r->hot[k], all->list[i].gpu->id, err);
    return rc;
}

/* Whether there are enough minutes to make another connection worthwhile. */
static bool are_many(const struct card_courses *all)
{
    const int64_t many_ms = 14LL * 86400 * 1000;
    int64_t span_ms = all->report->until.ms - all->report->since.ms;
    return all->count > 1 && span_ms > many_ms && span_ms <= MINUTES_MAX_MS;
}

/* Two connections handle half of the GPUs each. */
static int read_halves(struct store *s, const struct card_courses *all, struct error *err)
{
    size_t middle = parallel_query_is_faster(s) && are_many(all) ? all->count / 2 : all->count;
    struct card_courses first = {.report = all->report, .list = all->list, .count = middle};
    struct card_courses second = {.report = all->report, .list = all->list + middle, .count = all->count - middle};
    return second.count ? parallel_query_both(s, read_points, &first, read_points, &second, err) : read_points(s, &first, err);
}

int report_cards(struct store *s, struct report *r, struct error *err)
{
    struct card_courses all = {.report = r, .count = r->gpu_count};
    AUTO_FREE struct card_course *list = all.list = calloc(all.count + 1, sizeof *list);
    if (!list)
        return error_set(err, -ENOMEM, "out of memory");
    for (size_t i = 0; i < all.count; i++)
        list[i] = (struct card_course){.gpu = &r->gpus[i], .report = r, .from_ms = report_watched_from(r, &r->gpus[i])};
    int rc = read_halves(s, &all, err);
    for (size_t i = 0; i < all.count; i++) {
        end_spell(&list[i]);
        if (list[i].utils)
            r->gpus[i].util_permille = reading_ok(list[i].util_sum / list[i].utils);
    }
    return rc < 0 ? rc : take_spells(s, r, &all, err);
}
