/* SPDX-License-Identifier: Apache-2.0
 * The paths whose instructions tools/cost counts: each is set up, run once to be warm, and then run between the calls that
 * callgrind takes as its signs. Times are fixed and machines are simulated, so that a run is the same as the one before.
 *
 *   cost PATH [URL]      URL: the history that a path of the history goes on with (tests/fakes/history/make_history)
 */
#include <event2/event.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../tests/fakes/history/box.h"
#include "base/units.h"
#include "format/json/json.h"
#include "format/plot/plot.h"
#include "format/prometheus/prometheus.h"
#include "host.h"
#include "insight/verdict/judge.h"
#include "insight/view/why.h"
#include "push/push.h"
#include "serve/data/page.h"
#include "serve/live/batch.h"
#include "serve/live/live.h"
#include "store/store.h"
#include "tui/draw.h"

#define NOW_MS 1772323200000LL /* the beginning of an hour */
enum { TEXT_MAX = 64 << 20 };

static struct snapshot *sample;
static struct why *why;
static struct box box;
static const char *url;

static void open_box(const char *params, double interval_s)
{
    box_open(&box, params, (struct wall){NOW_MS}, interval_s);
    sample = box_sample(&box);
}

/* ---- formats ---- */

static void set_up_scrape(void)
{
    sample = full_host(8, 100);
}

static void scrape(void)
{
    AUTO_BUF struct buf text = BUF(PROMETHEUS_MAX);
    AUTO_BUF struct buf open = BUF(PROMETHEUS_MAX);
    prometheus_write(&text, sample, NULL);
    prometheus_add_labels(&text, sample->host.name, NULL);
    openmetrics_from_prometheus(buf_view(&text), &open);
}

static void set_up_64_gpus(void)
{
    open_box("scenario=crowd,gpus=64", 1);
}

static void write_json(struct buf *out)
{
    struct json_writer j = JSON_WRITER(out);
    json_metrics(&j, sample, ALL_GPUS);
}

static void json(void)
{
    AUTO_BUF struct buf text = BUF(TEXT_MAX);
    write_json(&text);
}

static struct buf embedded = BUF(TEXT_MAX);

static void set_up_page(void)
{
    open_box("scenario=crowd,gpus=8", 1);
    why = why_explain(sample, NULL);
    write_json(&embedded);
}

static void page(void)
{
    AUTO_BUF struct buf text = BUF(TEXT_MAX);
    const struct page_data first[] = {{"first-metrics", buf_view(&embedded)}};
    page_write_dashboard(&text, sample, why, first, ARRAY_LEN(first), true, "0");
}

enum { HOURS = 365 * 24 };
static double times[HOURS], mean[HOURS], least[HOURS], most[HOURS];
static struct plot year = {.title = "power", .unit = "W", .width = 120, .height = 20, .with_times = true};

static void set_up_plot(void)
{
    for (size_t i = 0; i < HOURS; i++) {
        times[i] = (double)NOW_MS / 1e3 + 3600.0 * (double)i;
        mean[i] = i % 1000 < 20 ? (double)NAN : 200 + 100 * sin((double)i / 24) + (double)(i * 7919 % 50);
        least[i] = mean[i] - 20;
        most[i] = mean[i] + 40;
    }
    year.since = times[0];
    year.until = times[HOURS - 1];
    for (year.line_count = 0; year.line_count < 8; year.line_count++)
        year.lines[year.line_count] = (struct plot_line){"GPU", times, mean, least, most, HOURS};
    year.margin = plot_margin(&year);
}

static void plot(void)
{
    const struct page paper = {.width = 120, .utf8 = true, .now = {NOW_MS}};
    AUTO_BUF struct buf text = BUF(TEXT_MAX);
    plot_write(&text, &paper, &year);
}

/* ---- judgement ---- */

static struct judge *judge;

static void set_up_verdict(void)
{
    judge = judge_new();
    open_box("scenario=crowd,gpus=8", 1);
}

