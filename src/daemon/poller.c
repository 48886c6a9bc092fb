/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/poller.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/mailbox.h"

static void *poller_run(void *user)
{
    struct poller *a = user;
    while (!a->stop)
        free(mailbox_take(a->wake, a->ops->poll(a)));
    return NULL;
}

static void annotate(void *user, struct snapshot *s)
{
    struct poller *a = user;
    pthread_mutex_lock(&a->lock);
    a->ops->annotate(a, s);
    pthread_mutex_unlock(&a->lock);
}

void *poller_open(const struct poller_ops *ops, size_t size, const struct part_host *host)
{
    struct poller *a = calloc(1, size);
    struct mailbox *wake = a ? mailbox_new(1, free) : NULL;
    if (!wake) {
        free(a);
        return NULL;
    }
    *a = (struct poller){.ops = ops, .env = host->env, .engine = host->engine, .wanted = ops->wanted(host->config), .wake = wake};
    pthread_mutex_init(&a->lock, NULL);
    return a;
}

int poller_start(void *part, const struct part_host *host)
{
    struct poller *a = part;
    (void)host;
    engine_add_annotate(a->engine, annotate, a);
    a->runs = pthread_create(&a->thread, NULL, poller_run, a) == 0;
    if (!a->runs)
        log_warn(a->ops->no_thread, LOG_TEXT("error", "no thread"));
    return 0;
}

void poller_wake(void *part)
{
    struct poller *a = part;
    mailbox_put(a->wake, calloc(1, 1)); /* if out of memory, it waits for its regular time */
}

void poller_reload(void *part, const struct config *config)
{
    struct poller *a = part;
    bool wanted = a->ops->wanted(config);
    if (atomic_exchange(&a->wanted, wanted) != wanted)
        poller_wake(a);
}

void poller_stop(void *part)
{
    struct poller *a = part;
    engine_remove_annotate(a->engine, a);
    a->stop = true;
    mailbox_close(a->wake);
    if (a->runs)
        pthread_join(a->thread, NULL);
    a->runs = false;
}

void poller_close(void *part)
{
    struct poller *a = part;
    if (!a)
        return;
    mailbox_free(a->wake);
    pthread_mutex_destroy(&a->lock);
    free(a);
}
