/* SPDX-License-Identifier: Apache-2.0
 * whirr forecast: when memory is full, when heat throttles the GPU, when the history database is full.
 */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "ask/answers.h"
#include "base/cleanup.h"
#include "cli/cli_show.h"
#include "format/forecast_forms.h"

/* Without a daemon and a recent history, the command watches the GPUs itself. */
enum { WATCH_DEFAULT_MS = 20000, WATCH_MAX_MS = 3600000, STEP_MIN_MS = 100, STEP_MAX_MS = 1000, STEPS = 40 };

static void cleanup_forecast(struct forecast **f)
{
    forecast_free(*f);
}

static void write_answer(struct cli *cli, const struct forecast *f, const struct forecast_basis *basis, int only, struct buf *out)
{
    if (cli->json)
        json_forecast(AS_JSON(cli, out), f, basis, only);
    else
        table_forecast(out, &cli->page, f, basis, only);
}

static void announce(const struct cli *cli, int64_t watch_ms)
{
    if (isatty(STDERR_FILENO) && !options_has(cli->options, "watch-for"))
        fprintf(stderr, "whirr: no daemon is running, so there is no past; watching for %lld s (--watch-for)\n",
                (long long)(watch_ms / MS_PER_S));
}

/* Samples until the time is over; *last is the newest sample. */
static int watch(struct session *session, int64_t watch_ms, struct forecast_memory *memory, const struct snapshot **last,
                 struct error *err)
{
    int64_t step = MAX_OF(STEP_MIN_MS, MIN_OF(STEP_MAX_MS, watch_ms / STEPS));
    struct mono began = (*last)->taken;
    session_set_max_age(session, step / 2);
    while (mono_since_ms((*last)->taken, began) < watch_ms && (*last)->gpu_count) {
        pause_ms(step);
        const struct snapshot *next = session_sample(session, GROUP_QUICK | GROUP_STATIC, err);
        if (!next)
            return err->code;
        snapshot_unref(*last);
        *last = next;
        if (!forecast_see(memory, next))
            return error_set(err, -ENOMEM, "out of memory");
    }
    return 0;
}

/* What this process has seen without a daemon; with --watch it grows with every frame. */
struct own_history {
    struct forecast_memory *memory; /* NULL before the first frame */
    double seen_s;                  /* seconds of stored history before `since` */
    struct mono since;
};
static struct own_history own;

static void forecast_forget(void)
{
    forecast_memory_free(own.memory);
    own = (struct own_history){0};
}

/* Only the first frame takes long; later ones add to its data. */
static int fill_history(struct cli *cli, struct session *session, const struct snapshot **now, struct error *err)
{
    int64_t watch_ms = WATCH_DEFAULT_MS;
    own.memory = forecast_memory_new();
    if (!own.memory)
        return error_set(err, -ENOMEM, "out of memory");
    if (options_seconds(cli->options, "watch-for", &watch_ms, err) < 0)
        return err->code;
    own.since = (*now)->taken;
    /* Simulated and recorded hosts have no history here. */
    bool named = options_has(cli->options, "store");
    struct error problem = {0};
    if (named || (!cli->host && !options_has(cli->options, "source") && !env_is_recorded(&cli->env)))
        own.seen_s = forecast_see_past(cli, *now, own.memory, &problem);
    if (problem.code)
        return error_set(err, problem.code, "%s", problem.text);
    forecast_see(own.memory, *now);
    if (own.seen_s > 0 && !options_has(cli->options, "watch-for"))
        return 0;
    if ((*now)->gpu_count)
        announce(cli, watch_ms);
    return watch(session, watch_ms, own.memory, now, err);
}

static int alone(struct cli *cli, struct session *session, const struct snapshot *first, int only, struct buf *out,
                 struct error *err)
{
    AUTO_SNAPSHOT const struct snapshot *now = snapshot_ref(first);
    if (own.memory)
        forecast_see(own.memory, now);
    else if (fill_history(cli, session, &now, err) < 0)
        return err->code;
    struct forecast_basis basis = {.host = now->host.name,
                                   .watched_s = own.seen_s + (double)mono_since_ms(now->taken, own.since) / 1000};
    for (size_t i = 0; i < now->gpu_count; i++)
        basis.simulated |= now->gpus[i].simulated;
    __attribute__((cleanup(cleanup_forecast))) struct forecast *f = forecast_make(own.memory, now);
    if (!f)
        return error_set(err, -ENOMEM, "out of memory");
    write_answer(cli, f, &basis, only, out);
    return 0;
}

static int forecast_render(struct cli *cli, struct session *session, struct buf *out, struct error *err)
{
    int only;
    AUTO_SNAPSHOT const struct snapshot *s = session_sample(session, GROUP_ALL, err);
    if (!s || session_only(session, s, &only, err) < 0)
        return err->code;
    AUTO_BUF struct buf answer = BUF(4 << 20);
    struct forecast_basis basis = {0};
    __attribute__((cleanup(cleanup_forecast))) struct forecast *f = NULL;
    /* A daemon knows only its own history. */
    if (!options_has(cli->options, "store") && session_get(session, "/api/forecast", &answer) == 200)
        f = forecast_from_json(buf_view(&answer), &basis);
    if (!f || f->count != s->gpu_count)
        return alone(cli, session, s, only, out, err);
    basis.host = s->host.name;
    write_answer(cli, f, &basis, only, out);
    return 0;
}

static int forecast_run(struct cli *cli)
{
    struct error err = {0};
    int64_t watch_ms = WATCH_DEFAULT_MS;
    if (options_seconds(cli->options, "watch-for", &watch_ms, &err) < 0)
        return cli_usage(cli, "%s", err.text);
    if (watch_ms > WATCH_MAX_MS)
        return cli_usage(cli, "--watch-for is at most an hour (%d seconds); to watch all the time: whirr serve",
                         WATCH_MAX_MS / MS_PER_S);
    int status = show(cli, forecast_render);
    forecast_forget();
    return status;
}

static const struct option_spec options[] = {
    {.name = "watch-for",
     .argument = "SECONDS",
     .help = "Without a daemon: watch this long before answering (default: 20, or 0 if recent history is stored)"},
    {OPTION_STORE},
    {OPTION_WATCH},
};

const struct command command_forecast = {
    .name = "forecast",
    .place = "why --forecast",
    .hidden = true,
    .group = HELP_EXPLAIN,
    .summary = "Forecast when memory will be full and when a GPU will throttle",
    .details =
        "Memory: the robust slope since the last load, unload or change of processes, with an interval, and the process that is "
        "growing; or no trend. Temperature: where it settles under the current load; never, if that is below the GPU's throttle "
        "limit. History database: when it reaches its size limit or the disk is full. A running daemon is asked first: it has more "
        "samples, so it sees further. The interval is meant to hold the truth in four of five cases.",
    OPTIONS(options),
    .examples = {{"whirr why --forecast", "when memory is full, when a GPU throttles, when the disk is full"},
                 {"whirr why --forecast --gpu 1 --json | jq .gpus[0].memory.seconds", "one number as data"},
                 {"whirr why --forecast --direct --watch-for 60", "without the daemon, after watching for a minute"}},
    .remote = true,
    .run = forecast_run,
};
