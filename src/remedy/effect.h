/* SPDX-License-Identifier: Apache-2.0
 * Measured steps: what a remedy, or the coming and going of a program, changed on which GPU, and when. What was measured once is
 * what is expected the next time. Plain data and its JSON, which is the same in the history and in the API; without a daemon, a
 * file in the state directory.
 */
#pragma once

#include "answer/answer.h"
#include "base/error.h"
#include "insight/view/why.h"
#include "model/snapshot.h"

/* What made the step. */
enum effect_cause { EFFECT_REMEDY, EFFECT_CONTEXT, EFFECT_LIMIT, EFFECT_DISPLAY, EFFECT_MODEL, EFFECT_CAUSES };

struct effect {
    struct wall at;
    char gpu[GPU_UUID_SIZE], model[GPU_NAME_SIZE];
    int gpu_index;
    enum effect_cause cause;
    enum remedy_code code;         /* what does this */
    char what[REMEDY_NAME_SIZE];   /* "idle context of python3 (alice)" */
    struct reading from_mw, to_mw; /* of a limit: its values */
    struct remedy_values before, after;
    struct remedy_values expected; /* changes; absent where nothing was expected */
};
extern const struct answer effect_answer, remedy_values_answer;

enum { EFFECTS_MAX = 256 };
struct effects {
    size_t count;
    struct effect *list; /* oldest first */
};
void effects_done(struct effects *e);
#define AUTO_EFFECTS __attribute__((cleanup(effects_done)))
/* The oldest goes when there are too many. */
int effects_put(struct effects *all, const struct effect *e);
/* Of a line of JSON. False: it is none. */
bool effect_from_text(const char *text, struct effect *ret);

/* The file. */
void effects_read(struct effects *ret);
int effects_add(const struct effect *e, struct error *err);

/* What a remedy lets expect here, from a step that began alike: on this GPU, else on another of its model. */
void effects_expect(const struct effects *e, const struct gpu *gpu, struct remedy *r);

/* The same for all remedies of an answer, in its sentences, too. */
void effects_expect_all(const struct effects *all, const struct snapshot *now, struct why *why);

struct reading effect_change(struct reading before, struct reading after);
struct remedy_values effect_changes(const struct remedy_values *before, const struct remedy_values *after);
/* What a change is said beside: clocks say nothing about the speed of a GPU at rest. */
struct remedy_values effect_base(struct reading util_permille, struct reading clock_khz);
/* "135 W and 14% fan less, 9% slower" */
enum { EFFECT_WORDS = 128 };
const char *effect_words(const struct remedy_values *change, const struct remedy_values *from, char out[EFFECT_WORDS]);
/* Whether it came as expected, in watts within a fifth. */
bool effect_as_expected(const struct remedy_values *expected, const struct remedy_values *measured);

/* How often it came as expected, of those where something was. */
struct effect_hits {
    enum remedy_code code;
    size_t measured, expected, hit;
    struct reading expected_mw, measured_mw; /* of the newest */
};
extern const struct answer effect_hits_answer;
size_t effects_hits(const struct effects *all, struct effect_hits *list, size_t max);

/* Steps that came without a request: a program takes or closes its context on a GPU at rest, a power limit changes, displays go.
 * What a GPU drew before and since is the effect. Pure, sample by sample.
 *
 *   rest, settled ──(one thing changes)──▶ settling ──▶ rest, settled: an effect */

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
/* Its load is that of no work; false also where it is unknown. */
bool learn_rests(const struct gpu *gpu);

/* ---- Parked power ----
 *
 * What open contexts cost while their GPU rests: the step that was measured when one came or went, at most what the GPU draws above
 * its power without any, and shared evenly by the programs that hold one. While the GPU works they cost nothing more. Pure.
 *
 *   power = idle + parked + work + what no process explains
 */

/* The newest step of each GPU. */
struct parked_steps {
    size_t count;
    struct parked_step {
        char gpu[GPU_UUID_SIZE];
        int64_t step_mw, alone_mw; /* with a context above without one; without one */
    } list[GPU_MAX];
};

void parked_note(struct parked_steps *steps, const struct effect *e);
/* Adds to each process's power what its context costs. No step yet, or a list that is not whole: pending. */
void parked_charge(const struct parked_steps *steps, struct gpu *gpu);
