/* SPDX-License-Identifier: Apache-2.0
 * When usage is high.
 */
#include "alert/high_usage.h"

#include <stdio.h>

bool high_usage_rises(struct high_usage *u, size_t position, const struct gpu *gpu, double limit_percent)
{
    int64_t permille;
    if (position >= GPU_MAX || !reading_get(gpu->util_permille, &permille))
        return false;
    bool was = u->above[position];
    u->above[position] = (double)permille > limit_percent * 10;
    return u->above[position] && !was;
}

void high_usage_condition(double limit_percent, char text[HIGH_USAGE_TEXT_SIZE])
{
    snprintf(text, HIGH_USAGE_TEXT_SIZE, "utilization_percent > %.10g%%", limit_percent);
}
