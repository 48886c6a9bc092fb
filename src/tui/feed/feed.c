/* SPDX-License-Identifier: Apache-2.0
 * The thread that samples and queries: its lifecycle, its samples, the dispatch of requests; and what its news do to the state.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "config/config.h"
#include "insight/view/why.h"
#include "tui/feed/internal.h"
#include "tui/fleet_rows.h"

/* ---- news ---- */

void news_free(struct news *n)
{
    if (!n)
        return;
    snapshot_unref(n->snapshot);
    snapshot_unref(n->whole);
    why_free(n->why);
    for (size_t i = 0; i < n->series_count; i++)
        if (n->series)
            free(n->series[i].points);
    free(n->series);
    free(n->workers);
    free(n->badges);
    top_details_done(&n->details);
    fleet_done(&n->fleet);
    free(n->text);
    free(n);
}

void news_take(struct news *n, struct top *t)
{
    switch (n->kind) {
    case NEWS_SAMPLE:
        snapshot_unref(t->whole);
        t->whole = TAKE(n->whole);
        top_sample(t, TAKE(n->snapshot), TAKE(n->why), n->daemon);
        break;
    case NEWS_TROUBLE: top_trouble(t, n->text ? n->text : ""); break;
    case NEWS_MOMENT:
        if (n->snapshot)
            top_moment(t, n->number, TAKE(n->snapshot), TAKE(n->why), "");
        else
            top_miss(t, &n->missing);
        break;
    case NEWS_NOTE: top_note(t, n->bad, n->text ? n->text : ""); break;
    case NEWS_PANE:
        if (n->number == TAB_GUARD) {
            t->worker_count = n->worker_count;
            t->worker = t->worker_count ? MIN_OF(t->worker, t->worker_count - 1) : 0;
            for (size_t i = 0; i < n->worker_count; i++)
                t->workers[i] = n->workers[i];
        }
        top_pane(t, (enum top_tab)n->number, TAKE(n->text), t->now.ms);
        break;
    case NEWS_BADGES:
        for (size_t i = 0; n->badges && i < n->series_count && i < GPU_MAX; i++)
            t->badges[i] = n->badges[i];
        break;
    case NEWS_ANSWER: top_answer(t, "Fit", TAKE(n->text)); break;
    case NEWS_IDLE: top_idle_since(t, n->pid, n->gpu_index, n->number); break;
    case NEWS_FLEET: top_fleet_take(t, &n->fleet, (struct wall){n->number}); break;
    case NEWS_DETAILS: top_details(t, &n->details); break;
    case NEWS_WHERE: top_where(t, n->pid, TAKE(n->text)); break;
    case NEWS_SERIES:
        for (size_t i = 0; i < n->series_count; i++)
            top_series(t, i, n->number, n->series[i].points, n->series[i].count);
        for (size_t i = 0; i < n->mark_count; i++)
            top_mark(t, &n->marks[i]);
        break;
    }
    news_free(n);
}

struct news *news_new(enum news_kind kind)
{
    struct news *n = calloc(1, sizeof *n);
    if (n)
        n->kind = kind;
    return n;
}

/* ---- a sample, its explanation and its recording ---- */

enum {
    EXPLAINED_MS = 5000, /* maximum age of an explanation */
    NUMBERS_MS = 1900,   /* the same if its numbers have changed */
};

/* Whether the explanation still holds, although its numbers may have changed. */
static bool same_story(const struct gpu *a, const struct gpu *b)
{
    if (a->state != b->state || a->process_count != b->process_count || a->throttle_bits.state != b->throttle_bits.state ||
        a->throttle_bits.value != b->throttle_bits.value || a->activity.code != b->activity.code)
        return false;
    for (size_t i = 0; i < a->process_count; i++)
        if (a->processes[i].pid != b->processes[i].pid)
            return false;
    return true;
}

static bool is_near(struct reading a, struct reading b, int64_t within)
{
    return a.state == b.state && llabs(a.value - b.value) <= within;
}

static bool same_numbers(const struct gpu *a, const struct gpu *b)
{
    return is_near(a->util_permille, b->util_permille, 20) && is_near(a->temp_mdegc, b->temp_mdegc, 1000) &&
           is_near(a->fan_permille, b->fan_permille, 20) &&
           is_near(a->power_mw, b->power_mw, reading_or(a->power_mw, 0) / 50 + 1000) &&
           is_near(a->mem_used_bytes, b->mem_used_bytes, reading_or(a->mem_total_bytes, 0) / 100);
}

