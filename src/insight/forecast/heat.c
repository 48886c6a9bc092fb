/* SPDX-License-Identifier: Apache-2.0
 * When does a card get so hot that it slows itself down? Heat approaches a final value under the load of the moment; the question
 * is whether that lies above the limit.
 */
#include <math.h>

#include "base/cleanup.h"
#include "insight/forecast/internal.h"

/* Coolers of cards take half a minute to some minutes; what looks slower is the room. */
#define TAU_MIN_S 15.0
#define TAU_MAX_S 420.0
#define SPAN_MIN_S 10.0
/* So many degrees from the final value it has settled. */
#define SETTLED_C 1.5

/* What swings more than this around the curve does not follow it. */
#define NOISE_MAX_C 1.5
/* A rise is not drawn out further than so many times what was seen of it. */
#define REACH 1.3
/* How far below the limit the least of what fits may end, for a time to be said. */
#define UNSURE_C 2.0
#define WELL_KNOWN_C 12.0
/* A final value further beyond the limit than this is a curve, not a temperature. */
#define BEYOND_MAX_C 10.0
enum { NEWEST = 3, OFTEN = 3, OFTEN_MS = 180000 /* so many changes of load in so long */ };
/* A cooler is built so that the card stays below its limit; what was seen before at this power is better knowledge. */
#define DESIGN_MARGIN_C 15.0
#define DESIGN_SIGMA_C 12.0
#define SEEN_SIGMA_C 6.0
#define LEARN_SPAN_S 45.0

static int power_bin(const struct forecast_card *card)
{
    if (card->power_limit_w <= 0)
        return -1;
    int bin = (int)(card->power_w / card->power_limit_w * FORECAST_POWER_BINS);
    return bin < 0 ? 0 : MIN_OF(bin, FORECAST_POWER_BINS - 1);
}

static void expect(const struct forecast_card *card, double limit, struct fit_bounds *b)
{
    int bin = power_bin(card);
    double seen = bin < 0 ? 0 : card->settled_c[bin];
    b->prior_final = seen > 0 ? seen : limit - DESIGN_MARGIN_C;
    b->prior_sigma = seen > 0 ? SEEN_SIGMA_C : DESIGN_SIGMA_C;
}

void forecast_learn_heat(struct forecast_card *card, const struct gpu *gpu)
{
    int bin = power_bin(card);
    struct fit_point points[FIT_POINTS_MAX];
    struct fit_line line;
    if (bin < 0 || gpu->power_mw.state != READING_OK || track_span_s(&card->heat) < LEARN_SPAN_S ||
        reading_or(gpu->throttle_bits, 0) & THROTTLE_HOT)
        return;
    size_t count = track_window(&card->heat, 0, points);
    for (size_t i = 0; i < count; i++)
        if (points[i].t >= -LEARN_SPAN_S) {
            if (!fit_line(points + i, count - i, 1, &line) || fabs(line.slope) * LEARN_SPAN_S > 1)
                return;
            card->settled_c[bin] = card->settled_c[bin] > 0 ? 0.9 * card->settled_c[bin] + 0.1 * line.level : line.level;
            return;
        }
}

/* Longest look first: a stretch in which something happened to the cooling does not follow one curve, and its residuals show it. */
static bool look(const struct forecast_card *card, const struct track *t, bool closer, double limit, struct fit_approach *ret,
                 double *ret_seen, double *ret_span)
{
    struct fit_point points[FIT_POINTS_MAX], newest[FIT_POINTS_MAX];
    size_t newest_count = track_window(t, 0, newest);
    bool found = false;
    for (int level = 2; newest_count >= FIT_APPROACH_MIN && level >= 0; level--) {
        size_t count = track_window(t, level, points);
        for (size_t part = count; part >= FIT_APPROACH_MIN; part = level || !closer ? 0 : part * 3 / 4) {
            const struct fit_point *p = points + count - part;
            struct fit_approach fit;
            double span = p[part - 1].t - p[0].t;
            struct fit_bounds bounds = {.tau_min = TAU_MIN_S, .tau_max = TAU_MAX_S, .resolution = 1, .limit = limit};
            expect(card, limit, &bounds);
            if (span < SPAN_MIN_S || !fit_approach(p, part, &bounds, &fit))
                break;
            *ret = fit;
            *ret_span = span;
            *ret_seen = fit.level - p[0].y;
            found = true;
            /* One curve for all of it: the newest readings lie on it. */
            double off[NEWEST];
            for (size_t i = 0; i < NEWEST; i++) {
                const struct fit_point *q = &newest[newest_count - NEWEST + i];
                off[i] = q->y - (fit.final + (fit.level - fit.final) * exp(-q->t / fit.tau));
            }
            if (fabs(fit_median(off, NEWEST)) <= MAX_OF(0.75, 1.2 * fit.noise) && fit.noise < NOISE_MAX_C)
                return true;
        }
    }
    return found;
}

