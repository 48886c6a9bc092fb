/* SPDX-License-Identifier: Apache-2.0
 * Queries about the past, answered by the daemon's history: plots, a moment; and the details of a process, with its run.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "format/json/json.h"
#include "host/evidence/address_samples.h"
#include "host/frames/looks.h"
#include "host/identity.h"
#include "insight/facts/levels.h"
#include "tui/feed/answers.h"
#include "tui/feed/internal.h"

enum {
    SERIES_POINTS = 480,
    SERIES_POINTS_MANY = 160, /* per GPU, for more than 8 of them */
    IDLE_ASKED = 32,
    RUN_POINTS = 240,
    BEFORE_MS = 60000,       /* maximum distance of the last sample before a moment */
    BEFORE_RARE_MS = 600000, /* the same if samples are rare */
};

#define PROCESS_SPAN_MAX_MS (30 * 86400 * (int64_t)MS_PER_S)

/* The trails of all GPUs. */
static json_t *get_history(struct feed *f, int64_t since_ms, int64_t until_ms)
{
    AUTO_BUF struct buf target = BUF(1024);
    char since[WALL_TEXT_SIZE], until[WALL_TEXT_SIZE];
    bool many = f->last->gpu_count > 8;
    wall_format((struct wall){since_ms}, since);
    wall_format((struct wall){until_ms}, until);
    buf_printf(&target, "/api/history?since=%s&until=%s&points=%d&metric=", since, until,
               many ? (int)SERIES_POINTS_MANY : (int)SERIES_POINTS);
    for (size_t of = 0; of < TRAIL_COUNT; of++)
        buf_printf(&target, "%s%s", of ? "," : "", metric_table[trail_table[of].metric].json);
    return target.failed ? NULL : feed_get(f, target.at);
}

/* Finds out since when processes that hold memory have been idle. */
static void ask_idle(struct feed *f)
{
    size_t asked = 0;
    for (size_t g = 0; g < f->last->gpu_count; g++)
        for (size_t i = 0; i < f->last->gpus[g].process_count && asked < IDLE_ASKED; i++) {
            const struct process *p = &f->last->gpus[g].processes[i];
            char target[128];
            if (!process_is_idle(p))
                continue;
            snprintf(target, sizeof target, "/api/history?pid=%d&gpu=%d&since=-24h&points=288", p->pid, f->last->gpus[g].index);
            json_t *history = feed_get(f, target);
            struct news *n = news_new(NEWS_IDLE);
            asked++;
            if (n) {
                n->pid = p->pid;
                n->gpu_index = f->last->gpus[g].index;
                n->number = answer_idle_since(history, p->started_at.ms);
            }
            if (n && n->number)
                mailbox_put(f->news, n);
            else
                news_free(n);
            json_decref(history);
        }
}

void feed_ask_series(struct feed *f, const struct top_request *w)
{
    struct news *n = f->last && session_asks_daemon(f->session) ? news_new(NEWS_SERIES) : NULL;
    if (!n)
        return;
    int64_t until = w->number ? w->number : f->last->taken_at.ms;
    char target[256], since_text[WALL_TEXT_SIZE], until_text[WALL_TEXT_SIZE];
    AUTO_JSON json_t *history = get_history(f, until - w->window_ms, until);
    wall_format((struct wall){until - w->window_ms}, since_text);
    wall_format((struct wall){until}, until_text);
    snprintf(target, sizeof target, "/api/history/events?since=%s&until=%s&limit=60", since_text, until_text);
    AUTO_JSON json_t *events = feed_get(f, target);
    n->number = w->number;
    if (history)
        answer_series(history, f->last, n);
    if (events)
        answer_marks(events, n);
    mailbox_put(f->news, n);
    if (!f->idle_asked) {
        f->idle_asked = true;
        ask_idle(f);
    }
}

/* The sample at that moment, from the history; NULL: unknown. */
static struct snapshot *snapshot_at(struct feed *f, int64_t at_ms, int64_t before_ms, const json_t *processes)
{
    AUTO_JSON json_t *history = get_history(f, at_ms - before_ms, at_ms + 1);
    return history ? answer_moment(f->whole, history, processes, (struct wall){at_ms}) : NULL;
}

/* The daemon's explanation decides whether the moment is stored; the rest only accompanies it. */
void feed_ask_moment(struct feed *f, const struct top_request *w)
{
    struct news *n = f->last ? news_new(NEWS_MOMENT) : NULL;
    if (!n)
        return;
    char target[256], since[WALL_TEXT_SIZE], at[WALL_TEXT_SIZE];
    n->number = w->number;
    wall_format((struct wall){w->number}, at);
    wall_format((struct wall){w->number - 6000}, since);
    snprintf(target, sizeof target, "/api/history/processes?since=%s&until=%s&limit=500", since, at);
    AUTO_JSON json_t *processes = feed_get(f, target);
    snprintf(target, sizeof target, "/api/why?at=%s", at);
    json_t *why = feed_get(f, target);
    if (why && !json_is_object(json_object_get(why, "gap"))) {
        n->snapshot = snapshot_at(f, w->number, BEFORE_MS, processes);
        if (!n->snapshot)
            n->snapshot = snapshot_at(f, w->number, BEFORE_RARE_MS, processes);
    }
    if (n->snapshot) {
        n->why = why_from_json(why, n->snapshot);
        feed_narrow(f, &n->snapshot, &n->why);
    } else
        answer_missing(why, w->number, &n->missing);
    json_decref(why);
    mailbox_put(f->news, n);
}

