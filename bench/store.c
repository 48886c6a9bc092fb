/* SPDX-License-Identifier: Apache-2.0
 * The history's figures, on eight simulated cards that show everything an H100 does, one sample every 5 s: rows a second into
 * SQLite, bytes a stored value, how the file grows, how long plots take on 30 days, what a day's clean-up costs.
 *
 *   bench_store [DAYS]      30 days by default, about 1.2 GB in $TMPDIR
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "source/sim/sim.h"
#include "store/query.h"

enum { GPUS = 8, KINDS = 720, BATCH = 60, SAMPLES_A_DAY = 17280 };
#define BEGIN_MS 1772323200000LL
#define DAY_MS 86400000LL

static int failures;

static double now_s(void)
{
    return (double)clock_mono(&clock_system).ns / 1e9;
}

static void judge(const char *what, double value, const char *unit, double limit, bool at_least)
{
    bool good = at_least ? value >= limit : value <= limit;
    failures += !good;
    printf("%-44s %12.2f %-8s %s %.6g %s\n", what, value, unit, at_least ? "at least" : "at most ", limit, good ? "" : "  MISSED");
    fflush(stdout);
}

static void die(const char *what)
{
    fprintf(stderr, "bench_store: %s\n", what);
    exit(1);
}

/* An hour of snapshots, to be used again and again at later times: making them is not what is measured. */
static struct snapshot *kinds[KINDS];

static void make_kinds(void)
{
    struct clock_manual clock;
    struct env env;
    struct source *source;
    struct error err;
    struct gpu_id ids[GPUS];
    clock_manual_init(&clock, (struct wall){BEGIN_MS});
    env_init_system(&env);
    env.clock = &clock.clock;
    if (sim_source.open(&env, "gpus=8,model=h100,scenario=bursty", &source, &err) != 0)
        die(err.text);
    sim_source.list(source, ids, GPUS);
    for (size_t k = 0; k < KINDS; k++) {
        kinds[k] = snapshot_new(GPUS);
        snprintf(kinds[k]->host.name, HOST_NAME_SIZE, "bench");
        kinds[k]->interval_s = 5;
        if (sim_source.refresh)
            sim_source.refresh(source, GROUP_ALL, &err);
        for (size_t i = 0; i < GPUS; i++) {
            sim_source.sample(source, i, GROUP_ALL, &kinds[k]->gpus[i]);
            kinds[k]->gpus[i].id = ids[i];
            kinds[k]->gpus[i].index = (int)i;
        }
        clock_manual_advance_ms(&clock, 5000);
    }
    sim_source.close(source);
}

static int64_t values_of(const struct snapshot *s)
{
    int64_t values = 0;
    for (size_t i = 0; i < GPUS; i++)
        for (size_t c = 0; c < series_count(SERIES_GPU); c++)
            values += series_value(SERIES_GPU, &s->gpus[i], c).state == READING_OK;
    return values;
}

/* Writes `count` samples from number `from` on; returns the seconds it took. */
static double write_samples(struct store *s, int64_t from, int64_t count)
{
    struct error err;
    double begin = now_s();
    for (int64_t i = from; i < from + count; i += BATCH) {
        const struct snapshot *batch[BATCH];
        for (int k = 0; k < BATCH; k++) {
            struct snapshot *one = kinds[(i + k) % KINDS];
            one->taken_at.ms = BEGIN_MS + (i + k) * 5000;
            one->taken.ns = (i + k + 1) * 5 * NS_PER_S;
            batch[k] = one;
        }
        if (store_write(s, batch, BATCH, NULL, 0, &err) != 0)
            die(err.text);
    }
    return now_s() - begin;
}

static int count_point(void *user, const struct store_point *point)
{
    (void)point;
    ++*(int64_t *)user;
    return 0;
}

