/* SPDX-License-Identifier: Apache-2.0
 * What is usual for the GPUs of a host, learned from its history.
 */
#pragma once

#include "insight/baseline/baseline.h"
#include "store/query.h"

/* From the history up to `until`, up to 400 days back. *ret is freed with free(). */
int past_usual(struct store *s, const char *host, struct wall until, struct baselines **ret, struct error *err);
/* Adds what each process that is there now added to the idle power of the GPU when it came, where that was measured. */
int past_idle_steps(struct store *s, int64_t gpu_id, struct wall until, struct baseline *ret, struct error *err);
