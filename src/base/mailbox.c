/* SPDX-License-Identifier: Apache-2.0
 * The mailbox: mutex, condition, wake.
 */
#include "base/mailbox.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/os/thread.h"

struct mailbox {
    pthread_mutex_t lock;
    pthread_cond_t filled;
    void (*drop)(void *item);
    size_t capacity, first, count;
    uint64_t dropped;
    struct wake wake;
    bool closed;
    void *items[];
};

struct mailbox *mailbox_new(size_t capacity, void (*drop)(void *item))
{
    struct mailbox *m = calloc(1, sizeof *m + capacity * sizeof m->items[0]);
    if (!m)
        return NULL;
    if (wake_open(&m->wake) < 0) {
        free(m);
        return NULL;
    }
    m->capacity = capacity;
    m->drop = drop;
    pthread_mutex_init(&m->lock, NULL);
    condition_init(&m->filled);
    return m;
}

static void *take_first(struct mailbox *m)
{
    void *item = m->items[m->first];
    m->first = (m->first + 1) % m->capacity;
    m->count--;
    return item;
}

void mailbox_free(struct mailbox *m)
{
    if (!m)
        return;
    while (m->count) {
        void *item = take_first(m);
        if (m->drop)
            m->drop(item);
    }
    wake_close(&m->wake);
    pthread_cond_destroy(&m->filled);
    pthread_mutex_destroy(&m->lock);
    free(m);
}

static void append(struct mailbox *m, void *item)
{
    m->items[(m->first + m->count) % m->capacity] = item;
    m->count++;
    if (m->count == 1)
        wake_set(&m->wake);
    pthread_cond_signal(&m->filled);
}

void mailbox_put(struct mailbox *m, void *item)
{
    void *lost = NULL;
    pthread_mutex_lock(&m->lock);
    if (m->closed) {
        lost = item;
    } else {
        if (m->count == m->capacity) {
            lost = take_first(m);
            m->dropped++;
        }
        append(m, item);
    }
    pthread_mutex_unlock(&m->lock);
    if (lost && m->drop)
        m->drop(lost);
}

bool mailbox_offer(struct mailbox *m, void *item)
{
    pthread_mutex_lock(&m->lock);
    bool room = !m->closed && m->count * 2 <= m->capacity;
    if (room)
        append(m, item);
    pthread_mutex_unlock(&m->lock);
    return room;
}

void *mailbox_take(struct mailbox *m, int64_t timeout_ms)
{
    const struct mono until = {clock_mono(&clock_system).ns + timeout_ms * NS_PER_MS};
    void *item = NULL;
    pthread_mutex_lock(&m->lock);
    while (m->count == 0 && !m->closed && timeout_ms != 0) {
        if (timeout_ms < 0)
            pthread_cond_wait(&m->filled, &m->lock);
        else if (!condition_wait_until(&m->filled, &m->lock, until))
            break;
    }
    if (m->count) {
        item = take_first(m);
        if (m->count == 0)
            wake_clear(&m->wake);
    }
    pthread_mutex_unlock(&m->lock);
    return item;
}

void mailbox_close(struct mailbox *m)
{
    pthread_mutex_lock(&m->lock);
    m->closed = true;
    pthread_cond_broadcast(&m->filled);
    pthread_mutex_unlock(&m->lock);
}

bool mailbox_closed(struct mailbox *m)
{
    pthread_mutex_lock(&m->lock);
    bool closed = m->closed;
    pthread_mutex_unlock(&m->lock);
    return closed;
}

int mailbox_fd(struct mailbox *m)
{
    pthread_mutex_lock(&m->lock);
    int fd = wake_fd(&m->wake);
    pthread_mutex_unlock(&m->lock);
    return fd;
}

uint64_t mailbox_dropped(struct mailbox *m)
{
    pthread_mutex_lock(&m->lock);
    uint64_t dropped = m->dropped;
    pthread_mutex_unlock(&m->lock);
    return dropped;
}
