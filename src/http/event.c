/* SPDX-License-Identifier: Apache-2.0
 * Watches are libevent's events.
 */
#include "http/event.h"

#include <event2/event.h>
#include <event2/event_struct.h>
#include <stdlib.h>

#include "base/os/net.h"

struct watch {
    struct event event;
    void (*function)(void *arg);
    void *arg;
};

struct event_base *watch_base_new(void)
{
    struct event_config *config = net_start() < 0 ? NULL : event_config_new();
    if (!config)
        return NULL;
    event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK); /* single-threaded */
    struct event_base *base = event_base_new_with_config(config);
    event_config_free(config);
    return base;
}

void watch_base_free(struct event_base *base)
{
    if (base)
        event_base_free(base);
}

void watch_base_run(struct event_base *base)
{
    event_base_dispatch(base);
}

void watch_base_stop(struct event_base *base)
{
    event_base_loopbreak(base);
}

static void on_event(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    struct watch *w = arg;
    w->function(w->arg);
}

static struct watch *make(struct event_base *base, int fd, short what, void (*function)(void *arg), void *arg)
{
    struct watch *w = malloc(sizeof *w);
    if (!w)
        return NULL;
    w->function = function;
    w->arg = arg;
    event_assign(&w->event, base, fd, what, on_event, w);
    return w;
}

struct watch *watch_readable(struct event_base *base, int fd, void (*function)(void *arg), void *arg)
{
    return make(base, fd, EV_READ | EV_PERSIST, function, arg);
}

struct watch *watch_writable(struct event_base *base, int fd, void (*function)(void *arg), void *arg)
{
    return make(base, fd, EV_WRITE, function, arg);
}

struct watch *watch_timer(struct event_base *base, void (*function)(void *arg), void *arg)
{
    return make(base, -1, 0, function, arg);
}

struct watch *watch_ticker(struct event_base *base, void (*function)(void *arg), void *arg)
{
    return make(base, -1, EV_PERSIST, function, arg);
}

struct watch *watch_signal(struct event_base *base, int signal, void (*function)(void *arg), void *arg)
{
    return make(base, signal, EV_SIGNAL | EV_PERSIST, function, arg);
}

void watch_free(struct watch *w)
{
    if (!w)
        return;
    event_del(&w->event);
    free(w);
}

bool watch_on(struct watch *w, int64_t timeout_ms)
{
    struct timeval timeout = {.tv_sec = timeout_ms / 1000, .tv_usec = timeout_ms % 1000 * 1000};
    return event_add(&w->event, timeout_ms < 0 ? NULL : &timeout) == 0;
}

void watch_off(struct watch *w)
{
    event_del(&w->event);
}

bool watch_is_on(const struct watch *w)
{
    return event_pending(&w->event, EV_READ | EV_WRITE | EV_SIGNAL | EV_TIMEOUT, NULL) != 0;
}

void watch_call_soon(struct watch *w)
{
    event_active(&w->event, EV_TIMEOUT, 0);
}