/* A daemon's explanation is kept until something relevant changes: asking again costs more than the sample. */
static bool still_explained(const struct feed *f, const struct snapshot *s)
{
    const struct snapshot *before = f->explained;
    if (!before || before->gpu_count != s->gpu_count || s->event_count)
        return false;
    int64_t age_ms = s->taken_at.ms - before->taken_at.ms;
    bool same = age_ms < EXPLAINED_MS;
    for (size_t i = 0; same && i < s->gpu_count; i++)
        same = same_story(&before->gpus[i], &s->gpus[i]) && (age_ms < NUMBERS_MS || same_numbers(&before->gpus[i], &s->gpus[i]));
    return same;
}

/* A new explanation; NULL: keep the previous one. */
static struct why *explain(struct feed *f, const struct snapshot *s)
{
    if (session_asks_daemon(f->session) && still_explained(f, s))
        return NULL;
    struct why *why = session_why(f->session, s);
    if (why) {
        snapshot_unref(f->explained);
        f->explained = snapshot_ref(s);
        return why;
    }
    return NULL;
}

void feed_narrow(const struct feed *f, const struct snapshot **s, struct why **why)
{
    struct gpu_choice choice;
    const struct snapshot *part;
    struct why *own = NULL;
    if (!f->gpus[0] || !snapshot_find_gpus(*s, f->gpus, &choice) || choice.count == (*s)->gpu_count ||
        why_of_gpus(*s, *why, &choice, &part, &own) < 0)
        return;
    snapshot_unref(*s);
    why_free(*why);
    *s = part;
    *why = own;
}

static void feed_sample(struct feed *f)
{
    struct error err = {0};
    struct mono now = clock_mono(&clock_system);
    unsigned groups = cadence_due(&f->cadence, f->last && cadence_game_runs(f->last->gpus, f->last->gpu_count), now);
    if (!f->last)
        groups &= ~(unsigned)(GROUP_SLOW | GROUP_RARE); /* the next sample has them: show the first frame soon */
    cadence_read(&f->cadence, groups, now);
    if (!f->recorder) /* a recording needs all groups */
        groups |= GROUP_GLANCE;
    const struct snapshot *s = session_sample(f->session, groups, &err);
    if (!s) {
        feed_report(f, NEWS_TROUBLE, true, err.text);
        return;
    }
    if (f->recorder && recorder_add(f->recorder, s, &err) < 0) {
        feed_report(f, NEWS_TROUBLE, true, err.text);
        recorder_close(TAKE(f->recorder), &err);
    }
    memory_give_back(&f->memory, &f->cli->env, s->taken);
    struct news *n = news_new(NEWS_SAMPLE);
    if (!n) {
        snapshot_unref(s);
        return;
    }
    n->why = explain(f, s);
    n->daemon = session_asks_daemon(f->session);
    snapshot_unref(f->whole);
    f->whole = snapshot_ref(s);
    n->whole = snapshot_ref(s);
    feed_narrow(f, &s, &n->why);
    n->snapshot = snapshot_ref(s);
    snapshot_unref(f->last);
    f->last = s;
    mailbox_put(f->news, n);
}

/* Shows other GPUs from now on. */
static void feed_choose_gpus(struct feed *f, const struct top_request *w)
{
    str_copy(f->gpus, sizeof f->gpus, str_from(w->text));
    snapshot_unref(TAKE(f->explained)); /* it had no words for the others */
    feed_sample(f);
}

/* ---- all hosts, from the fleet's database ---- */

static void feed_ask_fleet(struct feed *f)
{
    struct error err = {0};
    const struct fleet_place place = {.env = &f->cli->env,
                                      .url = f->fleet,
                                      .timeout_ms = FEED_FLEET_TIMEOUT_MS,
                                      .settings = f->cli->settings ? &f->cli->settings->fleet : NULL};
    struct news *n = news_new(NEWS_FLEET);
    if (!n)
        return;
    if (fleet_fetch(&place, FLEET_WANT_ALL, &n->fleet, &err) < 0) {
        feed_report(f, NEWS_TROUBLE, true, err.text[0] ? err.text : "the fleet's database did not answer");
        news_free(n);
        return;
    }
    n->number = clock_wall(f->cli->env.clock).ms;
    mailbox_put(f->news, n);
}

/* ---- the thread ---- */

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
