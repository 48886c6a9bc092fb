/* SPDX-License-Identifier: Apache-2.0
 * Learning: rows become days, days become bands; each day has one value for each tenth of the power limit.
 */
#include "insight/baseline/baseline.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "base/words.h"
#include "insight/facts/levels.h"

/* ---- what a learner remembers: one record for each day ---- */

struct mean {
    int64_t sum, minutes; /* the sum is weighted by minutes */
};

static void mean_add(struct mean *m, int64_t value, int64_t minutes)
{
    m->sum += value * minutes;
    m->minutes += minutes;
}

static void mean_merge(struct mean *to, const struct mean *m)
{
    to->sum += m->sum;
    to->minutes += m->minutes;
}

static inline int64_t mean_of(const struct mean *m)
{
    return m->minutes ? m->sum / m->minutes : 0;
}

struct day {
    int64_t number; /* since 1970, local */
    struct mean power[BASELINE_BINS], temp[BASELINE_BINS], fan[BASELINE_BINS], rise[BASELINE_BINS];
    struct mean util[24];
    struct mean idle_power, idle_temp, idle_clock_graphics, idle_clock_memory;
};

struct baseline_learner {
    int64_t zone_ms, limit_mw;
    enum baseline_start start;
    struct wall since, until;
    struct wall changed_at; /* since when the limit is another */
    int changed_minutes;
    int64_t stretch, stretch_sum; /* minutes of the same power */
    struct wall last_at, idle_at;
    int idle_minutes;
    bool suspect; /* the fan was another on suspect_day */
    int64_t suspect_day;
    size_t level_count;
    struct {
        int64_t clock_khz;
        struct mean power;
    } levels[BASELINE_LEVELS];
    size_t day_count;
    struct day days[BASELINE_DAYS_MAX];
};

/* Its tenth of the limit. */
static int baseline_bin(int64_t power_mw, int64_t limit_mw)
{
    int64_t bin = power_mw * BASELINE_BINS / limit_mw;
    return (int)(bin < 0 ? 0 : bin >= BASELINE_BINS ? BASELINE_BINS - 1 : bin);
}

/* Steps of memory clocks are further apart than 2%. */
static bool baseline_same_clock(int64_t a, int64_t b)
{
    return llabs(a - b) * 50 <= MAX_OF(a, b);
}

/* ---- dust ----
 * A slow rise of the temperature, or of the fan, at the same power. The slope is the median of the slopes between all pairs of days
 * (Theil-Sen), and it counts only where the days rise in order far more often than chance would (Mann-Kendall): a hot week in
 * summer is neither. */

enum { MONTH_DAYS = 30, RISE_LEAST_MDEGC = 3000, RISE_STRONG_MDEGC = 8000, RISE_LEAST_PERMILLE = 100, RISE_STRONG_PERMILLE = 250 };
enum { ROOM_LEAST_MDEGC = 1000 };
#define ORDER_LEAST 4.0
#define ORDER_STRONG 6.0

struct trend {
    int days;
    int64_t first, last; /* numbers of days */
    double slope, order; /* a day; in standard deviations of chance */
};

/* The value that would be at `nth` if they were sorted, in the time of reading them a few times: of a year there are 66,000. */
static double select_nth(double *values, ptrdiff_t count, ptrdiff_t nth)
{
    for (ptrdiff_t low = 0, high = count - 1; low < high;) {
        double pivot = values[nth];
        ptrdiff_t i = low, k = high;
        while (i <= k) {
            while (values[i] < pivot)
                i++;
            while (values[k] > pivot)
                k--;
            if (i > k)
                break;
            double swapped = values[i];
            values[i++] = values[k];
            values[k--] = swapped;
        }
        low = k < nth ? i : low;
        high = nth < i ? k : high;
    }
    return values[nth];
}

