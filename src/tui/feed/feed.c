/* SPDX-License-Identifier: Apache-2.0
 * The thread that samples and queries: its lifecycle, and the dispatch of requests.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "tui/feed/internal.h"

enum {
    SLOW_EVERY_MS = 10000,
    RETRY_MS = 5000, /* for an unreachable host or daemon */
};

static void drop_news(void *item)
{
    news_free(item);
}

void feed_report(struct feed *f, enum news_kind kind, bool bad, const char *text)
{
    struct news *n = news_new(kind);
    if (!n)
        return;
    n->bad = bad;
    n->text = strdup(text);
    mailbox_put(f->news, n);
}

json_t *feed_get(struct feed *f, const char *target)
{
    AUTO_BUF struct buf answer = BUF(ANSWER_MAX);
    if (session_get(f->session, target, &answer) != 200)
        return NULL;
    return json_loadb(buf_view(&answer).at, answer.len, 0, NULL);
}

static void (*const answers[])(struct feed *f, const struct top_request *w) = {
    [REQUEST_AT] = feed_ask_moment,      [REQUEST_SERIES] = feed_ask_series,   [REQUEST_PANE] = feed_ask_pane,
    [REQUEST_GUARD] = feed_act_on_guard, [REQUEST_DETAILS] = feed_ask_details, [REQUEST_FIT] = feed_ask_fit,
    [REQUEST_GPUS] = feed_choose_gpus,
};

static void answer(struct feed *f, const struct top_request *w)
{
    if (w->kind < ARRAY_LEN(answers) && answers[w->kind])
        answers[w->kind](f, w);
}

/* Of several requests of a kind, only the last matters; but every action is performed. */
static void answer_all(struct feed *f, struct top_request *first)
{
    struct top_request last[REQUEST_SAVE + 1] = {0};
    for (struct top_request *w = first; w; w = mailbox_take(f->questions, 0)) {
        if (w->kind == REQUEST_GUARD)
            answer(f, w);
        else
            last[w->kind] = *w;
        free(w);
    }
    for (size_t i = 0; i < ARRAY_LEN(last); i++)
        answer(f, &last[i]);
}

/* Opens one of several hosts, and reports a failure: a dead host must not keep the others off the screen. */
static bool open_session(struct feed *f)
{
    struct error err = {0};
    f->session = session_open(f->cli, &err);
    if (f->session)
        session_set_max_age(f->session, f->interval_ms / 2);
    else
        feed_report(f, NEWS_TROUBLE, true, err.text);
    return f->session != NULL;
}

/* Returns to a restarted daemon: unlike our own samples, it knows the past. */
static void reconnect_daemon(struct feed *f)
{
    struct error err = {0};
    struct mono now = clock_mono(&clock_system);
    f->had_daemon = f->had_daemon || session_asks_daemon(f->session);
    if (!f->had_daemon || session_asks_daemon(f->session) || mono_since_ms(now, f->tried_at) < RETRY_MS)
        return;
    f->tried_at = now;
    struct session *again = session_open(f->cli, &err);
    if (again && session_asks_daemon(again)) {
        session_set_max_age(again, f->interval_ms / 2);
        session_close(f->session);
        f->session = again;
    } else {
        session_close(again);
    }
}

static void refresh(struct feed *f)
{
    if (f->fleet) {
        feed_ask_fleet(f);
        return;
    }
    reconnect_daemon(f);
    feed_sample(f);
    if (f->last && (!f->judged_at.ns || mono_since_ms(clock_mono(&clock_system), f->judged_at) >= SLOW_EVERY_MS)) {
        f->judged_at = clock_mono(&clock_system);
        feed_ask_badges(f);
    }
}

static void *run(void *user)
{
    struct feed *f = user;
    struct mono next = clock_mono(&clock_system);
    while (!mailbox_closed(f->questions)) {
        if (!f->fleet && !f->session && !open_session(f)) {
            free(mailbox_take(f->questions, RETRY_MS));
            next = clock_mono(&clock_system);
            continue;
        }
        int64_t left = mono_since_ms(next, clock_mono(&clock_system));
        if (left <= 0) {
            bool first = !f->last && !f->fleet;
            refresh(f);
            next.ns += (first ? MIN_OF(f->interval_ms, (int64_t)300) : f->interval_ms) * NS_PER_MS;
            if (next.ns < clock_mono(&clock_system).ns)
                next = clock_mono(&clock_system); /* too slow for this interval: don't try to catch up */
            continue;
        }
        struct top_request *w = mailbox_take(f->questions, left);
        if (w)
            answer_all(f, w);
    }
    f->ended = true;
    return NULL;
}

struct feed *feed_start(const struct cli *cli, const struct feed_options *options, struct error *err)
{
    struct feed *f = calloc(1, sizeof *f);
    if (!f) {
        error_set(err, -ENOMEM, "out of memory");
        return NULL;
    }
    f->own = *cli;
    f->cli = &f->own;
    bool now = !options->patient && !options->fleet;
    f->interval_ms = options->interval_ms;
    str_copy(f->gpus, sizeof f->gpus, str_from(options->gpus ? options->gpus : ""));
    f->fleet = options->fleet ? strdup(options->fleet) : NULL;
    f->session = now ? session_open(f->cli, err) : NULL;
    f->questions = mailbox_new(64, free);
    f->news = mailbox_new(64, drop_news);
    if (f->session && options->record)
        f->recorder = recorder_open(options->record, err);
    if ((now && !f->session) || !f->questions || !f->news || (options->record && !f->recorder) || (options->fleet && !f->fleet)) {
        if (!err->code)
            error_set(err, -ENOMEM, "out of memory");
        f->ended = true;
        feed_stop(f);
        return NULL;
    }
    if (f->session)
        session_set_max_age(f->session, f->interval_ms / 2);
    int rc = pthread_create(&f->thread, NULL, run, f);
    if (rc) {
        error_set(err, -rc, "cannot start a thread: %s", strerror(rc));
        f->ended = true;
        f->thread = 0;
        feed_stop(f);
        return NULL;
    }
    return f;
}

void feed_ask(struct feed *f, const struct top_request *request)
{
    struct top_request *copy = malloc(sizeof *copy);
    if (!copy)
        return;
    *copy = *request;
    mailbox_put(f->questions, copy);
}

struct mailbox *feed_news(struct feed *f)
{
    return f->news;
}

void feed_stop(struct feed *f)
{
    enum { TRIES = 50, PAUSE_MS = 10 };
    struct error err = {0};
    if (f->questions)
        mailbox_close(f->questions);
    for (int i = 0; i < TRIES && !f->ended; i++)
        pause_ms(PAUSE_MS);
    if (!f->ended) { /* hangs in a driver: the end of the process ends it */
        pthread_detach(f->thread);
        return;
    }
    if (f->thread)
        pthread_join(f->thread, NULL);
    feed_where_end(f);
    recorder_close(f->recorder, &err);
    session_close(f->session);
    mailbox_free(f->questions);
    mailbox_free(f->news);
    free(f->fleet);
    snapshot_unref(f->last);
    snapshot_unref(f->whole);
    snapshot_unref(f->explained);
    free(f);
}
