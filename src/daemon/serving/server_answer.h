/* SPDX-License-Identifier: Apache-2.0
 * Model servers' answers, as figures of a process. Pure functions of text.
 *
 *   Prometheus text ─▶ samples with known names ─▶ quantities, summed over all engines ─▶ figures
 *   JSON of llama.cpp, ComfyUI, ... ──────────────────────────────────────────────────▶
 *
 * Rates and means span the time since the previous answer, whose values are kept. A figure that the answer lacks is UNSUPPORTED;
 * one that needs a second answer, or a request, is PENDING.
 */
#pragma once

#include "base/clock.h"
#include "daemon/serving/model_server.h"
#include "model/metric.h"
#include "model/process.h"
#include "model/reading.h"

enum {
    SLOTS_MAX = 64,
    RANKS_MAX = 256,
    FIGURES_FROM = PROCESS_METRIC_tokens_milli,
    FIGURES = PROCESS_METRIC_COUNT - FIGURES_FROM,
};
#define FIGURE(field) (PROCESS_METRIC_##field - FIGURES_FROM)

/* The last value of a counter. */
struct server_counter {
    bool seen;
    double value;
    struct mono at;
};

/* The last sum and count, and the mean in between two answers. */
struct server_mean {
    bool seen;
    double sum, count;
    struct reading value;
    struct mono at;
};

/* Zero-initialize before the first answer. */
struct server_answers {
    struct reading figure[FIGURES];           /* of the last answer */
    struct serving_sum served[SERVING_TIMES]; /* of the last answer, too */
    struct server_counter generated, prompt, preempted;
    struct server_mean first_token, token_time, prefix;
    struct {
        int64_t task, decoded;
    } slots[SLOTS_MAX]; /* of llama.cpp */
};

/* False if it contains nothing known. */
bool server_answer_metrics(struct server_answers *a, enum model_server kind, struct str metrics, struct mono now);
/* llama.cpp's /slots: the tokens that each slot has decoded for its task. Misses tasks that end between two queries, so the rate
 * is slightly low; a total would be wrong, so there is none. */
bool server_answer_slots(struct server_answers *a, struct str slots, struct mono now);
/* For servers that answer with JSON: ComfyUI, KoboldCpp, Automatic1111. */
bool server_answer_json(struct server_answers *a, enum model_server kind, struct str text);
bool server_answers_json(enum model_server kind);
/* Interprets llama.cpp's /props: READING_OK if its slots may be queried, ASLEEP, or UNSUPPORTED for a router of models. */
enum reading_state server_answer_awake(struct str props);
