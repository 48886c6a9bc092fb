/* SPDX-License-Identifier: Apache-2.0
 * The event loop around libevent's.
 */
#include "http/loop.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"

int64_t loop_now_ms(void)
{
    return clock_mono(&clock_system).ns / NS_PER_MS;
}

static void free_closed(struct loop *loop)
{
    while (loop->dead) {
        struct conn *c = loop->dead;
        loop->dead = c->next_ready;
        if (c->prev)
            c->prev->next = c->next;
        else
            loop->conns = c->next;
        if (c->next)
            c->next->prev = c->prev;
        loop->conn_count--;
        conn_destroy(c);
    }
}

void loop_resume_one(struct conn *c); /* in conn.c */

static void on_later(void *arg)
{
    struct loop *loop = arg;
    /* Connections that become ready meanwhile wait for the next iteration. */
    struct conn *c = loop->ready;
    loop->ready = loop->ready_last = NULL;
    while (c) {
        struct conn *next = c->next_ready;
        c->next_ready = NULL;
        c->resuming = false;
        if (!c->closing)
            loop_resume_one(c);
        else { /* closed while queued: this list is the last to hold it */
            c->next_ready = loop->dead;
            loop->dead = c;
        }
        c = next;
    }
    free_closed(loop);
}

static void start_sweeping(struct loop *loop)
{
    if (loop->sweeping)
        return;
    loop->sweeping = true;
    watch_on(loop->sweep, 1000);
}

static void on_sweep(void *arg)
{
    struct loop *loop = arg;
    int64_t now = loop_now_ms();
    loop->sweeping = false;
    for (struct conn *c = loop->conns; c; c = c->next) {
        if (c->closing || c->deadline_ms > now)
            continue;
        c->deadline_ms = INT64_MAX;
        if (c->protocol->expired)
            c->protocol->expired(c);
        else
            conn_close(c);
    }
    if (loop->conns)
        start_sweeping(loop);
}

void loop_add(struct loop *loop, struct conn *c)
{
    c->next = loop->conns;
    c->prev = NULL;
    if (loop->conns)
        loop->conns->prev = c;
    loop->conns = c;
    loop->conn_count++;
    start_sweeping(loop);
}

void loop_soon(struct loop *loop)
{
    watch_call_soon(loop->later);
}

int loop_init(struct loop *loop, struct error *err)
{
    *loop = (struct loop){0};
    loop->base = watch_base_new();
    loop->space = malloc(LOOP_SPACE);
    if (loop->base) {
        loop->later = watch_ticker(loop->base, on_later, loop);
        loop->sweep = watch_timer(loop->base, on_sweep, loop);
    }
    if (!loop->base || !loop->space || !loop->later || !loop->sweep) {
        loop_done(loop);
        return error_set(err, -ENOMEM, "cannot set up the event loop");
    }
    return 0;
}

void loop_free_closed(struct loop *loop)
{
    while (loop->ready) {
        struct conn *c = loop->ready;
        loop->ready = c->next_ready;
        c->resuming = false;
        if (!c->closing)
            continue;
        c->next_ready = loop->dead;
        loop->dead = c;
    }
    loop->ready_last = NULL;
    free_closed(loop);
}

void loop_done(struct loop *loop)
{
    for (struct conn *c = loop->conns; c; c = c->next)
        conn_close(c);
    loop_free_closed(loop);
    watch_free(loop->later);
    watch_free(loop->sweep);
    watch_base_free(loop->base);
    free(loop->space);
    *loop = (struct loop){0};
}
