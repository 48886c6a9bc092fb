/* SPDX-License-Identifier: Apache-2.0
 * Requests that wait to be sent, oldest first, each a file: NUMBER.SAMPLES in a directory of its own. Written before it is sent and
 * removed when the other side has it, so that a killed program loses nothing. Bounded: in a full queue the oldest give way, and are
 * counted. Where the disk cannot be written, the newest few wait in memory.
 */
#pragma once

#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

enum { PUSH_MEMORY_MAX = 32 };

struct push_queue;

/* `folder` is made; NULL: everything waits in memory. NULL: out of memory. */
struct push_queue *push_queue_new(const char *folder, int64_t bytes_max);
void push_queue_free(struct push_queue *q); /* NULL is fine */

/* Another limit; what is over it gives way at the next put. */
void push_queue_set_most(struct push_queue *q, int64_t bytes_max);

/* Takes the body. -errno in err: it could not be written to the disk and waits in memory. */
int push_queue_put(struct push_queue *q, struct str body, uint32_t samples, struct error *err);

/* The oldest, appended to `body`; false: there is none. One that cannot be read is dropped and counted. */
bool push_queue_first(struct push_queue *q, struct buf *body, uint32_t *samples);
/* It was sent, or refused for good. */
void push_queue_drop_first(struct push_queue *q);

struct push_queue_state {
    size_t requests;
    int64_t bytes;
    uint64_t samples;      /* that wait */
    uint64_t lost_samples; /* that gave way */
};
void push_queue_get(const struct push_queue *q, struct push_queue_state *ret);
