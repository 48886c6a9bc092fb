/* SPDX-License-Identifier: Apache-2.0
 * What waits on disk while the database server is away: snapshots and events in order, in an SQLite file. Each has a number that
 * is unique within the run of the program that made it; a server that took one and could not say so any more is asked for the
 * last number when it is back. Bounded: when the file is full, the oldest go.
 */
#pragma once

#include "base/error.h"
#include "model/snapshot.h"
#include "store/store.h"

struct queue;

/* With its texts behind the struct, in one piece of memory; NULL: out of memory. */
struct store_event *store_event_copy(const struct store_event *event);

int queue_open(const char *path, int64_t max_bytes, struct queue **ret, struct error *err);
void queue_close(struct queue *q); /* NULL is fine */

/* One transaction for all of them. */
struct queue_item {
    int64_t run, number;
    const struct snapshot *snapshot; /* or */
    const struct store_event *event;
};
int queue_put(struct queue *q, const struct queue_item *items, size_t count, struct error *err);

int64_t queue_count(const struct queue *q);
uint64_t queue_dropped(const struct queue *q); /* because it was full, or could not be read any more */

/* The oldest ones of one run, as the caller's own: snapshots with a reference, events with their texts behind the struct. Returns
 * how many, or -errno. A damaged entry has neither. */
struct queued {
    int64_t run, number;
    struct snapshot *snapshot;
    struct store_event *event;
};
int queue_first(struct queue *q, struct queued *items, size_t max, struct error *err);
void queued_done(struct queued *item);
/* Everything of the run up to the number is where it belongs. */
int queue_remove(struct queue *q, int64_t run, int64_t up_to, struct error *err);