static struct trend trend_of(const struct baseline_learner *l, size_t offset)
{
    struct trend t = {0};
    double day[BASELINE_DAYS_MAX], value[BASELINE_DAYS_MAX];
    for (size_t i = 0; i < l->day_count; i++) {
        const struct mean *m = (const struct mean *)((const char *)&l->days[i] + offset);
        if (!m->minutes)
            continue;
        day[t.days] = (double)l->days[i].number;
        value[t.days++] = (double)mean_of(m);
    }
    if (t.days < BASELINE_DRIFT_DAYS)
        return t;
    t.first = (int64_t)day[0];
    t.last = (int64_t)day[t.days - 1];
    size_t pairs = (size_t)t.days * (size_t)(t.days - 1) / 2, n = 0;
    AUTO_FREE double *slopes = malloc(pairs * sizeof *slopes);
    if (!slopes)
        return (struct trend){0};
    double sign = 0;
    for (int i = 0; i < t.days; i++)
        for (int k = i + 1; k < t.days; k++) {
            slopes[n++] = (value[k] - value[i]) / (day[k] - day[i]);
            sign += (value[k] > value[i]) - (value[k] < value[i]);
        }
    t.slope = select_nth(slopes, (ptrdiff_t)pairs, (ptrdiff_t)(pairs / 2));
    double d = t.days;
    t.order = sign / sqrt(d * (d - 1) * (2 * d + 5) / 18);
    return t;
}

static bool rises(const struct trend *t, double slope, double least, double order)
{
    return t->days >= BASELINE_DRIFT_DAYS && t->last - t->first >= BASELINE_DRIFT_SPAN_DAYS && t->order >= order &&
           slope * (double)(t->last - t->first) >= least;
}

/* The power at which it worked on most days, not the one of rest. */
static int busiest_bin(const struct baseline_learner *l)
{
    int best = -1, best_days = 0;
    for (int bin = 2; bin < BASELINE_BINS; bin++) {
        int days = 0;
        for (size_t i = 0; i < l->day_count; i++)
            days += l->days[i].temp[bin].minutes > 0;
        if (days >= best_days && days > 0) {
            best = bin;
            best_days = days;
        }
    }
    return best;
}

static int64_t mean_power(const struct baseline_learner *l, int bin)
{
    struct mean all = {0};
    for (size_t i = 0; i < l->day_count; i++)
        mean_merge(&all, &l->days[i].power[bin]);
    return mean_of(&all);
}

/* How much of the rise is the room's: the sensor of the air tells it, on days that have one; else the idle GPU, which a room that
 * gets warmer warms by as much. Where the air is known, the order of the days is that of the rise above it. */
static double room_slope(const struct baseline_learner *l, size_t step, struct trend *temp, bool *air_known)
{
    struct trend above_air = trend_of(l, offsetof(struct day, rise) + step);
    if (above_air.days >= BASELINE_DRIFT_DAYS && above_air.last - above_air.first >= BASELINE_DRIFT_SPAN_DAYS) {
        double room = temp->slope - above_air.slope;
        *air_known = true;
        temp->order = above_air.order;
        return room * (double)(temp->last - temp->first) >= ROOM_LEAST_MDEGC ? room : 0;
    }
    struct trend idle = trend_of(l, offsetof(struct day, idle_temp));
    return idle.order >= ORDER_LEAST ? MAX_OF(idle.slope, 0.0) : 0;
}

static void baseline_find_drift(const struct baseline_learner *l, struct baseline_drift *ret)
{
    *ret = (struct baseline_drift){0};
    int bin = busiest_bin(l);
    if (bin < 0)
        return;
    size_t step = (size_t)bin * sizeof(struct mean);
    struct trend temp = trend_of(l, offsetof(struct day, temp) + step), fan = trend_of(l, offsetof(struct day, fan) + step);
    double room = room_slope(l, step, &temp, &ret->air_known), slope = temp.slope - room;
    bool hotter = rises(&temp, slope, RISE_LEAST_MDEGC, ORDER_LEAST);
    bool faster = room <= 0 && rises(&fan, fan.slope, RISE_LEAST_PERMILLE, ORDER_LEAST);
    ret->days = MAX_OF(temp.days, fan.days);
    if (!hotter && !faster)
        return;
    ret->rising = true;
    ret->strong = (hotter && rises(&temp, slope, RISE_STRONG_MDEGC, ORDER_STRONG)) ||
                  (faster && rises(&fan, fan.slope, RISE_STRONG_PERMILLE, ORDER_STRONG));
    ret->since = (struct wall){(hotter ? temp.first : fan.first) * 86400000};
    ret->until = (struct wall){(hotter ? temp.last : fan.last) * 86400000};
    ret->power_mw = mean_power(l, bin);
    ret->mdegc_per_month = hotter ? (int64_t)(slope * MONTH_DAYS) : 0;
    ret->fan_permille_per_month = faster ? (int64_t)(fan.slope * MONTH_DAYS) : 0;
}