static void verdict(void)
{
    judge_take(judge, sample);
}

static void next_sample(void)
{
    snapshot_unref(sample);
    clock_manual_advance_ms(&box.clock, 1000);
    sample = box_sample(&box);
}

/* ---- live ---- */

enum { CLIENTS = 1000 };
static struct subscriber clients[CLIENTS];
static struct loop loop;
static struct hub hub;
static size_t received;

static void on_send(struct subscriber *s, struct blob *bytes)
{
    (void)s, (void)bytes;
    received++;
}

static size_t none_queued(const struct subscriber *s)
{
    (void)s;
    return 0;
}

static void set_up_frames(void)
{
    static const struct subscriber_ops ops = {on_send, none_queued};
    open_box("scenario=crowd,gpus=8", 1);
    why = why_explain(sample, NULL);
    if (loop_init(&loop, NULL) || hub_init(&hub, &loop))
        die("out of memory");
    for (size_t i = 0; i < CLIENTS; i++) {
        clients[i] = (struct subscriber){.ops = &ops, .language = i % 2 ? LANGUAGE_WS : LANGUAGE_SIO_WS, .topics = TOPICS_ALL};
        hub_join(&hub, &clients[i]);
    }
}

static void frames(void)
{
    static uint64_t number;
    static struct high_usage usage;
    struct batch *b = batch_new(++number);
    received = 0;
    compose_sample(b, sample, why, &usage, 90);
    hub_publish(&hub, b);
    while (received < CLIENTS)
        event_base_loop(loop.base, EVLOOP_ONCE);
}

static struct top top;
static struct canvas canvas;

static void set_up_frame_of_top(void)
{
    open_box("scenario=crowd,gpus=64", 1);
    top_init(&top, &top_defaults);
    top.utf8 = true;
    top_resize(&top, 160, 50);
    if (canvas_resize(&canvas, 160, 50))
        die("out of memory");
    top_sample(&top, sample, why_explain(sample, NULL), false);
}

static void frame_of_top(void)
{
    AUTO_BUF struct buf text = BUF(TEXT_MAX);
    draw_frame(&top, &canvas);
    canvas_write(&canvas, &text);
}

/* ---- push ---- */

enum { SCRAPES = 8, SERIES = 1250 };
static struct buf scrapes[SCRAPES];
static struct push_scrape before;

static void set_up_push(void)
{
    for (int round = 0; round < SCRAPES; round++) {
        scrapes[round] = BUF(PUSH_TEXT_MAX);
        for (int i = 0; i < SERIES; i++)
            buf_printf(
                &scrapes[round],
                "gpu_metric_%d{gpu=\"%d\",uuid=\"GPU-05411eb7-075c-4e4d-9a84-be9dbf09ff%02x\",name=\"NVIDIA H100 80GB HBM3\","
                "host=\"gpu-host-17\"} %d.%d\n",
                i / 8, i % 8, i % 8, i * 37 + round, round);
    }
}

static void push(void)
{
    const struct push_identity who = {"whirr", "gpu-host-17", "gpu-host-17"};
    for (int round = 0; round < SCRAPES; round++) {
        AUTO_BUF struct buf plain = BUF(PUSH_BODY_MAX);
        AUTO_BUF struct buf body = BUF(PUSH_BODY_MAX);
        struct push_scrape now;
        if (push_scrape_init(&now, buf_view(&scrapes[round]), (struct wall){NOW_MS + 15000LL * round}) < 0)
            die("out of memory");
        push_mark_stale(&now, &before);
        push_remote_write(&plain, now.lines, now.count, now.at, &who);
        push_snappy(&body, buf_view(&plain));
        push_scrape_done(&before);
        before = now;
    }
}

/* ---- history ---- */

enum { BATCH = 12, BATCHES = 10 };
static struct store *store;
static struct snapshot *minutes[BATCHES + 2][BATCH];

static void write_minute(size_t which)
{
    struct error err;
    if (store_write(store, (const struct snapshot *const *)minutes[which], BATCH, NULL, 0, &err) < 0)
        die(err.text);
}

