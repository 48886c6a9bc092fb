/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/poller.h"

#include <errno.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/mailbox.h"

static void *poller_run(void *user)
{
    struct poller *a = user;
    while (!a->stop)
        free(mailbox_take(a->wake, a->ops->look(a->part)));
    return NULL;
}

static void annotate(void *user, struct snapshot *s)
{
    struct poller *a = user;
    pthread_mutex_lock(&a->lock);
    a->ops->annotate(a->part, s);
    pthread_mutex_unlock(&a->lock);
}

int poller_init(struct poller *a, const struct poller_ops *ops, void *part, struct engine *engine, bool wanted)
{
    *a = (struct poller){.ops = ops, .part = part, .engine = engine, .wanted = wanted, .wake = mailbox_new(1, free)};
    if (!a->wake)
        return -ENOMEM;
    pthread_mutex_init(&a->lock, NULL);
    return 0;
}

void poller_start(struct poller *a)
{
    engine_add_annotate(a->engine, annotate, a);
    a->runs = pthread_create(&a->thread, NULL, poller_run, a) == 0;
    if (!a->runs)
        log_warn(a->ops->no_thread, LOG_TEXT("error", "no thread"));
}

void poller_want(struct poller *a, bool wanted)
{
    if (atomic_exchange(&a->wanted, wanted) != wanted)
        mailbox_put(a->wake, calloc(1, 1)); /* without memory it waits for its time */
}

void poller_stop(struct poller *a)
{
    engine_remove_annotate(a->engine, a);
    a->stop = true;
    mailbox_close(a->wake);
    if (a->runs)
        pthread_join(a->thread, NULL);
    a->runs = false;
}

void poller_done(struct poller *a)
{
    if (!a->wake)
        return;
    mailbox_free(a->wake);
    pthread_mutex_destroy(&a->lock);
    a->wake = NULL;
}
