/* SPDX-License-Identifier: Apache-2.0
 * Items that wait on disk while the database server is unreachable: snapshots and events in order, in an SQLite file. Each has a
 * number that is unique within the run of the program that made it; if a connection breaks during a commit, the server's last
 * number later tells whether it succeeded. Bounded: if the file is full, the oldest items are deleted.
 */
#pragma once

#include "base/error.h"
#include "model/snapshot.h"
#include "store/store.h"

struct queue;

/* A copy with its texts in the same allocation; NULL: out of memory. */
struct store_event *store_event_copy(const struct store_event *event);

int queue_open(const char *path, int64_t max_bytes, struct queue **ret, struct error *err);
void queue_close(struct queue *q); /* NULL is allowed */

/* Written in one transaction. */
struct queue_item {
    int64_t run, number;
    const struct snapshot *snapshot; /* or */
    const struct store_event *event;
};
int queue_put(struct queue *q, const struct queue_item *items, size_t count, struct error *err);

int64_t queue_count(const struct queue *q);
uint64_t queue_dropped(const struct queue *q); /* because the queue was full, or they became unreadable */

/* The oldest items of one run, owned by the caller: snapshots with a reference, events with their texts in the same allocation.
 * Returns their number, or -errno. A damaged item has neither. */
struct queued {
    int64_t run, number;
    struct snapshot *snapshot;
    struct store_event *event;
};
int queue_first(struct queue *q, struct queued *items, size_t max, struct error *err);
void queued_done(struct queued *item);
/* Removes the items of a run up to this number: they are written. */
int queue_remove(struct queue *q, int64_t run, int64_t up_to, struct error *err);
