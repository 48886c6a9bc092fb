/* SPDX-License-Identifier: Apache-2.0
 * What is still to be written: first what lies in the queue on disk (where there is one), then what is in memory. Used from the
 * keeper's thread alone.
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
    struct queue *queue; /* NULL: memory alone */
    int64_t run, next_number;
    int64_t given_out; /* numbers up to this one are in a batch that is being written; 0: none */
    uint64_t lost;
};

void backlog_init(struct backlog *b);
void backlog_done(struct backlog *b);

/* Take what they are given. When memory is full, the oldest is lost. */
void backlog_add_snapshot(struct backlog *b, const struct snapshot *snapshot);
void backlog_add_event(struct backlog *b, struct store_event *event);

/* Entries that wait; how many were lost. */
int64_t backlog_count(const struct backlog *b);
uint64_t backlog_lost(const struct backlog *b);

/* From memory to disk: the server is away, and the program may end before it is back. */
int backlog_spill(struct backlog *b, struct error *err);

/* The next things to write, of one run. It owns what it points to: another thread may write it while the backlog goes on. */
struct backlog_batch {
    int64_t run, first, number; /* the first and the last one's */
    const struct snapshot *snapshots[BATCH_MAX];
    size_t snapshot_count;
    struct store_event events[BATCH_MAX];
    size_t event_count;
    size_t count;                    /* entries in all */
    struct queued queued[BATCH_MAX]; /* what the others point to */
};
/* 1: there is one, 0: nothing waits, or -errno. What it holds stays in the backlog until backlog_written. */
int backlog_next(struct backlog *b, struct backlog_batch *batch, struct error *err);
/* The batch is being written no longer. */
void backlog_returned(struct backlog *b);
/* The name of the host that the batch speaks of; "" unknown. */
const char *batch_host(const struct backlog_batch *batch);
void batch_done(struct backlog_batch *batch);

/* Everything of a run up to a number is written, and forgotten. */
int backlog_written(struct backlog *b, int64_t run, int64_t up_to, struct error *err);
