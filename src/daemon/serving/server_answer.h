/* SPDX-License-Identifier: Apache-2.0
 * What model servers say of themselves, as figures of a process. Pure functions of text.
 *
 *   text of Prometheus ─▶ samples that are known by name ─▶ quantities, of all engines together ─▶ figures
 *   JSON of llama.cpp, ComfyUI, ... ───────────────────────────────────────────────────────────────▶
 *
 * Rates and means are those since the look before, so that what was seen last is kept. A figure that the answer does not have is
 * UNSUPPORTED; one that needs a second look, or a request, is PENDING.
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

/* A counter as it was seen last. */
struct server_counter {
    bool seen;
    double value;
    struct mono at;
};

/* A sum and how many it is of, as they were seen last, and the mean of what came between two looks. */
struct server_mean {
    bool seen;
    double sum, count;
    struct reading value;
    struct mono at;
};

/* Zeroed before the first answer. */
struct server_answers {
    struct reading figure[FIGURES];           /* of the last answer */
    struct serving_sum served[SERVING_TIMES]; /* of the last answer, too */
    struct server_counter generated, prompt, preempted;
    struct server_mean first_token, token_time, prefix;
    struct {
        int64_t task, decoded;
    } slots[SLOTS_MAX]; /* of llama.cpp */
};

/* False: it says nothing that is known. */
bool server_answer_metrics(struct server_answers *a, enum model_server kind, struct str metrics, struct mono now);
/* llama.cpp's /slots: what each slot has decoded of its task. The end of a task between two looks is missed, so that the rate is
 * a little less than it was, and a count would be wrong: there is none. */
bool server_answer_slots(struct server_answers *a, struct str slots, struct mono now);
/* Of those that answer with JSON: ComfyUI, KoboldCpp, Automatic1111. */
bool server_answer_json(struct server_answers *a, enum model_server kind, struct str text);
bool server_answers_json(enum model_server kind);
/* What llama.cpp's /props says: READING_OK where its slots may be looked at, ASLEEP, or UNSUPPORTED for a router of models. */
enum reading_state server_answer_awake(struct str props);
