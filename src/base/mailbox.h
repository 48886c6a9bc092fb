/* SPDX-License-Identifier: Apache-2.0
 * The one place where threads meet: a bounded queue of pointers with a file descriptor that an event loop can watch.
 *
 *   producer ──mailbox_put()──▶ [ ring of `capacity` items ] ──mailbox_take()──▶ consumer
 *
 * A full mailbox drops its oldest item (its `drop` function is called with it) and counts the loss: a slow reader never delays
 * a writer.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mailbox;

struct mailbox *mailbox_new(size_t capacity, void (*drop)(void *item)); /* NULL: out of memory or descriptors */
void mailbox_free(struct mailbox *m);                                   /* drops remaining items */

void mailbox_put(struct mailbox *m, void *item);
/* Like mailbox_put, but returns false (the caller keeps the item) if the mailbox is closed or over half full: bulk senders must
 * leave room for items that must not be lost. */
bool mailbox_offer(struct mailbox *m, void *item);
/* The oldest item, or NULL after timeout_ms (0: don't wait, negative: wait forever) or mailbox_close(). */
void *mailbox_take(struct mailbox *m, int64_t timeout_ms);
/* Wakes all readers and drops later puts. */
void mailbox_close(struct mailbox *m);
bool mailbox_closed(struct mailbox *m);

int mailbox_fd(struct mailbox *m); /* readable while items are queued */
uint64_t mailbox_dropped(struct mailbox *m);