/* A history that was made in one go has all that a daemon does in between still before it. */
static void settle(void)
{
    struct error err;
    if (store_clean(store, clock_wall(box.env.clock), clock_mono(box.env.clock), &err) < 0)
        die(err.text);
}

/* Samples of the hour that begins where the history ends. */
static void set_up_hour(void)
{
    struct error err;
    box_open(&box, "gpus=2,scenario=bursty", (struct wall){NOW_MS - MS_PER_S * 5}, 5);
    const struct store_options options = {.env = &box.env, .url = url, .host = "box", .limits = store_default_limits};
    if (!url || store_open(&options, &store, &err) < 0)
        die(url ? err.text : "usage: cost PATH URL");
    for (size_t i = 0; i < ARRAY_LEN(minutes); i++)
        for (size_t k = 0; k < BATCH; k++) {
            clock_manual_advance_ms(&box.clock, 5 * MS_PER_S);
            minutes[i][k] = box_sample(&box);
        }
}

/* What is done once when an hour is over, with the rows of the minute that comes first. */
static void hour(void)
{
    write_minute(0);
    settle();
}

static void set_up_rows(void)
{
    set_up_hour();
    hour();
    write_minute(1);
}

static void rows(void)
{
    for (size_t i = 0; i < BATCHES; i++)
        write_minute(i + 2);
}

/* ---- */

static const struct path {
    const char *name;
    void (*set_up)(void), (*run)(void), (*between)(void);
    bool once; /* what can't be run twice: it is not warm */
} paths[] = {
    {"frames", set_up_frames, frames, NULL, false},
    {"hour", set_up_hour, hour, NULL, true},
    {"json", set_up_64_gpus, json, NULL, false},
    {"page", set_up_page, page, NULL, false},
    {"plot", set_up_plot, plot, NULL, false},
    {"push", set_up_push, push, NULL, false},
    {"rows", set_up_rows, rows, NULL, true},
    {"scrape", set_up_scrape, scrape, NULL, false},
    {"settle", set_up_hour, settle, NULL, true}, /* not a path: tools/cost prepares a history with it */
    {"top", set_up_frame_of_top, frame_of_top, NULL, false},
    {"verdict", set_up_verdict, verdict, next_sample, false},
};

/* Callgrind counts calls also where it does not collect: allocations are counted here, in place of libc's functions. */
static size_t allocations;

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);

void *malloc(size_t size)
{
    allocations++;
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    allocations++;
    return __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
    allocations++;
    return __libc_realloc(old, size);
}
#endif

/* What callgrind counts: --toggle-collect=measured. */
void measured(const struct path *path);
__attribute__((noinline, noclone)) void measured(const struct path *path)
{
    path->run();
}

/* For people: CPU time, which depends on the machine. */
static void time_it(const struct path *path, int rounds)
{
    struct timespec from, until;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
    for (int i = 0; i < rounds; i++) {
        path->run();
        if (path->between)
            path->between();
    }
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &until);
    printf("%.3f ms each\n", ((double)(until.tv_sec - from.tv_sec) * 1e3 + (double)(until.tv_nsec - from.tv_nsec) / 1e6) / rounds);
}

int main(int argc, char **argv)
{
    url = argc > 2 ? argv[2] : NULL;
    for (size_t i = 0; argc > 1 && i < ARRAY_LEN(paths); i++)
        if (strcmp(paths[i].name, argv[1]) == 0) {
            paths[i].set_up();
            if (!paths[i].once)
                paths[i].run();
            if (paths[i].between)
                paths[i].between();
            allocations = 0;
            measured(&paths[i]);
            printf("%zu allocations\n", allocations);
            if (argc > 3 && !paths[i].once)
                time_it(&paths[i], atoi(argv[3]));
            store_close(store);
            return 0;
        }
    fprintf(stderr, "usage: cost PATH [URL [TIMES]]\n");
    return 2;
}
