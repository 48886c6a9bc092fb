/* SPDX-License-Identifier: Apache-2.0
 * Minutes where they are left, hours before that, given to the learner row by row.
 */
#include "past/usual.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/cleanup.h"

enum { DAY_MS = 86400000, MINUTE_MS = 60000, HOUR_MS = 3600000, REACH_DAYS = 400 };
/* So many points of one question stay below QUERY_POINTS_MAX. */
enum { PIECE_DAYS = 6 };

enum { POWER, LIMIT, TEMP, FAN, UTIL, CLOCK_GRAPHICS, CLOCK_MEMORY, COLUMNS };
static const char *const column_names[COLUMNS] = {[POWER] = "power_mw",
                                                  [LIMIT] = "power_limit_mw",
                                                  [TEMP] = "temp_mdegc",
                                                  [FAN] = "fan_permille",
                                                  [UTIL] = "util_permille",
                                                  [CLOCK_GRAPHICS] = "clock_graphics_khz",
                                                  [CLOCK_MEMORY] = "clock_memory_khz"};

struct learning {
    struct store *s;
    struct wall until;
    struct baselines *all;
    size_t columns[COLUMNS];
    struct baseline_learner *learner; /* of the GPU in hand */
    int minutes;                      /* that a point stands for */
    int64_t host_id;
    size_t air_column;
    struct air {
        int64_t at_ms, mdegc;
    } * air; /* around the host, of the piece in hand, oldest first */
    size_t air_count, air_next;
    struct error *err;
};

static struct reading mean(const struct aggregate *a)
{
    return a->count ? reading_ok(a->sum / a->count) : reading_absent(READING_UNREAD);
}

enum { AIR_MAX = PIECE_DAYS * 1440 + 2 };

static int take_air(void *user, const struct store_point *point)
{
    struct learning *l = user;
    const struct aggregate *a = &point->values[0];
    if (a->count && l->air_count < AIR_MAX)
        l->air[l->air_count++] = (struct air){point->at.ms, a->sum / a->count};
    return 0;
}

/* Points of both come in the order of time, at the same steps. */
static struct reading air_at(struct learning *l, int64_t at_ms)
{
    while (l->air_next < l->air_count && l->air[l->air_next].at_ms < at_ms)
        l->air_next++;
    return l->air_next < l->air_count && l->air[l->air_next].at_ms == at_ms ? reading_ok(l->air[l->air_next].mdegc)
                                                                            : reading_absent(READING_UNREAD);
}

static int take_point(void *user, const struct store_point *point)
{
    struct learning *l = user;
    const struct aggregate *v = point->values;
    const struct baseline_row row = {.at = point->at,
                                     .minutes = l->minutes,
                                     .power_mw = mean(&v[POWER]),
                                     .power_min_mw = v[POWER].count ? reading_ok(v[POWER].min) : mean(&v[POWER]),
                                     .power_max_mw = v[POWER].count ? reading_ok(v[POWER].max) : mean(&v[POWER]),
                                     .power_limit_mw = mean(&v[LIMIT]),
                                     .temp_mdegc = mean(&v[TEMP]),
                                     .fan_permille = mean(&v[FAN]),
                                     .util_permille = mean(&v[UTIL]),
                                     .clock_graphics_khz = mean(&v[CLOCK_GRAPHICS]),
                                     .clock_memory_khz = mean(&v[CLOCK_MEMORY]),
                                     .ambient_mdegc = air_at(l, point->at.ms)};
    baseline_learn(l->learner, &row);
    return 0;
}

static int learn_span(struct learning *l, int64_t gpu_id, int64_t since_ms, int64_t until_ms, int64_t step_ms)
{
    l->minutes = (int)(step_ms / MINUTE_MS);
    for (int64_t at = since_ms; at < until_ms; at += PIECE_DAYS * (int64_t)DAY_MS) {
        const struct store_plot plot = {.series = SERIES_GPU,
                                        .subject = gpu_id,
                                        .since_ms = at,
                                        .until_ms = MIN_OF(at + PIECE_DAYS * (int64_t)DAY_MS, until_ms),
                                        .step_ms = step_ms,
                                        .columns = l->columns,
                                        .column_count = COLUMNS};
        struct store_plot air = plot;
        air.series = SERIES_HOST;
        air.subject = l->host_id;
        air.columns = &l->air_column;
        air.column_count = 1;
        l->air_count = l->air_next = 0;
        int rc = store_series(l->s, &air, take_air, l, l->err);
        if (rc == 0)
            rc = store_series(l->s, &plot, take_point, l, l->err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

static int learn_gpu(void *user, const struct store_gpu *gpu)
{
    struct learning *l = user;
    if (l->all->count == GPU_MAX || gpu->last_seen.ms < l->until.ms - REACH_DAYS * (int64_t)DAY_MS)
        return 0;
    /* Whole hours, so that no row is learned twice. */
    int64_t since = MAX_OF(gpu->first_seen.ms, l->until.ms - REACH_DAYS * (int64_t)DAY_MS) / HOUR_MS * HOUR_MS;
    int64_t minutes_from = (store_horizon(l->s, SERIES_GPU, LEVEL_MINUTE) + HOUR_MS - 1) / HOUR_MS * HOUR_MS;
    minutes_from = MIN_OF(MAX_OF(minutes_from, since), l->until.ms);
    l->learner = baseline_learner_new(l->all->zone_ms);
    if (!l->learner)
        return error_set(l->err, -ENOMEM, "out of memory");
    int rc = learn_span(l, gpu->id, since, minutes_from, HOUR_MS);
    if (rc == 0)
        rc = learn_span(l, gpu->id, minutes_from, l->until.ms, MINUTE_MS);
    if (rc == 0) {
        struct baseline *b = &l->all->list[l->all->count++];
        baseline_conclude(l->learner, b);
        b->id = gpu->identity;
        rc = past_idle_steps(l->s, gpu->id, l->until, b, l->err);
    }
    baseline_learner_free(TAKE(l->learner));
    return rc;
}

int past_usual(struct store *s, const char *host, struct wall until, struct baselines **ret, struct error *err)
{
    AUTO_FREE struct baselines *all = calloc(1, sizeof *all);
    struct learning l = {.s = s, .until = until, .all = all, .err = err};
    time_t seconds = (time_t)(until.ms / MS_PER_S);
    struct tm tm = {0};
    if (!all)
        return error_set(err, -ENOMEM, "out of memory");
    if (localtime_r(&seconds, &tm))
        all->zone_ms = tm.tm_gmtoff * MS_PER_S;
    for (size_t i = 0; i < COLUMNS; i++)
        l.columns[i] = (size_t)series_find(SERIES_GPU, column_names[i]);
    AUTO_FREE struct air *air = calloc(AIR_MAX, sizeof *air);
    struct store_host known = {0};
    if (!air)
        return error_set(err, -ENOMEM, "out of memory");
    l.air = air;
    l.air_column = (size_t)series_find(SERIES_HOST, "ambient_temp_mdegc");
    int rc = store_find_host(s, host, &known, err);
    l.host_id = known.id;
    if (rc == 0)
        rc = store_gpus(s, host, learn_gpu, &l, err);
    if (rc < 0)
        return rc;
    *ret = TAKE(all);
    return 0;
}
