/* SPDX-License-Identifier: Apache-2.0
 * What a GPU is doing, in one word, and its symptoms. status, why, health, alerts, the API and screens share these words; the
 * judgement itself is in insight/facts.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "model/reading.h"

enum activity_code {
    ACTIVITY_UNKNOWN, /* not judged, or no evidence */
    ACTIVITY_LOST,
    ACTIVITY_FAILING,
    ACTIVITY_ASLEEP,
    ACTIVITY_IDLE,
    ACTIVITY_KEPT_FROM_IDLING, /* almost no work, but clocks or power stay up */
    ACTIVITY_LIGHTLY_LOADED,
    ACTIVITY_BUSY,
    ACTIVITY_SATURATED,
    ACTIVITY_COUNT
};

enum symptom { SYMPTOM_LOUD, SYMPTOM_HOT, SYMPTOM_THROTTLING, SYMPTOM_MEMORY_FULL, SYMPTOM_UNUSUAL, SYMPTOM_COUNT };

struct activity {
    enum activity_code code;
    unsigned symptoms;            /* 1 << enum symptom */
    int64_t throttled_by;         /* THROTTLE_ bits: heat, power supply or a lowered limit */
    bool bursts;                  /* works in bursts, with pauses */
    struct reading load_permille; /* over the last minute; with bursts, their mean */
};

enum process_activity { PROCESS_ACTIVITY_UNKNOWN, PROCESS_WORKING, PROCESS_LOADING, PROCESS_HOLDING };

const char *activity_code_name(enum activity_code code);  /* "lightly_loaded", for the API */
const char *activity_code_words(enum activity_code code); /* "lightly loaded" */
const char *symptom_name(enum symptom symptom);           /* "memory_full" */
const char *process_activity_name(enum process_activity activity);
/* Worst first: a lower rank needs attention more. Lost, failing, thermal throttling, loud, hot, then by activity. */
int activity_rank(const struct activity *a);
