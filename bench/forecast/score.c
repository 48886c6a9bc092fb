/* SPDX-License-Identifier: Apache-2.0
 * Baselines, and the score of a course.
 */
#include "backtest.h"

#include "base/cleanup.h"

/* What a straight line looks at (with one, two or ten minutes it does worse on the tuning seeds), and how often a method may be
 * silent within one alarm. */
#define LINE_WINDOW_S 300.0
enum { SILENT_MAX = 2 };

double horizon_of(enum kind kind)
{
    return kind == KIND_VRAM ? 900 : 300;
}

/* Ordinary least squares over the last five minutes; said when the slope is positive by its own standard error. */
struct guess guess_line(const struct sample *samples, size_t count)
{
    const struct guess none = {HUGE_VAL, HUGE_VAL, HUGE_VAL};
    if (!count || isnan(samples[count - 1].value) || isnan(samples[count - 1].limit))
        return none;
    double now = samples[count - 1].t, limit = samples[count - 1].limit;
    double n = 0, st = 0, sy = 0, stt = 0, sty = 0, syy = 0;
    for (size_t i = count; i-- > 0 && now - samples[i].t <= LINE_WINDOW_S;) {
        if (isnan(samples[i].value))
            break;
        double t = samples[i].t - now, y = samples[i].value;
        n++;
        st += t;
        sy += y;
        stt += t * t;
        sty += t * y;
        syy += y * y;
    }
    double det = n * stt - st * st;
    if (n < 8 || det <= 0)
        return none;
    double slope = (n * sty - st * sy) / det, level = (sy - slope * st) / n;
    double rest = syy - level * sy - slope * sty;
    double error = sqrt(fmax(rest, 0) / (n - 2) * n / det);
    double left = fmax(0, limit - level);
    if (slope - 1.28 * error <= 0)
        return none;
    return (struct guess){left / slope, left / (slope + 1.28 * error), left / (slope - 1.28 * error)};
}

/* Everything stays as it is. */
struct guess guess_persistence(const struct sample *samples, size_t count)
{
    if (count && samples[count - 1].value >= samples[count - 1].limit)
        return (struct guess){0, 0, 0};
    return (struct guess){HUGE_VAL, HUGE_VAL, HUGE_VAL};
}

struct guess guess_whirr(const struct forecast_when *when)
{
    if (when->verdict == FORECAST_REACHED)
        return (struct guess){0, 0, 0};
    if (when->verdict != FORECAST_EXPECTED)
        return (struct guess){HUGE_VAL, HUGE_VAL, HUGE_VAL};
    return (struct guess){when->likely_s, when->earliest_s, when->latest_s};
}

/* Seconds from t to the next event, HUGE_VAL: none. */
static double next_event(const struct course *c, double t)
{
    for (size_t i = 0; i < c->event_count; i++)
        if (c->events[i] > t)
            return c->events[i] - t;
    return HUGE_VAL;
}

static void score_intervals(const struct course *c, enum method m, struct score *s)
{
    for (size_t i = 0; i < c->origin_count; i++) {
        const struct origin *o = &c->origins[i];
        double truth = next_event(c, o->t);
        const struct guess *g = &o->guess[m];
        if (o->there || o->blind || g->likely > horizon_of(c->kind) || truth > 2 * horizon_of(c->kind))
            continue;
        s->intervals++;
        s->held += truth >= g->early - 1 && truth <= g->late + 1; /* samples are a second and more apart */
        if (s->error_count < ARRAY_LEN(s->errors))
            s->errors[s->error_count++] = fabs(g->likely - truth) / fmax(truth, 5);
    }
}

/* Alarms as episodes: from the first moment that says so to the last. */
static void score_alarms(const struct course *c, enum method m, struct score *s)
{
    double horizon = horizon_of(c->kind), began = -1, last = -1;
    int silent = 0;
    for (size_t i = 0; i <= c->origin_count; i++) {
        const struct origin *o = i < c->origin_count ? &c->origins[i] : NULL;
        bool over = !o || o->there;
        bool alarm = o && !o->there && !o->blind && o->guess[m].likely <= horizon;
        if (alarm) {
            if (began < 0)
                began = o->t;
            last = o->t;
            silent = 0;
        }
        if (began < 0 || alarm || (!over && ++silent <= SILENT_MAX))
            continue;
        double ahead = next_event(c, began);
        bool right = ahead <= 1.5 * horizon;
        /* At the end of a course the answer is not known any more. */
        if (right || c->length_s - began > 1.5 * horizon || !over) {
            s->alarms++;
            s->true_alarms += right;
        }
        if (right && over && o && next_event(c, last) <= o->t - last + 1) {
            s->foreseen++;
            if (s->lead_count < ARRAY_LEN(s->leads))
                s->leads[s->lead_count++] = ahead;
        }
        began = -1;
        silent = 0;
    }
}

void score_course(const struct course *c, struct score scores[METHODS])
{
    for (enum method m = 0; m < METHODS; m++) {
        scores[m].events += c->event_count;
        scores[m].seconds += c->length_s;
        score_intervals(c, m, &scores[m]);
        score_alarms(c, m, &scores[m]);
    }
}
