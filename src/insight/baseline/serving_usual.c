/* SPDX-License-Identifier: Apache-2.0
 * Learning how fast models are served, and holding the last minutes against it.
 */
#include "insight/baseline/serving_usual.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "base/units.h"
#include "insight/baseline/baseline.h"

/* Of one day, with about as many requests. */
struct serving_total {
    int64_t ms, request_ms, generated_milli;
    int64_t prompt_milli, prompted_milli; /* prompts, and what was generated where they are known */
    int64_t energy_uj, powered_milli;     /* likewise for energy */
};

struct serving_day {
    int64_t number;
    struct serving_total bins[SERVING_BINS];
};

struct serving_course {
    char model[PROCESS_MODEL_SIZE], gpu_name[GPU_NAME_SIZE];
    int gpus;
    size_t day_count;
    struct serving_day days[SERVING_DAYS_MAX];
};

struct serving_learner {
    int64_t zone_ms;
    size_t count;
    struct serving_course *list[SERVING_MODELS_MAX];
};

struct serving_learner *serving_learner_new(int64_t zone_ms)
{
    struct serving_learner *l = calloc(1, sizeof *l);
    if (l)
        l->zone_ms = zone_ms;
    return l;
}

void serving_learner_free(struct serving_learner *l)
{
    for (size_t i = 0; l && i < l->count; i++)
        free(l->list[i]);
    free(l);
}

/* 1, 2, 3 to 4, 5 to 8, ... requests; -1: not busy all the time. */
static int bin_of(const struct serving_row *row)
{
    if (row->ms <= 0 || row->busy_ms < row->ms / 1000 * SERVING_BUSY_PERMILLE || row->generated_milli <= 0)
        return -1;
    int64_t running = (row->request_ms + row->busy_ms / 2) / MAX_OF(row->busy_ms, (int64_t)1);
    int bin = 0;
    while (bin < SERVING_BINS - 1 && running > (int64_t)1 << bin)
        bin++;
    return bin;
}

static struct serving_course *course_of(struct serving_learner *l, const struct serving_row *row)
{
    for (size_t i = 0; i < l->count; i++)
        if (l->list[i]->gpus == row->gpus && strcmp(l->list[i]->model, row->model) == 0 &&
            strcmp(l->list[i]->gpu_name, row->gpu_name) == 0)
            return l->list[i];
    struct serving_course *c = l->count < SERVING_MODELS_MAX ? calloc(1, sizeof *c) : NULL;
    if (!c)
        return NULL;
    str_copy(c->model, sizeof c->model, str_from(row->model));
    str_copy(c->gpu_name, sizeof c->gpu_name, str_from(row->gpu_name));
    c->gpus = row->gpus;
    l->list[l->count++] = c;
    return c;
}

static struct serving_day *day_of(struct serving_course *c, int64_t number)
{
    if (c->day_count && c->days[c->day_count - 1].number >= number)
        return &c->days[c->day_count - 1];
    if (c->day_count == SERVING_DAYS_MAX) {
        memmove(c->days, c->days + 1, (SERVING_DAYS_MAX - 1) * sizeof c->days[0]);
        c->day_count--;
    }
    c->days[c->day_count] = (struct serving_day){.number = number};
    return &c->days[c->day_count++];
}

static void add_row(struct serving_total *sum, const struct serving_row *row)
{
    int64_t value;
    sum->ms += row->busy_ms;
    sum->request_ms += row->request_ms;
    sum->generated_milli += row->generated_milli;
    if (reading_get(row->prompt_milli, &value)) {
        sum->prompt_milli += value;
        sum->prompted_milli += row->generated_milli;
    }
    if (reading_get(row->energy_uj, &value) && value > 0) {
        sum->energy_uj += value;
        sum->powered_milli += row->generated_milli;
    }
}

void serving_learn(struct serving_learner *l, const struct serving_row *row)
{
    int bin = bin_of(row);
    struct serving_course *c = bin >= 0 ? course_of(l, row) : NULL;
    if (c)
        add_row(&day_of(c, (row->at.ms + l->zone_ms) / DAY_MS)->bins[bin], row);
}

/* ---- bands ---- */

static int64_t ratio(int64_t part, int64_t of, double scale)
{
    return of > 0 ? (int64_t)((double)part * scale / (double)of) : 0;
}

static int64_t tokens_a_second(const struct serving_total *s)
{
    return ratio(s->generated_milli, s->ms, MS_PER_S);
}

static int64_t requests_at_once(const struct serving_total *s)
{
    return ratio(s->request_ms, s->ms, 1000);
}