const char *baseline_drift_words(const struct baseline_drift *d, char out[DRIFT_WORDS])
{
    static const char *const months[] = {"January", "February", "March",     "April",   "May",      "June",
                                         "July",    "August",   "September", "October", "November", "December"};
    time_t seconds = (time_t)(d->since.ms / 1000);
    struct tm tm = {0};
    char year[16] = "", rise[48];
    out[0] = '\0';
    if (!d->rising)
        return out;
    gmtime_r(&seconds, &tm);
    if ((d->until.ms - d->since.ms) / 86400000 > 300)
        snprintf(year, sizeof year, " %d", 1900 + tm.tm_year);
    if (d->mdegc_per_month)
        snprintf(rise, sizeof rise, "%.2g °C more", (double)d->mdegc_per_month / 1000);
    else
        snprintf(rise, sizeof rise, "%.2g%% more fan speed", (double)d->fan_permille_per_month / 10);
    snprintf(out, DRIFT_WORDS, "%s each month at %lld W since %s%s%s", rise, words_whole(d->power_mw, 1000), months[tm.tm_mon % 12],
             year, d->elsewhere ? ", as on other GPUs of this host" : "");
    return out;
}

/* ---- idle power at each memory clock ---- */

enum {
    STEP_MINUTES_LEAST = 3,   /* on each side of a step */
    LEVEL_MINUTES_LEAST = 10, /* at a clock */
};

/* ---- by memory clock ---- */

static void baseline_add_level(struct baseline_learner *l, const struct baseline_row *row)
{
    int64_t clock, power;
    if (!reading_get(row->clock_memory_khz, &clock) || clock <= 0 || !reading_get(row->power_mw, &power))
        return;
    size_t at = 0;
    while (at < l->level_count && !baseline_same_clock(l->levels[at].clock_khz, clock))
        at++;
    if (at == ARRAY_LEN(l->levels)) /* clocks come in a few steps; whatever else a mean of two of them gives is not one */
        return;
    if (at == l->level_count)
        l->levels[l->level_count++].clock_khz = clock;
    mean_add(&l->levels[at].power, power, row->minutes);
}

static void baseline_conclude_levels(const struct baseline_learner *l, struct baseline *ret)
{
    for (size_t i = 0; i < l->level_count; i++)
        if (l->levels[i].power.minutes >= LEVEL_MINUTES_LEAST)
            ret->levels[ret->level_count++] =
                (struct baseline_level){.clock_khz = l->levels[i].clock_khz, .power_mw = mean_of(&l->levels[i].power)};
}

/* ---- by process ---- */

bool baseline_step(const struct baseline_row *rows, size_t count, int64_t from_ms, int64_t came_ms, int64_t until_ms,
                   struct baseline_step *ret)
{
    struct mean before = {0}, since = {0};
    for (size_t i = 1; i < count; i++) {
        int64_t util, earlier, power, at = rows[i].at.ms;
        if (at - rows[i - 1].at.ms > 2 * MINUTE_MS) { /* no sample meanwhile: whatever else changed then is not known */
            if (rows[i - 1].at.ms >= came_ms)
                break;
            before = (struct mean){0};
        }
        /* The minute after a working one still cools down. */
        if (!reading_get(rows[i - 1].util_permille, &earlier) || earlier > IDLE_MAX || !reading_get(rows[i].util_permille, &util) ||
            util > IDLE_MAX || !reading_get(rows[i].power_mw, &power))
            continue;
        struct mean *side = at >= from_ms && at + MINUTE_MS <= came_ms                ? &before
                            : at >= came_ms + MINUTE_MS && at + MINUTE_MS <= until_ms ? &since
                                                                                      : NULL;
        if (side)
            mean_add(side, power, 1);
    }
    if (before.minutes < STEP_MINUTES_LEAST || since.minutes < STEP_MINUTES_LEAST)
        return false;
    ret->before_mw = mean_of(&before);
    ret->since_mw = mean_of(&since);
    return true;
}

