/* SPDX-License-Identifier: Apache-2.0
 * Dust: a slow rise of the temperature, or of the fan, at the same power. The slope is the median of the slopes between all pairs
 * of days (Theil-Sen), and it counts only where the days rise in order far more often than chance would (Mann-Kendall): a hot
 * week in summer is neither.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/words.h"
#include "insight/baseline/internal.h"

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
    for (size_t i = 0; i < l->day_count; i++) {
        all.sum += l->days[i].power[bin].sum;
        all.minutes += l->days[i].power[bin].minutes;
    }
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

void baseline_find_drift(const struct baseline_learner *l, struct baseline_drift *ret)
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
