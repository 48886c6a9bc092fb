/* SPDX-License-Identifier: Apache-2.0
 * High usage: a GPU whose utilization rises above the limit is told of once, and again after it fell. The
 * one place for what that means: the rule `high_gpu_usage` and the message `high_gpu_usage_alert` both come from here.
 */
#pragma once

#include "model/gpu.h"

enum { HIGH_USAGE_TEXT_SIZE = 64 };

/* Which GPUs are above the limit, by their position in the snapshot. */
struct high_usage {
    bool above[GPU_MAX];
};

/* True once per rise. What is not known is neither a rise nor a fall. */
bool high_usage_rises(struct high_usage *u, size_t position, const struct gpu *gpu, double limit_percent);
/* The same as a condition of a rule. */
void high_usage_condition(double limit_percent, char text[HIGH_USAGE_TEXT_SIZE]);
