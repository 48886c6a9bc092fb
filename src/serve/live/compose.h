/* SPDX-License-Identifier: Apache-2.0
 * The messages about a sample: the data of each.
 */
#pragma once

#include <stdbool.h>

#include "base/json_writer.h"
#include "model/snapshot.h"
#include "serve/live/batch.h"

struct why;

/* Which GPUs exceed the threshold of high_gpu_usage_alert, by position in the snapshot. */
struct high_usage {
    bool above[GPU_MAX];
};

/* All messages of a periodic sample, in the order of docs/api.md. `why` may be NULL. */
void compose_sample(struct batch *b, const struct snapshot *s, const struct why *why, struct high_usage *usage,
                    double limit_percent);
/* The data of gpu_status. */
void compose_status(struct json_writer *j, const struct snapshot *s, const struct why *why, int64_t interval_ms);
