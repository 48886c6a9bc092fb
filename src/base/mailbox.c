/* SPDX-License-Identifier: Apache-2.0
 * The mailbox: mutex, condition, eventfd.
 */
#include "base/mailbox.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"

struct mailbox {
    pthread_mutex_t lock;
    pthread_cond_t filled;
    void (*drop)(void *item);
    size_t capacity, first, count;
    uint64_t dropped;
    int fd;
    bool closed;
    void *items[];
};

struct mailbox *mailbox_new(size_t capacity, void (*drop)(void *item))
{
    struct mailbox *m = calloc(1, sizeof *m + capacity * sizeof m->items[0]);
    if (!m)
        return NULL;
    m->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (m->fd < 0) {
        free(m);
        return NULL;
    }
    m->capacity = capacity;
    m->drop = drop;
    pthread_mutex_init(&m->lock, NULL);
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&m->filled, &attributes);
    pthread_condattr_destroy(&attributes);
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
    close(m->fd);
    pthread_cond_destroy(&m->filled);
    pthread_mutex_destroy(&m->lock);
    free(m);
}

static void append(struct mailbox *m, void *item)
{
    m->items[(m->first + m->count) % m->capacity] = item;
    m->count++;
    if (m->count == 1)
        eventfd_write(m->fd, 1);
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
    int64_t until_ns = clock_mono(&clock_system).ns + timeout_ms * NS_PER_MS;
    struct timespec until = {.tv_sec = until_ns / NS_PER_S, .tv_nsec = until_ns % NS_PER_S};
    void *item = NULL;
    pthread_mutex_lock(&m->lock);
    while (m->count == 0 && !m->closed && timeout_ms != 0) {
        if (timeout_ms < 0)
            pthread_cond_wait(&m->filled, &m->lock);
        else if (pthread_cond_timedwait(&m->filled, &m->lock, &until) != 0)
            break;
    }
    if (m->count) {
        item = take_first(m);
        if (m->count == 0) {
            eventfd_t ignored;
            eventfd_read(m->fd, &ignored);
        }
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

int mailbox_fd(const struct mailbox *m)
{
    return m->fd;
}

uint64_t mailbox_dropped(struct mailbox *m)
{
    pthread_mutex_lock(&m->lock);
    uint64_t dropped = m->dropped;
    pthread_mutex_unlock(&m->lock);
    return dropped;
}
