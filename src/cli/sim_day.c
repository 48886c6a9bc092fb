/* SPDX-License-Identifier: Apache-2.0
 * whirr sim day: writes a day of a simulated host as a history, so that `history`, `report`, `why --at` and the dashboard have data
 * at once.
 */
#include "cli/sim_day.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ask/progress.h"
#include "base/cleanup.h"
#include "base/units.h"
#include "cli/alert/alert.h"
#include "engine/attribution.h"
#include "insight/verdict/judge.h"
#include "store/store.h"

enum { STEP_MS = 60 * 1000, BATCH = 120 };

struct sim_day {
    struct store *store;
    struct judge *judge;
    const struct snapshot *batch[BATCH];
    size_t count, written;
    struct reading idle_mw[GPU_MAX]; /* the lowest power of each */
    struct progress *shown;
    struct error err;
};

static void day_flush(struct sim_day *d)
{
    if (d->count && !d->err.code && store_write(d->store, d->batch, d->count, NULL, 0, &d->err) == 0)
        d->written += d->count;
    progress_set(d->shown, NULL, (int64_t)(1000 * d->written / (DAY_MS / STEP_MS)), 0, NULL);
    for (size_t i = 0; i < d->count; i++)
        snapshot_unref(d->batch[i]);
    d->count = 0;
}

static void day_see(void *user, const struct snapshot *s)
{
    struct sim_day *d = user;
    struct snapshot *copy = d->err.code ? NULL : snapshot_copy(s);
    if (!copy)
        return;
    if (!copy->host.name[0])
        gethostname(copy->host.name, sizeof copy->host.name - 1);
    for (size_t i = 0; i < copy->gpu_count && i < GPU_MAX; i++)
        attribute_power(&copy->gpus[i], &d->idle_mw[i]);
    judge_take(d->judge, copy);
    d->batch[d->count++] = copy;
    if (d->count == BATCH)
        day_flush(d);
}

/* The file has its name once it is whole. */
static void day_finish(struct sim_day *d, const char *part, const char *path)
{
    static const char *const ends[] = {"", "-wal", "-shm"};
    char name[4096];
    if (!d->err.code && rename(part, path) < 0)
        error_set(&d->err, -errno, "cannot rename '%s' to '%s': %s", part, path, strerror(errno));
    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        snprintf(name, sizeof name, "%s%s", part, ends[i]);
        unlink(name);
    }
}

int sim_day(struct cli *cli, const char *path)
{
    char url[4096], part[4096];
    static struct sim_day d;
    d.judge = judge_new();
    struct clock_manual clock;
    struct env env = cli->env;
    /* The command and its default source share a name. */
    const char *source = cli->ask.source_count ? cli->ask.sources[0] : cli->name;
    if (!course_plays(source))
        return cli_usage(cli, "'%s' can't be played; try --source sim:scenario=NAME", source);
    snprintf(part, sizeof part, "%s.part", path);
    snprintf(url, sizeof url, "sqlite:%s", part);
    const struct store_options options = {.env = &cli->env, .url = url, .host = "", .limits = store_default_limits};
    unlink(part); /* of a run that was killed */
    if (access(path, F_OK) == 0)
        error_set(&d.err, -EEXIST, "'%s' is already there; a day is written to a new file", path);
    else if (!d.judge)
        error_set(&d.err, -ENOMEM, "out of memory");
    else if (store_open(&options, &d.store, &d.err) == 0) {
        d.shown = progress_begin("playing the day:");
        clock_manual_init(&clock, (struct wall){clock_wall(cli->env.clock).ms - DAY_MS});
        env.clock = &clock.clock;
        course_play(&env, source, DAY_MS, STEP_MS, day_see, &d, &d.err);
        day_flush(&d);
    }
    store_close(d.store);
    progress_end(d.shown);
    if (d.store)
        day_finish(&d, part, path);
    judge_free(d.judge);
    if (d.err.code)
        return cli_fail("%s", d.err.text);
    printf("SIMULATED: %zu samples of 24 hours in %s\nLook at it: whirr history --store %s\n", d.written, path, path);
    return EXIT_FINE;
}