static int64_t prompt_of_answer(const struct serving_total *s)
{
    return ratio(s->prompt_milli, s->prompted_milli, 1000);
}

static int64_t tokens_a_kilojoule(const struct serving_total *s)
{
    return ratio(s->powered_milli, s->energy_uj, 1e9);
}

/* Of the days that have one; 0 is none. */
static void band_of(const struct serving_course *c, int bin, int64_t (*value)(const struct serving_total *),
                    struct baseline_band *ret)
{
    int64_t values[SERVING_DAYS_MAX];
    int n = 0;
    for (size_t i = 0; i < c->day_count; i++) {
        const struct serving_total *sum = &c->days[i].bins[bin];
        if (sum->ms >= SERVING_MINUTES_LEAST * (int64_t)MINUTE_MS && value(sum) > 0)
            values[n++] = value(sum);
    }
    baseline_band_of(values, n, ret);
}

void serving_conclude(const struct serving_learner *l, struct serving_baselines *ret)
{
    *ret = (struct serving_baselines){.count = l->count};
    for (size_t i = 0; i < l->count; i++) {
        const struct serving_course *c = l->list[i];
        struct serving_baseline *b = &ret->list[i];
        memcpy(b->model, c->model, sizeof b->model);
        memcpy(b->gpu_name, c->gpu_name, sizeof b->gpu_name);
        b->gpus = c->gpus;
        for (int bin = 0; bin < SERVING_BINS; bin++) {
            band_of(c, bin, tokens_a_second, &b->tokens_milli[bin]);
            band_of(c, bin, requests_at_once, &b->running_milli[bin]);
            band_of(c, bin, prompt_of_answer, &b->prompt_permille[bin]);
            band_of(c, bin, tokens_a_kilojoule, &b->per_kilojoule_milli[bin]);
        }
    }
}

/* ---- the last minutes ---- */

static const struct serving_baseline *find(const struct serving_baselines *b, const struct serving_row *now)
{
    for (size_t i = 0; b && i < b->count; i++)
        if (b->list[i].gpus == now->gpus && strcmp(b->list[i].model, now->model) == 0 &&
            strcmp(b->list[i].gpu_name, now->gpu_name) == 0)
            return &b->list[i];
    return NULL;
}

/* Reading prompts takes time that answers don't get. */
static bool has_longer_prompts(const struct serving_baseline *b, int bin, const struct serving_total *now)
{
    int64_t usual = b->prompt_permille[bin].typical, here = prompt_of_answer(now);
    return usual > 0 && here > usual / 1000 * SERVING_PROMPT_PERMILLE + 500;
}

/* Of fewer requests than usual each is answered at least as fast, and of more all together are: what is to be expected is the
 * lower of the two. */
static int64_t expected(int64_t usual, int64_t usual_running, int64_t running)
{
    return running < usual_running ? ratio(usual, usual_running, (double)running) : usual;
}

static bool is_below(int64_t value, int64_t expected_value, const struct baseline_band *band)
{
    return value < expected_value / 1000 * SERVING_SLOW_PERMILLE &&
           value < ratio(band->low, band->typical, (double)expected_value); /* and below the days that were slow */
}

struct serving_verdict serving_judge(const struct serving_baselines *b, const struct serving_row *now)
{
    const struct serving_baseline *usual = find(b, now);
    struct serving_verdict v = {0};
    struct serving_total sum = {0};
    int bin = usual ? bin_of(now) : -1;
    if (bin < 0 || usual->tokens_milli[bin].days < BASELINE_DAYS_NEEDED)
        return v;
    add_row(&sum, now);
    if (has_longer_prompts(usual, bin, &sum))
        return v;
    const struct baseline_band *speed = &usual->tokens_milli[bin], *thrift = &usual->per_kilojoule_milli[bin];
    v.days = speed->days;
    v.running_milli = requests_at_once(&sum);
    v.tokens_milli = tokens_a_second(&sum);
    v.usual_tokens_milli = expected(speed->typical, usual->running_milli[bin].typical, v.running_milli);
    v.slow = is_below(v.tokens_milli, v.usual_tokens_milli, speed);
    if (sum.energy_uj > 0 && thrift->days >= BASELINE_DAYS_NEEDED) {
        v.per_kilojoule_milli = reading_ok(tokens_a_kilojoule(&sum));
        /* Fewer at once share less of the work, so that each takes more energy. */
        v.usual_per_kilojoule_milli = reading_ok(expected(thrift->typical, usual->running_milli[bin].typical, v.running_milli));
        v.hungry = is_below(v.per_kilojoule_milli.value, v.usual_per_kilojoule_milli.value, thrift);
    }
    return v;
}
