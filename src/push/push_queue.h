/* SPDX-License-Identifier: Apache-2.0
 * Requests waiting to be sent, oldest first, each a file NUMBER.SAMPLES in its own directory. Written before sending and removed
 * when received, so that a killed program loses nothing. Bounded: a full queue drops and counts the oldest. If the disk isn't
 * writable, the newest few wait in memory.
 */
#pragma once

#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

enum { PUSH_MEMORY_MAX = 32 };

struct push_queue;

/* Creates `folder`; NULL: everything stays in memory. Returns NULL if out of memory. */
struct push_queue *push_queue_new(const char *folder, int64_t bytes_max);
void push_queue_free(struct push_queue *q); /* accepts NULL */

/* Sets a new limit; the next put drops what exceeds it. */
void push_queue_set_max(struct push_queue *q, int64_t bytes_max);

/* Copies the body. -errno in err: it couldn't be written to disk and stays in memory. */
int push_queue_put(struct push_queue *q, struct str body, uint32_t samples, struct error *err);

/* Appends the oldest to `body`; false: none. Drops and counts unreadable ones. */
bool push_queue_first(struct push_queue *q, struct buf *body, uint32_t *samples);
/* It was sent, or refused for good. */
void push_queue_drop_first(struct push_queue *q);

struct push_queue_state {
    size_t requests;
    int64_t bytes;
    uint64_t samples;      /* waiting */
    uint64_t lost_samples; /* dropped */
};
void push_queue_get(const struct push_queue *q, struct push_queue_state *ret);
