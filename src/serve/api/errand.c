/* SPDX-License-Identifier: Apache-2.0
 * The thread of an errand, and the request that waits for it.
 */
#include "serve/api/core.h"

#include <errno.h>

#include "base/cleanup.h"
#include "http/http.h"

static void *errand_run(void *errand)
{
    struct errand *e = errand;
    e->ops->work(e);
    mailbox_put(e->done, e);
    return NULL;
}

/* The result was sent, or its client has left. */
static void errand_reset(void *errand)
{
    ((struct errand *)errand)->finished = false;
}

static void errand_on_done(void *errand)
{
    struct errand *e = errand;
    if (!mailbox_take(e->done, 0))
        return;
    errand_end(e);
    if (e->ops->after)
        e->ops->after(e);
    struct conn *c = TAKE(e->conn);
    struct http_client *client = c ? http_client_of(c) : NULL;
    if (!client)
        return;
    e->finished = true;
    client->answer = e;
    client->drop_answer = errand_reset;
    http_unpark(c);
}

int errand_init(struct errand *e, const struct errand_ops *ops, struct loop *loop)
{
    *e = (struct errand){.ops = ops, .done = mailbox_new(1, NULL)};
    env_init_system(&e->env);
    if (!e->done)
        return -ENOMEM;
    e->watch = watch_readable(loop->base, mailbox_fd(e->done), errand_on_done, e);
    return e->watch && watch_on(e->watch, WATCH_NO_TIMEOUT) ? 0 : -ENOMEM;
}

void errand_end(struct errand *e)
{
    if (e->running)
        pthread_join(e->thread, NULL);
    e->running = false;
}

void errand_done(struct errand *e)
{
    watch_free(e->watch);
    mailbox_free(e->done);
}

static void errand_gone(struct conn *c, void *errand)
{
    struct errand *e = errand;
    if (e->conn == c)
        e->conn = NULL;
}

bool errand_is_over(struct errand *e, struct exchange *x)
{
    struct http_client *h = x->conn->state;
    if (!TAKE(h->answer))
        return false;
    errand_reset(e);
    return true;
}

bool errand_is_free(const struct errand *e, struct exchange *x)
{
    bool is_free = !e->running && !e->finished;
    if (!is_free)
        exchange_error(x, 409, "busy", "%s", e->ops->busy);
    return is_free;
}

void errand_begin(struct errand *e, struct exchange *x)
{
    struct http_client *h = x->conn->state;
    if (pthread_create(&e->thread, NULL, errand_run, e)) {
        exchange_error(x, 500, "internal", "No thread could be started.");
        return;
    }
    e->running = true;
    e->conn = x->conn;
    exchange_park(x);
    h->parked_gone = errand_gone;
    h->parked_owner = e;
}
