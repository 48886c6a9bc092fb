/* SPDX-License-Identifier: Apache-2.0
 * Items to write: first those in the queue on disk (if there is one), then those in memory. Used only by the keeper's thread.
 */
#pragma once

#include "store/service/queue.h"

enum { BACKLOG_MEMORY_MAX = 240, BATCH_MAX = 64 };

struct backlog_item {
    int64_t number;
    const struct snapshot *snapshot; /* or */
    struct store_event *event;
};

struct backlog {
    struct backlog_item items[BACKLOG_MEMORY_MAX]; /* oldest first */
    size_t count;
    struct queue *queue; /* NULL: memory only */
    int64_t run, next_number;
    int64_t given_out; /* items up to this number are in a batch that is being written; 0: none */
    uint64_t lost;
};

void backlog_init(struct backlog *b);
void backlog_done(struct backlog *b);

/* Take ownership. If memory is full, the oldest item is lost. */
void backlog_add_snapshot(struct backlog *b, const struct snapshot *snapshot);
void backlog_add_event(struct backlog *b, struct store_event *event);

/* Waiting items; lost items. */
int64_t backlog_count(const struct backlog *b);
uint64_t backlog_lost(const struct backlog *b);

/* Moves items from memory to disk: the server is unreachable, and the program may end before it is back. */
int backlog_spill(struct backlog *b, struct error *err);

/* The next items to write, all of one run. A batch owns its items, so that another thread can write it while the backlog
 * continues. */
struct backlog_batch {
    int64_t run, first, number; /* number of the first and the last item */
    const struct snapshot *snapshots[BATCH_MAX];
    size_t snapshot_count;
    struct store_event events[BATCH_MAX];
    size_t event_count;
    size_t count;                    /* items in total */
    struct queued queued[BATCH_MAX]; /* owns the items above */
};
/* 1: a batch, 0: nothing waits, or -errno. Its items stay in the backlog until backlog_written. */
int backlog_next(struct backlog *b, struct backlog_batch *batch, struct error *err);
/* The batch is no longer being written. */
void backlog_returned(struct backlog *b);
/* The host that the batch comes from; "" if unknown. */
const char *batch_host(const struct backlog_batch *batch);
void batch_done(struct backlog_batch *batch);

/* Forgets the items of a run up to this number: they are written. */
int backlog_written(struct backlog *b, int64_t run, int64_t up_to, struct error *err);
