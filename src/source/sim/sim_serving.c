/* SPDX-License-Identifier: Apache-2.0
 * Metrics of a simulated model server. Its load varies by a tenth in a fixed rhythm, so that its counters at any moment don't
 * depend on earlier samples.
 */
#include <math.h>

#include "source/sim/sim_fill.h"

#define RHYTHM_S 47.0
#define SWING 0.1

/* The current share of the mean, and the passed seconds of mean load. */
struct course_of_load {
    double now, passed_s;
};

static struct course_of_load course_at(double age)
{
    const double turn = 2 * 3.14159265358979 / RHYTHM_S;
    return (struct course_of_load){1 + SWING * cos(turn * age), age + SWING / turn * sin(turn * age)};
}

static struct reading rounded(double value)
{
    return reading_ok(llround(value));
}

static void say_nothing(struct process *p)
{
    for (size_t i = PROCESS_METRIC_tokens_milli; i < PROCESS_METRIC_COUNT; i++)
        p->metric[i] = reading_absent(READING_FAILED);
}

/* Latencies belong to requests: without one there are none. */
static void fill_times(const struct sim_serving *s, double now, struct process *p)
{
    if (s->tokens <= 0) {
        p->first_token_us = p->token_time_us = p->prefix_permille = reading_absent(READING_PENDING);
        return;
    }
    p->first_token_us = rounded(s->first_token_s * now * 1e6);
    p->token_time_us = rounded(s->running / s->tokens * 1e6);
    p->prefix_permille = rounded(s->prefix_hits * 1000);
}

/* Each request takes as long as 200 tokens. */
static void fill_sums(const struct sim_serving *s, double passed_s, struct process *p)
{
    double tokens = floor(s->tokens * passed_s), requests = floor(tokens / 200),
           each_s = s->tokens > 0 ? s->running / s->tokens : 0;
    str_copy(p->server_kind, sizeof p->server_kind, STR("vllm"));
    p->served[SERVING_FIRST_TOKEN] = (struct serving_sum){true, requests * s->first_token_s, requests};
    p->served[SERVING_PER_TOKEN] = (struct serving_sum){true, tokens * each_s, tokens};
    p->served[SERVING_REQUEST] = (struct serving_sum){true, requests * (s->first_token_s + 199 * each_s), requests};
}

void fill_serving(const struct fill *f, const struct sim_share *share, struct process *p)
{
    const struct sim_serving *s = f->world->scenario->jobs[share->job].serving;
    if (!s)
        return;
    if (s->silent) {
        say_nothing(p);
        return;
    }
    struct course_of_load at = course_at(f->t - share->life.began);
    /* Decoding waits for the memory about half of the time: lower clocks cost it half as much. */
    at.now *= (1 + f->view.speed) / 2;
    at.passed_s = fmax(0, at.passed_s - f->view.lost_s / 2);
    p->tokens_milli = rounded(s->tokens * at.now * f->world->speed * 1000);
    p->prompt_milli = rounded(s->prompt_tokens * at.now * f->world->speed * 1000);
    p->generated_tokens = rounded(s->tokens * at.passed_s);
    p->prompt_tokens = rounded(s->prompt_tokens * at.passed_s);
    p->requests_running = rounded(s->running * at.now);
    p->requests_waiting = rounded(s->waiting * at.now);
    p->kv_cache_permille = rounded(s->kv_cache * (1 + (at.now - 1) * (1 - s->kv_cache)) * 1000); /* a full one stays full */
    p->preempted_milli = rounded(s->preempted_per_min * at.now * 1000 / 60);
    p->image_jobs = reading_absent(READING_UNSUPPORTED);
    fill_times(s, at.now, p);
    fill_sums(s, at.passed_s, p);
}
