/* SPDX-License-Identifier: Apache-2.0
 * The backlog: a list in memory, and the queue on disk.
 */
#include "store/service/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/cleanup.h"

void backlog_init(struct backlog *b)
{
    *b = (struct backlog){.next_number = 1};
    uint64_t run = 0;
    if (getrandom(&run, sizeof run, 0) != sizeof run)
        run = (uint64_t)clock_wall(&clock_system).ms;
    b->run = (int64_t)(run >> 1 | 1); /* positive, never 0 */
}

static void item_done(struct backlog_item *item)
{
    snapshot_unref(item->snapshot);
    free(item->event);
}

void backlog_done(struct backlog *b)
{
    for (size_t i = 0; i < b->count; i++)
        item_done(&b->items[i]);
    b->count = 0;
    queue_close(b->queue);
    b->queue = NULL;
}

static void forget_first(struct backlog *b, size_t count)
{
    for (size_t i = 0; i < count; i++)
        item_done(&b->items[i]);
    b->count -= count;
    memmove(b->items, b->items + count, b->count * sizeof b->items[0]);
}

/* Drops the oldest item that is not being written. */
static void lose_one(struct backlog *b)
{
    size_t at = 0;
    while (at < b->count - 1 && b->items[at].number <= b->given_out)
        at++;
    item_done(&b->items[at]);
    b->count--;
    memmove(b->items + at, b->items + at + 1, (b->count - at) * sizeof b->items[0]);
    b->lost++;
}

static void backlog_add(struct backlog *b, struct backlog_item item)
{
    if (b->count == BACKLOG_MEMORY_MAX)
        lose_one(b);
    item.number = b->next_number++;
    b->items[b->count++] = item;
}

void backlog_add_snapshot(struct backlog *b, const struct snapshot *snapshot)
{
    backlog_add(b, (struct backlog_item){.snapshot = snapshot});
}

void backlog_add_event(struct backlog *b, struct store_event *event)
{
    backlog_add(b, (struct backlog_item){.event = event});
}

int64_t backlog_count(const struct backlog *b)
{
    return (int64_t)b->count + (b->queue ? queue_count(b->queue) : 0);
}

uint64_t backlog_lost(const struct backlog *b)
{
    return b->lost + (b->queue ? queue_dropped(b->queue) : 0);
}

int backlog_spill(struct backlog *b, struct error *err)
{
    if (!b->queue || b->count == 0)
        return 0;
    struct queue_item items[BACKLOG_MEMORY_MAX];
    for (size_t i = 0; i < b->count; i++)
        items[i] = (struct queue_item){
            .run = b->run, .number = b->items[i].number, .snapshot = b->items[i].snapshot, .event = b->items[i].event};
    int rc = queue_put(b->queue, items, b->count, err);
    if (rc == 0)
        forget_first(b, b->count);
    return rc;
}

/* Copies items from memory, with references of their own. */
static int copy_items(const struct backlog *b, struct queued *items)
{
    size_t count = MIN_OF(b->count, (size_t)BATCH_MAX);
    for (size_t i = 0; i < count; i++) {
        const struct backlog_item *item = &b->items[i];
        struct store_event *event = item->event ? store_event_copy(item->event) : NULL;
        if (item->event && !event) {
            for (size_t k = 0; k < i; k++)
                queued_done(&items[k]);
            return -ENOMEM;
        }
        items[i] = (struct queued){.run = b->run, .number = item->number, .event = event};
        items[i].snapshot = item->snapshot ? (struct snapshot *)snapshot_ref(item->snapshot) : NULL;
    }
    return (int)count;
}

int backlog_next(struct backlog *b, struct backlog_batch *batch, struct error *err)
{
    *batch = (struct backlog_batch){0};
    bool queued = b->queue && queue_count(b->queue);
    int count = queued ? queue_first(b->queue, batch->queued, BATCH_MAX, err) : copy_items(b, batch->queued);
    if (count < 0)
        return queued ? count : error_set(err, count, "out of memory");
    for (int i = 0; i < count; i++) {
        const struct queued *item = &batch->queued[i];
        if (item->snapshot)
            batch->snapshots[batch->snapshot_count++] = item->snapshot;
        else if (item->event)
            batch->events[batch->event_count++] = *item->event;
    }
    if (count > 0) {
        batch->count = (size_t)count;
        batch->run = batch->queued[0].run;
        batch->first = batch->queued[0].number;
        batch->number = batch->queued[count - 1].number;
    }
    b->given_out = queued ? 0 : batch->number;
    return count > 0;
}

void backlog_returned(struct backlog *b)
{
    b->given_out = 0;
}

const char *batch_host(const struct backlog_batch *batch)
{
    return batch->snapshot_count ? batch->snapshots[0]->host.name : "";
}

void batch_done(struct backlog_batch *batch)
{
    for (size_t i = 0; i < batch->count; i++)
        queued_done(&batch->queued[i]);
    *batch = (struct backlog_batch){0};
}

int backlog_written(struct backlog *b, int64_t run, int64_t up_to, struct error *err)
{
    size_t count = 0;
    while (run == b->run && count < b->count && b->items[count].number <= up_to)
        count++;
    forget_first(b, count);
    return b->queue && queue_count(b->queue) ? queue_remove(b->queue, run, up_to, err) : 0;
}
