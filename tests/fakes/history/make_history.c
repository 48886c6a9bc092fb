/* SPDX-License-Identifier: Apache-2.0
 * Makes the history of a simulated machine in seconds, with a clock of its own, for tests of what is told about the past:
 *
 *   make_history URL MINUTES [PARAMETERS [INTERVAL_S [SKIP_FROM SKIP_TO]]]
 *
 * The history ends now, or at MAKE_HISTORY_END (seconds since 1970), so that two of them can be the same. Between the minutes
 * SKIP_FROM and SKIP_TO nothing is stored, as if the daemon had not run. With MAKE_HISTORY_JUDGED, samples are judged before they
 * are stored, as those of a daemon.
 */
#include "box.h"
#include "insight/verdict/judge.h"
#include "store/store.h"

enum { BATCH = 64 };

struct maker {
    struct box box;
    struct store *store;
    struct judge *judge; /* NULL: nothing is judged */
    const struct snapshot *batch[BATCH];
    size_t batched;
};

static void flush(struct maker *m)
{
    struct error err;
    if (m->batched && store_write(m->store, m->batch, m->batched, NULL, 0, &err) < 0)
        die(err.text);
    for (size_t i = 0; i < m->batched; i++)
        snapshot_unref((struct snapshot *)m->batch[i]);
    m->batched = 0;
}

static void tell_start(struct maker *m)
{
    struct error err;
    const struct store_event start = {
        .at = clock_wall(m->box.env.clock), .gpu_index = -1, .kind = "daemon", .severity = "info", .text = "whirr started"};
    flush(m);
    if (store_write(m->store, NULL, 0, &start, 1, &err) < 0)
        die(err.text);
}

static void take_sample(struct maker *m)
{
    struct snapshot *s = box_sample(&m->box);
    if (m->judge)
        judge_take(m->judge, s);
    m->batch[m->batched++] = s;
}

static void open_all(struct maker *m, const char *url, const char *params, int64_t minutes, double interval_s)
{
    struct error err;
    const char *told = getenv("MAKE_HISTORY_END");
    int64_t end_ms = told ? strtoll(told, NULL, 10) * 1000 : clock_wall(&clock_system).ms;
    box_open(&m->box, params, (struct wall){end_ms - minutes * 60000}, interval_s);
    m->judge = getenv("MAKE_HISTORY_JUDGED") ? judge_new() : NULL;
    const struct store_options options = {.env = &m->box.env, .url = url, .host = "box", .limits = store_default_limits};
    if (store_open(&options, &m->store, &err) < 0)
        die(err.text);
}

int main(int argc, char **argv)
{
    static struct maker m;
    if (argc < 3)
        die("make_history URL MINUTES [PARAMETERS [INTERVAL_S [SKIP_FROM SKIP_TO]]]");
    int64_t minutes = strtoll(argv[2], NULL, 10), skip_from = -1, skip_to = -1;
    double interval_s = argc > 4 ? strtod(argv[4], NULL) : 5;
    if (minutes <= 0 || interval_s <= 0)
        die("minutes and interval must be above 0");
    if (argc > 6) {
        skip_from = strtoll(argv[5], NULL, 10) * 60000;
        skip_to = strtoll(argv[6], NULL, 10) * 60000;
    }
    open_all(&m, argv[1], argc > 3 ? argv[3] : "", minutes, interval_s);
    int64_t interval_ms = (int64_t)(interval_s * 1000);
    bool runs = false;
    for (int64_t t = 0; t < minutes * 60000; t += interval_ms, clock_manual_advance_ms(&m.box.clock, interval_ms)) {
        bool skipped = t >= skip_from && t < skip_to;
        if (!skipped && !runs)
            tell_start(&m);
        runs = !skipped;
        if (runs)
            take_sample(&m);
        if (m.batched == BATCH)
            flush(&m);
    }
    flush(&m);
    store_close(m.store);
    judge_free(m.judge);
    sim_source.close(m.box.source);
    return 0;
}
