/* SPDX-License-Identifier: Apache-2.0
 * Shared by the handlers of readings: waiting for a fresh sample, finding the requested GPU, responding with the age of the data.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "http/blob.h"
#include "http/exchange.h"

/* False: the request waits, and is handled again later. After at most half a second it gets the latest sample. */
bool ready_fresh(struct exchange *x, unsigned groups, int64_t max_age_ms);
/* ?max_age_ms=N limits the age of the data; default_ms without it, or -1 for any age. False: it waits, or was answered with 400. */
bool ready_recent(struct exchange *x, int64_t default_ms);
/* ?gpu=INDEX|UUID|PCI. The position, or ALL_GPUS without the parameter; lower than ALL_GPUS after answering with an error. */
int ready_which_gpu(struct exchange *x);
struct process_rows;
/* The processes on GPUs that a PID or a part of a name means. False: it was answered with an error. */
bool ready_find_process(struct exchange *x, const char *asked, int only, struct process_rows *rows);
/* Responds with 503: there is no sample yet. */
void ready_starting(struct exchange *x);
/* Sends a body about the newest snapshot. NULL, out of memory: the router answers 500. */
void ready_reply(struct exchange *x, struct blob *body, const char *type);
void ready_json(struct exchange *x, struct buf *out);
