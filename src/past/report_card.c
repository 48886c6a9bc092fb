/* SPDX-License-Identifier: Apache-2.0
 * One card's hours, load and hot spells, from its minutes.
 */
#include <string.h>

#include "base/cleanup.h"
#include "past/report.h"

/* A plot has at most QUERY_POINTS_MAX points: longer times are read in pieces. */
enum { PIECE_MS = 5 * 86400 * 1000, SPELL_GAP_STEPS = 2 };
/* Of a time that is longer than this, what lies before its last days is read from hours. */
#define MINUTES_MOST_MS (31LL * 86400 * 1000)

static const char *const column_names[] = {"util_permille", "temp_mdegc", "throttle_bits", "power_mw"};
enum { COL_UTIL, COL_TEMP, COL_THROTTLE, COL_POWER, COL_COUNT };

struct card_course {
    struct store *s;
    struct report_gpu *gpu;
    struct report *report;
    int64_t step_ms;
    int64_t from_ms;         /* nothing is known from before */
    int64_t utils, util_sum; /* weighed by steps */
    struct report_hot spell; /* the one that lasts; until.ms 0: none */
    double slowed_ms;
};

/* Into the list of the longest. */
static void end_spell(struct card_course *c)
{
    struct report *r = c->report;
    struct report_hot *spell = &c->spell;
    if (!spell->until.ms)
        return;
    int64_t lasted = spell->until.ms - spell->since.ms;
    spell->slowed = lasted > 0 ? MIN_OF(c->slowed_ms / (double)lasted, 1.0) : 0;
    size_t at = r->hot_count;
    if (at == REPORT_HOT_MAX) {
        for (size_t i = at = 0; i < r->hot_count; i++)
            if (r->hot[i].until.ms - r->hot[i].since.ms < r->hot[at].until.ms - r->hot[at].since.ms)
                at = i;
        if (r->hot[at].until.ms - r->hot[at].since.ms >= lasted)
            at = REPORT_HOT_MAX;
    } else {
        r->hot_count++;
    }
    if (at < REPORT_HOT_MAX)
        r->hot[at] = *spell;
    *spell = (struct report_hot){0};
    c->slowed_ms = 0;
}

/* How much of a step was asked about: its edges may lie outside. */
static int64_t known_ms(const struct card_course *c, const struct store_point *point)
{
    return MAX_OF(MIN_OF(point->at.ms + c->step_ms, c->report->until.ms) - MAX_OF(point->at.ms, c->from_ms), (int64_t)0);
}

static void note_heat(struct card_course *c, const struct store_point *point)
{
    const struct aggregate *temp = &point->values[COL_TEMP], *throttle = &point->values[COL_THROTTLE];
    struct report_hot *spell = &c->spell;
    if (spell->until.ms && point->at.ms - spell->until.ms > SPELL_GAP_STEPS * c->step_ms)
        end_spell(c);
    if (!temp->count || temp->max < c->report->hot_mdegc)
        return;
    if (!spell->until.ms)
        *spell = (struct report_hot){.gpu_index = c->gpu->index, .since = {MAX_OF(point->at.ms, c->from_ms)}};
    spell->until = (struct wall){MIN_OF(point->at.ms + c->step_ms, c->report->until.ms)};
    spell->resolution_ms = MAX_OF(spell->resolution_ms, c->step_ms);
    spell->temp_max_mdegc = MAX_OF(spell->temp_max_mdegc, temp->max);
    if (throttle->count)
        c->slowed_ms += (double)throttle->sum / (double)throttle->count * (double)known_ms(c, point);
}

static int note_step(void *user, const struct store_point *point)
{
    struct card_course *c = user;
    const struct aggregate *util = &point->values[COL_UTIL], *temp = &point->values[COL_TEMP];
    double hours = (double)known_ms(c, point) / 3600000;
    c->gpu->hours += hours;
    if (util->count) {
        int64_t mean = util->sum / util->count;
        c->util_sum += mean;
        c->utils++;
        if (mean >= PROCESS_BUSY_LEAST)
            c->gpu->busy_hours += hours;
        const struct aggregate *power = &point->values[COL_POWER];
        if (mean < PROCESS_IDLE_MOST && power->count) {
            c->gpu->idle_hours += hours;
            c->gpu->idle_mj += power->sum / power->count * known_ms(c, point) / 1000;
        }
    }
    if (temp->count)
        c->gpu->temp_max_mdegc = reading_ok(MAX_OF(reading_or(c->gpu->temp_max_mdegc, INT64_MIN), temp->max));
    note_heat(c, point);
    return 0;
}

static int see_life(void *user, const struct store_life *life)
{
    struct report_hot *spell = user;
    str_copy(spell->process, sizeof spell->process, str_from(life->process.name));
    str_copy(spell->user, sizeof spell->user, str_from(life->process.user));
    return 1;
}

/* Who was given most of the energy while it was hot. */
static int find_culprit(struct store *s, struct report_hot *spell, int64_t gpu_id, struct error *err)
{
    const struct store_span span = {
        .gpu_id = gpu_id, .since_ms = spell->since.ms, .until_ms = spell->until.ms, .within = true, .limit = 1};
    return store_lives(s, &span, see_life, spell, err);
}

int report_card(struct store *s, struct report_gpu *gpu, struct report *r, struct error *err)
{
    size_t columns[COL_COUNT];
    struct card_course c = {.s = s, .gpu = gpu, .report = r, .from_ms = MAX_OF(r->since.ms, gpu->first_seen.ms)};
    int rc = 0;
    for (size_t i = 0; i < COL_COUNT; i++)
        columns[i] = (size_t)series_find(SERIES_GPU, column_names[i]);
    /* Pieces end on whole hours, so that no step is counted in two of them. */
    for (int64_t from = r->since.ms; rc == 0 && from < r->until.ms;) {
        bool by_hours = from < r->until.ms - MINUTES_MOST_MS;
        int64_t to = MIN_OF((from / 3600000) * 3600000 + (by_hours ? 12 : 1) * (int64_t)PIECE_MS, r->until.ms);
        struct store_plot plot = {.series = SERIES_GPU,
                                  .subject = gpu->id,
                                  .since_ms = from,
                                  .until_ms = to,
                                  .step_ms = level_ms(by_hours ? LEVEL_HOUR : LEVEL_MINUTE),
                                  .columns = columns,
                                  .column_count = COL_COUNT};
        enum level level;
        store_plan(s, &plot, &c.step_ms, &level);
        rc = store_series(s, &plot, note_step, &c, err);
        from = to;
    }
    end_spell(&c);
    if (c.utils)
        gpu->util_permille = reading_ok(c.util_sum / c.utils);
    for (size_t i = 0; rc == 0 && i < r->hot_count; i++)
        if (r->hot[i].gpu_index == gpu->index && !r->hot[i].process[0])
            rc = find_culprit(s, &r->hot[i], gpu->id, err);
    return rc;
}