/* ---- learning ---- */

enum {
    GAP_MS = 150000,      /* between minutes: what is further apart is not one stretch */
    STEADY_PERMILLE = 75, /* of the limit, either way of the stretch's mean */
    LIMIT_CHANGED_MINUTES = 30,
    CURVE_SHIFT_PERMILLE = 80, /* of fan speed at the same power */
    CURVE_DAYS = 7,            /* a day is compared with the week before it: a slow drift is no new curve */
    CURVE_MINUTES_LEAST = 30,
    CURVE_HEAT_MDEGC = 1000, /* warmer by more: the fan follows the heat */
};

static void learn_add(struct mean *m, struct reading r, int minutes)
{
    int64_t value;
    if (reading_get(r, &value))
        mean_add(m, value, minutes);
}

struct baseline_learner *baseline_learner_new(int64_t zone_ms)
{
    struct baseline_learner *l = calloc(1, sizeof *l);
    if (l)
        l->zone_ms = zone_ms;
    return l;
}

void baseline_learner_free(struct baseline_learner *l)
{
    free(l);
}

static void forget_before(struct baseline_learner *l, size_t first)
{
    memmove(&l->days[0], &l->days[first], (l->day_count - first) * sizeof l->days[0]);
    l->day_count -= first;
}

/* ---- a new fan curve ---- */

/* Whether the fan turns at another speed than in the days before at the same power, and the temperature does not explain it: dust
 * raises both, a faster fan cools. False without enough to compare: *told. */
static bool curve_differs(const struct baseline_learner *l, size_t at, bool *told)
{
    const struct day *day = &l->days[at];
    size_t first = at > CURVE_DAYS ? at - CURVE_DAYS : 0;
    int64_t fan = 0, temp = 0, minutes = 0;
    for (int bin = 0; bin < BASELINE_BINS; bin++) {
        struct mean fan_before = {0}, temp_before = {0};
        for (size_t i = first; i < at; i++) {
            mean_merge(&fan_before, &l->days[i].fan[bin]);
            mean_merge(&temp_before, &l->days[i].temp[bin]);
        }
        int64_t weight = day->fan[bin].minutes;
        int64_t shift = mean_of(&day->fan[bin]) - mean_of(&fan_before);
        if (fan_before.minutes < CURVE_MINUTES_LEAST || weight < CURVE_MINUTES_LEAST)
            continue;
        *told = true;
        if (llabs(shift) < CURVE_SHIFT_PERMILLE)
            continue;
        fan += shift * weight;
        temp += (mean_of(&day->temp[bin]) - mean_of(&temp_before)) * weight;
        minutes += weight;
    }
    if (!minutes)
        return false;
    return llabs(fan / minutes) >= CURVE_SHIFT_PERMILLE && (fan > 0 ? temp : -temp) / minutes <= CURVE_HEAT_MDEGC;
}

/* Two days in a row that shift the same way: one may be a person who played with the fan. */
static void close_day(struct baseline_learner *l)
{
    bool told = false;
    if (l->day_count < 2)
        return;
    size_t at = l->day_count - 1, first = at;
    if (!l->suspect) {
        l->suspect = curve_differs(l, at, &told);
        l->suspect_day = l->days[at].number;
        return;
    }
    /* Held against the time before the first suspicious day. */
    while (first > 0 && l->days[first - 1].number >= l->suspect_day)
        first--;
    struct day kept = l->days[first];
    l->days[first] = l->days[at];
    bool differs = curve_differs(l, first, &told);
    l->days[first] = kept;
    l->suspect = !told;
    if (!differs)
        return;
    forget_before(l, first);
    l->start = BASELINE_NEW_FAN_CURVE;
    l->since = (struct wall){l->suspect_day * DAY_MS - l->zone_ms};
}