/* ---- the lines on which a process spends its time, sampled in a thread of its own: the view must not wait for it ---- */

static void write_places(struct buf *out, const struct program_lines *l)
{
    char words[PLACE_WORDS];
    if (l->blame == BLAME_GPU)
        buf_text(out, "Where\tno line of its own: it waits for the GPU\n");
    if (l->few_cores)
        buf_text(out, "Cores\tthere are too few: the threads below waited longer for a CPU than they ran\n");
    for (size_t i = 0; i < l->count; i++)
        buf_printf(out, "%s\t%s\n", i == 0 ? "Where" : " ", place_words(&l->places[i], i == 0, words));
    buf_printf(out, " \t%s\n", lines_evidence(l, words));
}

static void write_functions(struct buf *out, const struct env *env, int32_t pid)
{
    struct address_samples found;
    char words[ADDRESS_WORDS];
    address_samples_take(env, pid, MS_PER_S, true, &found);
    buf_printf(out, "Where\t%s\n", address_samples_words(&found, words));
}

static void *look(void *user)
{
    struct feed *f = user;
    struct feed_where *w = &f->where;
    struct looks looks;
    struct program_lines lines;
    struct error err = {0};
    AUTO_BUF struct buf out = BUF(64 * 1024);
    const struct lines_request request = {.pid = w->pid, .ms = LINES_MS, .looks_per_s = LINES_LOOKS_PER_S, .cancel = &w->over};
    int rc = lines_take(&f->cli->env, &request, &looks, &err);
    if (rc == 0) {
        looks_judge(&looks, &lines);
        write_places(&out, &lines);
        looks_done(&looks);
    } else if (rc == -ENOEXEC) {
        write_functions(&out, &f->cli->env, w->pid);
    } else {
        buf_printf(&out, "Where\tnot known: %s\n", err.text);
    }
    struct news *n = w->over ? NULL : news_new(NEWS_WHERE);
    if (n) {
        n->pid = w->pid;
        n->text = buf_take(&out);
        mailbox_put(f->news, n);
    }
    return NULL;
}

/* Looks into a process of this host, and sends NEWS_WHERE. A look that is under way ends. */
static void feed_where_begin(struct feed *f, int32_t pid)
{
    feed_where_end(f);
    f->where.pid = pid;
    f->where.over = false;
    f->where.running = pthread_create(&f->where.thread, NULL, look, f) == 0;
}

void feed_where_end(struct feed *f)
{
    if (!f->where.running)
        return;
    f->where.over = true;
    pthread_join(f->where.thread, NULL);
    f->where.running = false;
}

/* ---- the details of a process ---- */

/* Adds what the daemon has stored about the run of this process. */
static void ask_process_run(struct feed *f, const struct top_request *w, struct top_details *d)
{
    char target[256], since[WALL_TEXT_SIZE];
    int64_t from = MAX_OF(w->window_ms ? w->window_ms - MS_PER_S : 0, f->last->taken_at.ms - PROCESS_SPAN_MAX_MS);
    wall_format((struct wall){from}, since);
    snprintf(target, sizeof target, "/api/history/processes?pid=%d&since=%s&limit=50", w->pid, since);
    AUTO_JSON json_t *runs = feed_get(f, target);
    answer_process_run(runs, (int)w->number, w->window_ms, d);
    if (d->since_ms) {
        wall_format((struct wall){d->since_ms}, since);
        snprintf(target, sizeof target, "/api/history?pid=%d&gpu=%lld&since=%s&points=%d", w->pid, (long long)w->number, since,
                 RUN_POINTS);
        AUTO_JSON json_t *history = feed_get(f, target);
        answer_lifeline(history, RUN_POINTS, d);
    }
}

void feed_ask_details(struct feed *f, const struct top_request *w)
{
    struct news *n = f->last ? news_new(NEWS_DETAILS) : NULL;
    AUTO_BUF struct buf out = BUF(1 << 20);
    if (!n)
        return;
    n->details = (struct top_details){.pid = w->pid, .start_key = w->start_key, .energy_mj = -1};
    /* Without the start time, the PID may belong to any process by now. */
    int rc = f->cli->host || !w->start_key ? -ESRCH : process_details(&f->cli->env, w->pid, w->start_key, false, &out);
    if (rc == -ESRCH)
        buf_text(&out, "Environment\tnot known: the process is not on this host\n");
    else if (rc < 0)
        buf_printf(&out, "Environment\tnot known: %s\n", strerror(-rc));
    n->details.text = buf_take(&out);
    if (session_asks_daemon(f->session))
        ask_process_run(f, w, &n->details);
    mailbox_put(f->news, n);
    if (w->opened && rc == 0)
        feed_where_begin(f, w->pid);
}
