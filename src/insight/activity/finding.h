/* SPDX-License-Identifier: Apache-2.0
 * What a person should know about a GPU before anything else: the worst of what is wrong with it, or nothing. Made of the activity
 * that is judged already, so that status, why and every other screen agree.
 */
#pragma once

#include "model/gpu.h"

/* Worst first. */
enum gpu_finding {
    FINDING_LOST,
    FINDING_FAILING,
    FINDING_FAN_STOPPED,
    FINDING_THERMAL,
    FINDING_SLOWDOWN, /* the power supply or the board slows it down */
    FINDING_LOUD,
    FINDING_HOT,
    FINDING_MEMORY_FULL,
    FINDING_POWER, /* draws power as at work, and does nothing */
    FINDING_NONE,
};

enum gpu_finding finding_of(const struct gpu *gpu);
/* Act now, rather than look soon. */
static inline bool finding_is_urgent(enum gpu_finding finding)
{
    return finding <= FINDING_THERMAL;
}

enum { FINDING_WORDS = 160 };
/* "GPU 1 is throttling (93 °C)"; "" for none. */
const char *finding_words(const struct gpu *gpu, enum gpu_finding finding, char out[FINDING_WORDS]);
/* "THERMAL": one word for a row of a table. NULL where the row says it otherwise. */
const char *finding_label(enum gpu_finding finding);

/* A fan that follows the work of a GPU that is not hot is part of that work; `a` is how the GPU was judged. */
bool finding_is_loud(const struct activity *a, const struct gpu *gpu, bool at_work);