/* ---- rows ---- */

static struct day *day_of(struct baseline_learner *l, struct wall at)
{
    int64_t number = (at.ms + l->zone_ms) / DAY_MS;
    if (l->day_count && l->days[l->day_count - 1].number == number)
        return &l->days[l->day_count - 1];
    close_day(l);
    if (l->day_count == BASELINE_DAYS_MAX)
        forget_before(l, 1);
    l->days[l->day_count] = (struct day){.number = number};
    return &l->days[l->day_count++];
}

/* True: the row belongs to a limit that may be about to become the new one. */
static bool limit_changes(struct baseline_learner *l, const struct baseline_row *row)
{
    int64_t limit;
    if (!reading_get(row->power_limit_mw, &limit) || limit <= 0)
        return false;
    if (!l->limit_mw)
        l->limit_mw = limit;
    if (llabs(limit - l->limit_mw) * 50 <= l->limit_mw) {
        l->changed_minutes = 0;
        return false;
    }
    if (!l->changed_minutes)
        l->changed_at = row->at;
    l->changed_minutes += row->minutes;
    if (l->changed_minutes < LIMIT_CHANGED_MINUTES)
        return true;
    forget_before(l, l->day_count);
    l->limit_mw = limit;
    l->changed_minutes = l->stretch = 0;
    l->suspect = false;
    l->start = BASELINE_NEW_LIMIT;
    l->since = l->changed_at;
    return false;
}

/* Minutes of the same power up to this row; an hour says it by its extremes. */
static bool is_steady(struct baseline_learner *l, const struct baseline_row *row, int64_t power)
{
    int64_t room = l->limit_mw * STEADY_PERMILLE / 1000, least, most;
    if (row->minutes > 1)
        return reading_get(row->power_min_mw, &least) && reading_get(row->power_max_mw, &most) && most - least <= 2 * room;
    bool goes_on = l->stretch && row->at.ms - l->last_at.ms <= GAP_MS && llabs(power - l->stretch_sum / l->stretch) <= room;
    if (!goes_on)
        l->stretch = l->stretch_sum = 0;
    l->stretch++;
    l->stretch_sum += power;
    l->last_at = row->at;
    return l->stretch > BASELINE_STEADY_MINUTES;
}

static bool is_idle(struct baseline_learner *l, const struct baseline_row *row)
{
    int64_t util;
    bool idle = reading_get(row->util_permille, &util) && util <= IDLE_MAX;
    bool goes_on = idle && row->at.ms - l->idle_at.ms <= GAP_MS;
    l->idle_minutes = !idle ? 0 : goes_on || row->minutes > 1 ? l->idle_minutes + row->minutes : row->minutes;
    l->idle_at = row->at;
    return l->idle_minutes > BASELINE_STEADY_MINUTES;
}

void baseline_learn(struct baseline_learner *l, const struct baseline_row *row)
{
    int64_t power;
    if (!l->since.ms)
        l->since = row->at;
    l->until = row->at;
    if (limit_changes(l, row))
        return;
    struct day *day = day_of(l, row->at);
    /* Where local time is off by half an hour, an hour counts for the one in which it begins. */
    learn_add(&day->util[(row->at.ms + l->zone_ms) / HOUR_MS % 24], row->util_permille, row->minutes);
    if (is_idle(l, row)) {
        learn_add(&day->idle_power, row->power_mw, row->minutes);
        learn_add(&day->idle_temp, row->temp_mdegc, row->minutes);
        learn_add(&day->idle_clock_graphics, row->clock_graphics_khz, row->minutes);
        learn_add(&day->idle_clock_memory, row->clock_memory_khz, row->minutes);
        baseline_add_level(l, row);
    }
    if (!l->limit_mw || !reading_get(row->power_mw, &power) || power < 0 || !is_steady(l, row, power))
        return;
    int bin = baseline_bin(power, l->limit_mw);
    learn_add(&day->power[bin], row->power_mw, row->minutes);
    learn_add(&day->temp[bin], row->temp_mdegc, row->minutes);
    learn_add(&day->fan[bin], row->fan_permille, row->minutes);
    int64_t temp, air;
    if (reading_get(row->temp_mdegc, &temp) && reading_get(row->ambient_mdegc, &air))
        learn_add(&day->rise[bin], reading_ok(temp - air), row->minutes);
}