/* The final value is told where it is known to some degrees. */
static bool known_well(const struct fit_approach *fit)
{
    return fit->final_high - fit->final_low <= WELL_KNOWN_C;
}

static void heat_conclude(struct forecast_heat *h, const struct fit_approach *fit, double now, double limit, double span,
                          double seen)
{
    char text[32];
    forecast_span_words(span, text);
    if (known_well(fit) && fit->final <= limit + BEYOND_MAX_C) {
        h->final_c = fit->final;
        h->tau_s = fit->tau;
    }
    h->when.basis_s = span;
    bool near = limit - now <= REACH * seen;
    if (fit->final > limit && fit->final_low > limit - UNSURE_C && fit->cross < HUGE_VAL && near) {
        h->when.likely_s = fit->cross;
        h->when.earliest_s = MIN_OF(fit->cross_early * 0.9, fit->cross);
        h->when.latest_s = MAX_OF(fit->cross_late * 1.1, fit->cross);
        /* Where a curve leads far beyond the limit, no GPU ever gets: it throttles before. */
        if (fit->final <= limit + BEYOND_MAX_C)
            forecast_explain(&h->when, FORECAST_EXPECTED, "%.0f °C now, heading for about %.0f °C; throttles at %.0f °C", now,
                             fit->final, limit);
        else
            forecast_explain(&h->when, FORECAST_EXPECTED, "%.0f °C now, would pass its limit of %.0f °C", now, limit);
    } else if ((fit->final_high >= limit || fit->final > limit) && fit->final > now + SETTLED_C) {
        forecast_explain(&h->when, FORECAST_UNKNOWN, "%.0f °C and rising, too early to say if it stays below %.0f °C", now, limit);
        h->when.rising = true;
    } else if (fabs(fit->final - now) <= SETTLED_C || (fabs(seen) <= SETTLED_C && !known_well(fit))) {
        forecast_explain(&h->when, FORECAST_NEVER, "steady at %.0f °C, %.0f °C below its limit", now, limit - now);
    } else if (fit->final < now) {
        forecast_explain(&h->when, FORECAST_NEVER, "cooling down, %.0f °C now", now);
    } else if (known_well(fit)) {
        forecast_explain(&h->when, FORECAST_NEVER, "%.0f °C now, settling at about %.0f °C, %.0f °C below its limit", now,
                         fit->final, limit - fit->final);
    } else {
        forecast_explain(&h->when, FORECAST_NEVER, "%.0f °C now, settling below its limit of %.0f °C", now, limit);
    }
}

/* Under a load that changes all the time, its mean suffices. */
static bool changes_often(const struct track *t)
{
    int64_t since_ms = t->last.t_ms - OFTEN_MS;
    int changes = 0;
    for (size_t i = 0; i < t->stretch_count; i++)
        changes += t->stretches[i].ended_ms >= since_ms;
    return changes >= OFTEN;
}

void forecast_judge_heat(const struct forecast_card *card, const struct gpu *gpu, struct forecast_heat *ret)
{
    *ret = (struct forecast_heat){.now_mdegc = gpu->temp_mdegc, .limit_mdegc = gpu->temp_limit_mdegc, .final_c = NAN, .tau_s = NAN};
    if (gpu->state != GPU_OK || gpu->temp_mdegc.state != READING_OK) {
        forecast_explain(&ret->when, FORECAST_UNKNOWN, "%s",
                         gpu->state == GPU_ASLEEP ? "the GPU is asleep"
                         : gpu->state == GPU_OK   ? "its temperature can't be read"
                                                  : "the GPU can't be read");
        return;
    }
    if (gpu->temp_limit_mdegc.state != READING_OK) {
        forecast_explain(&ret->when, FORECAST_UNKNOWN, "it doesn't report the temperature at which it throttles");
        return;
    }
    double now = (double)gpu->temp_mdegc.value / 1000, limit = (double)gpu->temp_limit_mdegc.value / 1000;
    if (now >= limit || reading_or(gpu->throttle_bits, 0) & THROTTLE_HOT) {
        forecast_explain(&ret->when, FORECAST_REACHED,
                         now >= limit ? "%.0f °C, its limit is %.0f °C" : "%.0f °C, already throttling (limit %.0f °C)", now,
                         limit);
        return;
    }
    struct fit_approach fit;
    double span, seen;
    bool changed = card->odd_power || (card->heat.began_by == CUT_UP || card->heat.began_by == CUT_DOWN);
    if (!card->odd_power && look(card, &card->heat, true, limit, &fit, &seen, &span))
        heat_conclude(ret, &fit, now, limit, span, seen);
    else if (changes_often(&card->heat) && look(card, &card->heat_all, false, limit, &fit, &seen, &span))
        heat_conclude(ret, &fit, now, limit, span, seen);
    else
        forecast_explain(&ret->when, FORECAST_UNKNOWN,
                         changed ? "%.0f °C, its load has just changed" : "%.0f °C, watched for too short a time", now);
}