/* The median of nine plots, in milliseconds. */
static double plot_ms(struct store *s, int64_t since_ms, int64_t until_ms, int64_t *points)
{
    size_t column = (size_t)series_find(SERIES_GPU, "power_watts");
    double times[9];
    for (int i = 0; i < 9; i++) {
        struct store_plot plot = {
            .subject = 1 + i % GPUS, .since_ms = since_ms, .until_ms = until_ms, .columns = &column, .column_count = 1};
        struct error err;
        *points = 0;
        double begin = now_s();
        if (store_series(s, &plot, count_point, points, &err) != 0)
            die(err.text);
        times[i] = (now_s() - begin) * 1000;
    }
    for (int i = 1; i < 9; i++)
        for (int k = i; k > 0 && times[k] < times[k - 1]; k--) {
            double t = times[k];
            times[k] = times[k - 1];
            times[k - 1] = t;
        }
    return times[4];
}

static void measure_growth(struct store *s, int64_t total)
{
    int64_t values_a_sample = 0, used, done = 0;
    double seconds = 0;
    struct error err;
    for (size_t k = 0; k < KINDS; k++)
        values_a_sample += values_of(kinds[k]);
    double per_sample = (double)values_a_sample / KINDS;
    for (int64_t part = total / 100; part <= total; part *= 10) {
        seconds += write_samples(s, done, part - done);
        done = part;
        if (store_used_bytes(s, &used, &err) != 0)
            die(err.text);
        printf("%10lld rows: %7.1f MB, %6.1f bytes a row, %4.2f bytes a value\n", (long long)(done * GPUS), (double)used / 1e6,
               (double)used / (double)(done * GPUS), (double)used / ((double)done * per_sample));
        fflush(stdout);
    }
    judge("rows a second", (double)(total * GPUS) / seconds, "rows/s", 100000, true);
    judge("bytes a stored value, everything counted", (double)used / ((double)total * per_sample), "bytes", 5, false);
}

static void measure_cleaning(struct store *s, int64_t end_ms)
{
    struct store_limits limits = store_default_limits;
    struct error err;
    limits.raw_ms = end_ms - BEGIN_MS - DAY_MS; /* the first day goes */
    limits.max_bytes = 0;
    store_set_limits(s, &limits);
    double begin = now_s(), longest = 0;
    int steps = 0, rc;
    do {
        double step = now_s();
        rc = store_clean(s, (struct wall){end_ms}, &err);
        longest = longest > now_s() - step ? longest : now_s() - step;
        steps++;
    } while (rc == 1);
    if (rc < 0)
        die(err.text);
    printf("a day of samples cleaned up: %.2f s in %d steps, the longest %.1f ms\n", now_s() - begin, steps, longest * 1000);
}

int main(int argc, char **argv)
{
    int64_t days = argc > 1 ? strtoll(argv[1], NULL, 10) : 30;
    const char *folder = getenv("TMPDIR");
    char path[300], url[320];
    snprintf(path, sizeof path, "%s/bench_store.%d.db", folder ? folder : "/tmp", (int)getpid());
    snprintf(url, sizeof url, "sqlite:%s", path);
    struct env env;
    env_init_system(&env);
    struct store *s = NULL;
    struct error err;
    const struct store_options options = {.env = &env, .url = url, .host = "", .limits = store_default_limits};
    if (store_open(&options, &s, &err) != 0)
        die(err.text);
    make_kinds();
    int64_t total = days * SAMPLES_A_DAY / (100 * BATCH) * (100 * BATCH), end_ms = BEGIN_MS + total * 5000, points;
    measure_growth(s, total);
    double ms = plot_ms(s, end_ms - DAY_MS, end_ms, &points);
    printf("a day is drawn with %lld points\n", (long long)points);
    judge("one metric of one GPU over a day", ms, "ms", 20, false);
    ms = plot_ms(s, BEGIN_MS, end_ms, &points);
    printf("everything is drawn with %lld points\n", (long long)points);
    judge("one metric of one GPU over everything", ms, "ms", 50, false);
    measure_cleaning(s, end_ms);
    store_close(s);
    static const char *const tails[] = {"", "-wal", "-shm"};
    for (size_t i = 0; i < ARRAY_LEN(tails); i++) {
        char file[320];
        snprintf(file, sizeof file, "%s%s", path, tails[i]);
        unlink(file);
    }
    for (size_t k = 0; k < KINDS; k++)
        snapshot_unref(kinds[k]);
    return failures > 0;
}
