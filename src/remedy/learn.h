/* SPDX-License-Identifier: Apache-2.0
 * Steps that came without a request: a program takes or closes its context on a GPU at rest, a power limit changes, displays go.
 * What a GPU drew before and since is the effect. Pure, sample by sample.
 *
 *   rest, settled ──(one thing changes)──▶ settling ──▶ rest, settled: an effect
 */
#pragma once

#include "model/snapshot.h"
#include "remedy/effect.h"

enum { LEARN_CONTEXTS_MAX = 16 };

/* What decides what a GPU at rest draws. */
struct learn_state {
    size_t context_count;
    int32_t contexts[LEARN_CONTEXTS_MAX]; /* PIDs, ascending */
    struct reading limit_mw, display;
};

/* A time in which that stayed. */
struct learn_span {
    struct learn_state state;
    struct wall since;
    int64_t rest_samples, power_sum, clock_sum, clock_samples, temp_sum, temp_samples, fan_sum, fan_samples;
    char name[REMEDY_NAME_SIZE]; /* of the newest context */
};

struct learner {
    struct learn_gpu {
        char key[GPU_UUID_SIZE];
        struct learn_span before, now;
        bool told;
    } gpus[GPU_MAX];
    size_t count;
};

/* True: *ret is a new step of this GPU. */
bool learn_sample(struct learner *l, const struct gpu *gpu, struct wall now, struct effect *ret);
/* What its idle contexts cost: the newest such step, where one holds it now; absent: unknown, or none does. */
struct reading parked_power(const struct effects *all, const struct gpu *gpu);
