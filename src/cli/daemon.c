/* SPDX-License-Identifier: Apache-2.0
 * Starts the parts in order, follows signals, stops them in reverse order.
 */
#include "cli/daemon.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "cli/notify.h"
#include "cli/story.h"

struct daemon {
    const struct daemon_options *options;
    struct engine *engine;
    struct server *server;
    struct story story;
};

static void on_stop(void *user)
{
    struct daemon *d = user;
    log_info("stopping", LOG_INT("clients", (int64_t)server_clients(d->server)));
    notify_send("STOPPING=1\nSTATUS=Telling %zu clients", server_clients(d->server));
    server_stop(d->server);
}

static void on_reload(void *user)
{
    struct daemon *d = user;
    struct error err = {0};
    notify_reloading();
    if (server_reload(d->server, &d->options->server, &err))
        log_error("reload failed in part, the old settings stay", LOG_TEXT("error", err.text));
    else
        log_info("reloaded");
    notify_send("READY=1");
}

static void on_watchdog(void *user)
{
    (void)user;
    notify_send("WATCHDOG=1");
}

static void on_sample(void *user, const struct snapshot *s)
{
    struct daemon *d = user;
    story_follow(&d->story, s);
    notify_send("STATUS=%zu GPU%s, %zu client%s", s->gpu_count, s->gpu_count == 1 ? "" : "s", server_clients(d->server),
                server_clients(d->server) == 1 ? "" : "s");
}

/* Threads inherit the mask: signals are for this thread, which has them in its event loop. */
static void block_signals(int how)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    pthread_sigmask(how, &set, NULL);
}

static int watch(struct daemon *d)
{
    int result = server_on_signal(d->server, SIGTERM, on_stop, d);
    if (!result)
        result = server_on_signal(d->server, SIGINT, on_stop, d);
    if (!result)
        result = server_on_signal(d->server, SIGHUP, on_reload, d);
    int64_t watchdog = notify_watchdog_ms();
    if (!result && watchdog)
        result = server_on_timer(d->server, watchdog, on_watchdog, d);
    return result;
}

static int start(struct daemon *d, struct error *err)
{
    const struct daemon_options *o = d->options;
    d->engine = engine_new(
        &(struct engine_options){
            .env = o->env, .sources = o->sources, .source_count = o->source_count, .interval_ms = o->server.interval_ms},
        err);
    if (!d->engine)
        return err->code ? err->code : -1;
    struct server_options server = o->server;
    server.engine = d->engine;
    server.env = o->env;
    int result = server_new(&server, &(struct server_parts){.sampled = on_sample, .user = d}, &d->server, err);
    if (!result && watch(d))
        result = error_set(err, -1, "cannot watch signals");
    return result;
}

int daemon_run(const struct daemon_options *options)
{
    struct daemon d = {.options = options};
    struct error err = {0};
    block_signals(SIG_BLOCK);
    int result = start(&d, &err);
    block_signals(SIG_UNBLOCK);
    if (result) {
        log_error("cannot start", LOG_TEXT("error", err.text));
    } else {
        const char *address;
        for (size_t i = 0; (address = server_address(d.server, i)); i++)
            log_info("listening", LOG_TEXT("address", address));
        notify_send("READY=1\nSTATUS=Waiting for the first sample");
        server_run(d.server);
    }
    /* The engine first: it puts samples into mailboxes that the server owns. */
    engine_free(d.engine);
    server_free(d.server);
    story_done(&d.story);
    if (!result)
        log_info("stopped");
    return result ? 1 : 0;
}