/* ---- bands ---- */

static int ascending(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

void baseline_band_of(int64_t *values, int days, struct baseline_band *ret)
{
    *ret = (struct baseline_band){.days = days};
    if (days < BASELINE_DAYS_NEEDED)
        return;
    qsort(values, (size_t)days, sizeof values[0], ascending);
    ret->low = values[days / 10];
    ret->typical = values[days / 2];
    ret->high = values[days - 1 - days / 10];
}

/* offset: of a struct mean within struct day */
static void band(const struct baseline_learner *l, size_t offset, struct baseline_band *ret)
{
    int64_t values[BASELINE_DAYS_MAX];
    int n = 0;
    for (size_t i = 0; i < l->day_count; i++) {
        const struct mean *m = (const struct mean *)((const char *)&l->days[i] + offset);
        if (m->minutes)
            values[n++] = mean_of(m);
    }
    baseline_band_of(values, n, ret);
}

void baseline_conclude(struct baseline_learner *l, struct baseline *ret)
{
    *ret = (struct baseline){
        .start = l->start, .since = l->since, .until = l->until, .days = (int)l->day_count, .power_limit_mw = l->limit_mw};
    for (size_t i = 0; i < BASELINE_BINS; i++) {
        band(l, offsetof(struct day, temp) + i * sizeof(struct mean), &ret->temp_mdegc[i]);
        band(l, offsetof(struct day, fan) + i * sizeof(struct mean), &ret->fan_permille[i]);
        band(l, offsetof(struct day, rise) + i * sizeof(struct mean), &ret->rise_mdegc[i]);
    }
    for (size_t i = 0; i < ARRAY_LEN(ret->util_permille); i++)
        band(l, offsetof(struct day, util) + i * sizeof(struct mean), &ret->util_permille[i]);
    band(l, offsetof(struct day, idle_power), &ret->idle_power_mw);
    band(l, offsetof(struct day, idle_temp), &ret->idle_temp_mdegc);
    band(l, offsetof(struct day, idle_clock_graphics), &ret->idle_clock_graphics_khz);
    band(l, offsetof(struct day, idle_clock_memory), &ret->idle_clock_memory_khz);
    baseline_conclude_levels(l, ret);
    baseline_find_drift(l, &ret->drift);
}

const char *baseline_start_name(enum baseline_start start)
{
    return start == BASELINE_NEW_LIMIT ? "power_limit" : start == BASELINE_NEW_FAN_CURVE ? "fan_curve" : "first";
}

/* ---- a moment held against what was learned: without enough days nothing is usual, and nothing unusual ---- */

enum {
    HOT_ABOVE_BAND_MDEGC = 4000, /* above what nine days of ten reach, */
    HOT_ABOVE_MDEGC = 8000,      /* and above the middle */
    FAN_ABOVE_PERMILLE = 200,
    FAN_BEHIND_PERMILLE = 150,
    IDLE_ABOVE_MW = 5000,
    ROOM_MAX_MDEGC = 27000,   /* of an ordinary room */
    ALIKE_LEAST_MDEGC = 4000, /* and at least half of what this GPU is hotter */
};

double baseline_confidence(int days)
{
    if (days < BASELINE_DAYS_NEEDED)
        return 0;
    return 0.6 + 0.35 * (double)MIN_OF(days - BASELINE_DAYS_NEEDED, 21) / 21;
}

/* NULL: none; b may be NULL */
static const struct baseline *baselines_find(const struct baselines *b, const struct gpu_id *id)
{
    for (size_t i = 0; b && i < b->count; i++) {
        const struct gpu_id *known = &b->list[i].id;
        if (id->uuid[0] ? strcmp(known->uuid, id->uuid) == 0
                        : id->pci_address[0] && strcmp(known->pci_address, id->pci_address) == 0)
            return &b->list[i];
    }
    return NULL;
}

static bool known(const struct baseline_band *band)
{
    return band->days >= BASELINE_DAYS_NEEDED;
}

static void judge_heat(const struct baseline *b, const struct gpu *gpu, struct reading ambient, struct usual *ret)
{
    int64_t power, limit, temp, fan;
    if (!reading_get(gpu->power_mw, &power) || power < 0 || !b->power_limit_mw)
        return;
    /* A limit that was just changed has no baseline yet. */
    if (reading_get(gpu->power_limit_mw, &limit) &&
        (limit - b->power_limit_mw > b->power_limit_mw / 50 || b->power_limit_mw - limit > b->power_limit_mw / 50))
        return;
    int bin = baseline_bin(power, b->power_limit_mw);
    /* A GPU that throttles draws less than it ever did: what was usual at more power is a bound. */
    int at = bin;
    while (at < BASELINE_BINS && !known(&b->temp_mdegc[at]))
        at++;
    if (at == BASELINE_BINS)
        return;
    struct baseline_band warmed = b->rise_mdegc[at];
    const struct baseline_band *heat = &b->temp_mdegc[at], *speed = &b->fan_permille[at];
    int64_t air;
    /* In a warmer room a GPU is warmer by as much: not its fault, and not its cooling's. Where the air of then is not known, it was
     * that of an ordinary room. */
    bool measured = reading_get(ambient, &air), learned = known(&warmed), warm_room = measured && air > ROOM_MAX_MDEGC;
    if (measured && (learned || warm_room)) {
        warmed = learned ? warmed : *heat;
        int64_t more = learned ? air : air - ROOM_MAX_MDEGC;
        warmed.low += more;
        warmed.typical += more;
        warmed.high += more;
        heat = &warmed;
        ret->ambient_mdegc = ambient;
    }
    ret->at_more_power = at > bin;
    ret->days = heat->days;
    ret->temp_low_mdegc = reading_ok(heat->low);
    ret->temp_mdegc = reading_ok(heat->typical);
    ret->temp_high_mdegc = reading_ok(heat->high);
    if (reading_get(gpu->temp_mdegc, &temp))
        ret->too_hot = temp >= heat->high + HOT_ABOVE_BAND_MDEGC && temp >= heat->typical + HOT_ABOVE_MDEGC;
    if (!known(speed) || ret->at_more_power)
        return;
    ret->fan_permille = reading_ok(speed->typical);
    if (reading_get(gpu->fan_permille, &fan)) {
        ret->too_fast = fan >= speed->high + FAN_ABOVE_PERMILLE && !warm_room;
        ret->fan_behind = fan <= speed->typical - FAN_BEHIND_PERMILLE;
    }
}

static void judge_clock(const struct baseline *b, const struct gpu *gpu, struct usual *ret)
{
    const struct baseline_level *now = NULL, *low = NULL;
    int64_t clock;
    if (!reading_get(gpu->clock_memory_khz, &clock) || clock <= 0)
        return;
    for (size_t i = 0; i < b->level_count; i++) {
        if (baseline_same_clock(b->levels[i].clock_khz, clock))
            now = &b->levels[i];
        if (!low || b->levels[i].clock_khz < low->clock_khz)
            low = &b->levels[i];
    }
    if (!now || now == low)
        return;
    ret->at_clock = *now;
    ret->at_low_clock = *low;
}

static void judge_idle(const struct baseline *b, const struct gpu *gpu, struct usual *ret)
{
    int64_t power, util;
    if (!known(&b->idle_power_mw))
        return;
    if (!ret->days)
        ret->days = b->idle_power_mw.days;
    ret->idle_power_mw = reading_ok(b->idle_power_mw.typical);
    ret->idle_power_high_mw = reading_ok(b->idle_power_mw.high);
    int64_t room = MAX_OF((int64_t)IDLE_ABOVE_MW, b->idle_power_mw.high / 5);
    ret->idle_excess = reading_get(gpu->util_permille, &util) && util <= IDLE_MAX && reading_get(gpu->power_mw, &power) &&
                       power > b->idle_power_mw.high + room;
}

void baseline_judge(const struct baseline *b, const struct gpu *gpu, int hour, struct reading ambient, struct usual *ret)
{
    *ret = (struct usual){0};
    if (!b)
        return;
    ret->since = b->since;
    ret->start = b->start;
    ret->drift = b->drift;
    if (gpu->state == GPU_OK) {
        judge_heat(b, gpu, ambient, ret);
        judge_idle(b, gpu, ret);
        judge_clock(b, gpu, ret);
    }
    ret->step_count = b->step_count;
    memcpy(ret->steps, b->steps, sizeof ret->steps);
    if (hour >= 0 && hour < 24 && known(&b->util_permille[hour]))
        ret->util_permille = reading_ok(b->util_permille[hour].typical);
    ret->confidence = baseline_confidence(ret->days);
    if (!ret->days)
        ret->days = b->days;
}

static int64_t above_usual(const struct gpu *gpu, const struct usual *u)
{
    return gpu->temp_mdegc.value - u->temp_mdegc.value;
}

/* Without a sensor of the air, the other GPUs tell: when each of them is hotter than usual, too, it is the room or the case. */
static bool all_are_hotter(const struct baselines *all, const struct snapshot *now, const struct gpu *gpu, const struct usual *own)
{
    int64_t least = MAX_OF((int64_t)ALIKE_LEAST_MDEGC, above_usual(gpu, own) / 2);
    size_t alike = 0;
    for (size_t i = 0; i < now->gpu_count; i++) {
        const struct gpu *other = &now->gpus[i];
        struct usual u;
        if (other == gpu || other->temp_mdegc.state != READING_OK)
            continue;
        baseline_judge(baselines_find(all, &other->id), other, -1, reading_absent(READING_UNREAD), &u);
        if (u.temp_mdegc.state != READING_OK || u.at_more_power)
            continue;
        if (above_usual(other, &u) < least)
            return false;
        alike++;
    }
    return alike > 0;
}

/* Another GPU of the host that drifts at least half as fast. */
static bool drifts_elsewhere(const struct baselines *all, const struct baseline *b)
{
    for (size_t i = 0; i < all->count; i++) {
        const struct baseline_drift *d = &all->list[i].drift;
        if (&all->list[i] != b && d->rising && d->mdegc_per_month * 2 >= b->drift.mdegc_per_month)
            return true;
    }
    return false;
}

void baselines_judge(const struct baselines *all, const struct snapshot *now, const struct gpu *gpu, struct usual *ret)
{
    int hour = all && now->taken_at.ms > 0 ? (int)((now->taken_at.ms + all->zone_ms) / 3600000 % 24) : -1;
    const struct baseline *b = baselines_find(all, &gpu->id);
    baseline_judge(b, gpu, hour, now->host.ambient_temp_mdegc, ret);
    if (ret->too_hot && ret->ambient_mdegc.state != READING_OK && all_are_hotter(all, now, gpu, ret)) {
        ret->too_hot = false;
        ret->warm_room = true;
    }
    if (b && ret->drift.mdegc_per_month && !ret->drift.air_known && drifts_elsewhere(all, b)) {
        ret->drift.elsewhere = true;
        ret->drift.strong = false;
    }
}

const struct baseline_step *usual_step(const struct usual *u, int32_t pid)
{
    for (size_t i = 0; pid && i < u->step_count; i++)
        if (u->steps[i].pid == pid)
            return &u->steps[i];
    return NULL;
}
