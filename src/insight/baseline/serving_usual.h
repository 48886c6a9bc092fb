/* SPDX-License-Identifier: Apache-2.0
 * How fast a model is usually served on GPUs of one kind, learned from minutes in which its server had requests all the time: pure
 * functions of rows, oldest first.
 *
 *   minutes ─▶ by model, GPU, and how many requests were running ─▶ a value for each day ─▶ median and band of the days
 *
 * Like is compared with like: a server that works on twelve requests with what it made of nine to sixteen. As with heat, a day
 * counts once, and below BASELINE_DAYS_NEEDED days nothing is called usual.
 */
#pragma once

#include "insight/baseline/baseline.h"

enum {
    SERVING_DAYS_MAX = 60,
    SERVING_MINUTES_LEAST = 10,     /* of a day, with as many requests */
    SERVING_BUSY_PERMILLE = 900,    /* of the time there must have been a request */
    SERVING_SLOW_PERMILLE = 750,    /* of what is usual: less is slow, */
    SERVING_CRAWLS_PERMILLE = 500,  /* and less than this is trouble */
    SERVING_PROMPT_PERMILLE = 1500, /* prompts that are longer than usual by more explain a slower answer */
};

/* What servers of one model did in some time, each in the mean: 1 minute of the history, or the last minutes. */
struct serving_row {
    struct wall at;
    const char *model, *gpu_name;
    int gpus;                    /* that one server works on */
    int64_t ms, busy_ms;         /* watched; with at least one request */
    int64_t request_ms;          /* times requests: twelve for a minute are twelve minutes */
    int64_t generated_milli;     /* tokens */
    struct reading prompt_milli; /* tokens of prompts */
    struct reading energy_uj;    /* of all of its processes */
};

struct serving_learner;
struct serving_learner *serving_learner_new(int64_t zone_ms); /* NULL: out of memory */
void serving_learner_free(struct serving_learner *l);         /* NULL is fine */
void serving_learn(struct serving_learner *l, const struct serving_row *row);
void serving_conclude(const struct serving_learner *l, struct serving_baselines *ret);

/* A time held against it. */
struct serving_verdict {
    int days; /* 0: nothing can be called usual, or it is not alike; then the rest is 0, too */
    bool slow, hungry;
    int64_t running_milli, tokens_milli, usual_tokens_milli;       /* per second; usual for as many requests */
    struct reading per_kilojoule_milli, usual_per_kilojoule_milli; /* tokens */
};
struct serving_verdict serving_judge(const struct serving_baselines *b, const struct serving_row *now); /* b may be NULL */
