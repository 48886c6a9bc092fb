/* SPDX-License-Identifier: Apache-2.0
 * What the handlers of readings have in common: waiting for a sample that is young enough, finding the GPU that is meant,
 * answering with the age of the data.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "http/blob.h"
#include "http/exchange.h"

/* False: the request waits, and is handled again later. At most half a second; then with what there is. */
bool ready_fresh(struct exchange *x, unsigned groups, int64_t max_age_ms);
/* ?max_age_ms=N asks for data no older than that; without it default_ms, or with -1 whatever there is. False: it waits, or was
 * answered with 400. */
bool ready_young_enough(struct exchange *x, int64_t default_ms);
/* ?gpu=INDEX|UUID|PCI. The position, ALL_GPUS without the parameter, less when it was answered with 404. */
int ready_which_gpu(struct exchange *x);
/* There is no answer before the first sample. */
void ready_starting(struct exchange *x);
/* A body about the newest snapshot. NULL: out of memory. */
void ready_reply(struct exchange *x, struct blob *body, const char *type);
