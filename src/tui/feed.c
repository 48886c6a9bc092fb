/* SPDX-License-Identifier: Apache-2.0
 * The thread that samples and asks.
 */
#include "tui/feed.h"

#include <errno.h>
#include <jansson.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ask/client.h"
#include "ask/fit.h"
#include "ask/model_files.h"
#include "ask/session.h"
#include "base/cleanup.h"
#include "base/words.h"
#include "config/config.h"
#include "config/places.h"
#include "engine/cadence.h"
#include "format/forecast.h"
#include "format/health.h"
#include "format/json/capacity.h"
#include "format/json/json.h"
#include "format/record.h"
#include "format/table/table.h"
#include "host/identity.h"
#include "model/recent.h"
#include "store/query.h"
#include "tui/answers.h"

enum {
    ANSWER_MAX = 64 << 20,
    SLOW_EVERY_MS = 10000,
    SERIES_POINTS = 480,
    SERIES_POINTS_MANY = 160, /* of each of more than 8 GPUs */
    ACT_WITHIN_MS = 5000,
    EXPLAINED_MS = 5000, /* an explanation is that old at most */
    NUMBERS_MS = 1900,   /* ... and so old where its numbers have changed */
    AGAIN_MS = 5000,     /* a host or daemon that could not be reached is tried again */
    IDLE_ASKED = 32,
    LIFE_POINTS = 240,
    BEFORE_MS = 60000, /* how far back the last sample before a moment may be */
};

/* What `whirr fit` takes a model with unless told otherwise. */
static const struct model_options fit_defaults = {.context = -1, .cache_type = "f16", .overhead_bytes = MODEL_OVERHEAD_DEFAULT};

#define LIFE_MOST_MS (30 * 86400 * (int64_t)MS_PER_S)

struct feed {
    struct cli own, *cli; /* its own: a thread that hangs in a driver uses it until the end of the process */
    struct session *session;
    struct recorder *recorder;
    struct mailbox *questions, *news;
    pthread_t thread;
    _Atomic bool ended;
    int64_t interval_ms;
    const struct snapshot *last;
    const struct snapshot *explained; /* the one that the daemon explained last */
    struct recent *recent;
    struct cadence cadence;
    struct mono judged_at;
    struct mono tried_at;
    bool idle_asked, had_daemon;
};

void news_free(struct news *n)
{
    if (!n)
        return;
    snapshot_unref(n->snapshot);
    why_free(n->why);
    for (size_t i = 0; i < n->series_count; i++)
        if (n->series)
            free(n->series[i].points);
    free(n->series);
    free(n->workers);
    free(n->badges);
    top_details_done(&n->details);
    free(n->text);
    free(n);
}

static void drop_news(void *item)
{
    news_free(item);
}

void news_take(struct news *n, struct top *t)
{
    switch (n->kind) {
    case NEWS_SAMPLE: top_sample(t, TAKE(n->snapshot), TAKE(n->why), n->daemon); break;
    case NEWS_TROUBLE: top_trouble(t, n->text ? n->text : ""); break;
    case NEWS_MOMENT: top_moment(t, n->number, TAKE(n->snapshot), TAKE(n->why), n->text ? n->text : ""); break;
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
    case NEWS_ANSWER: top_answer(t, TAKE(n->text)); break;
    case NEWS_IDLE: top_idle_since(t, n->pid, n->gpu_index, n->number); break;
    case NEWS_DETAILS: top_details(t, &n->details); break;
    case NEWS_SERIES:
        for (size_t i = 0; i < n->series_count; i++)
            top_series(t, i, n->number, n->series[i].points, n->series[i].count);
        for (size_t i = 0; i < n->mark_count; i++)
            top_mark(t, &n->marks[i]);
        break;
    }
    news_free(n);
}

static struct news *news_new(enum news_kind kind)
{
    struct news *n = calloc(1, sizeof *n);
    if (n)
        n->kind = kind;
    return n;
}

static void tell_text(struct feed *f, enum news_kind kind, bool bad, const char *text)
{
    struct news *n = news_new(kind);
    if (!n)
        return;
    n->bad = bad;
    n->text = strdup(text);
    mailbox_put(f->news, n);
}

/* ---- samples ---- */

/* The same things are going on: the sentence stays, its numbers may not. */
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

static bool near(struct reading a, struct reading b, int64_t within)
{
    return a.state == b.state && llabs(a.value - b.value) <= within;
}

static bool same_numbers(const struct gpu *a, const struct gpu *b)
{
    return near(a->util_permille, b->util_permille, 20) && near(a->temp_mdegc, b->temp_mdegc, 1000) &&
           near(a->fan_permille, b->fan_permille, 20) && near(a->power_mw, b->power_mw, reading_or(a->power_mw, 0) / 50 + 1000) &&
           near(a->mem_used_bytes, b->mem_used_bytes, reading_or(a->mem_total_bytes, 0) / 100);
}

/* A daemon's explanation stays until something changes that it speaks of: reading it again costs more than the sample. */
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

/* NULL: the one before stays. */
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
    if (!f->recent)
        f->recent = calloc(1, sizeof *f->recent);
    if (f->recent)
        recent_add(f->recent, f->last, s);
    return why_explain(s, f->recent);
}

static void sample(struct feed *f)
{
    struct error err = {0};
    struct mono now = clock_mono(&clock_system);
    unsigned groups = cadence_due(&f->cadence, f->last && cadence_game_runs(f->last->gpus, f->last->gpu_count), now);
    if (!f->last)
        groups &= ~(unsigned)(GROUP_SLOW | GROUP_RARE); /* they come with the next one: the first frame is soon */
    cadence_read(&f->cadence, groups, now);
    if (!f->recorder) /* a recording has all of it */
        groups |= GROUP_GLANCE;
    const struct snapshot *s = session_sample(f->session, groups, &err);
    if (!s) {
        tell_text(f, NEWS_TROUBLE, true, err.text);
        return;
    }
    if (f->recorder && recorder_add(f->recorder, s, &err) < 0) {
        tell_text(f, NEWS_TROUBLE, true, err.text);
        recorder_close(TAKE(f->recorder), &err);
    }
    struct news *n = news_new(NEWS_SAMPLE);
    if (!n) {
        snapshot_unref(s);
        return;
    }
    n->why = explain(f, s);
    n->daemon = session_asks_daemon(f->session);
    n->snapshot = snapshot_ref(s);
    snapshot_unref(f->last);
    f->last = s;
    mailbox_put(f->news, n);
}

/* ---- questions ---- */

static json_t *get(struct feed *f, const char *target)
{
    AUTO_BUF struct buf answer = BUF(ANSWER_MAX);
    if (session_get(f->session, target, &answer) != 200)
        return NULL;
    return json_loadb(buf_view(&answer).at, answer.len, 0, NULL);
}

static json_t *get_history(struct feed *f, int64_t since_ms, int64_t until_ms)
{
    char target[512], since[WALL_TEXT_SIZE], until[WALL_TEXT_SIZE];
    bool many = f->last->gpu_count > 8;
    wall_format((struct wall){since_ms}, since);
    wall_format((struct wall){until_ms}, until);
    snprintf(target, sizeof target, "/api/history?metric=" ANSWER_METRICS "&since=%s&until=%s&points=%d", since, until,
             many ? (int)SERIES_POINTS_MANY : (int)SERIES_POINTS);
    return get(f, target);
}

/* Since when who holds memory now has not computed. */
static void ask_idle(struct feed *f)
{
    size_t asked = 0;
    for (size_t g = 0; g < f->last->gpu_count; g++)
        for (size_t i = 0; i < f->last->gpus[g].process_count && asked < IDLE_ASKED; i++) {
            const struct process *p = &f->last->gpus[g].processes[i];
            char target[128];
            if (p->util_permille.state != READING_OK || p->util_permille.value >= PROCESS_IDLE_MOST)
                continue;
            snprintf(target, sizeof target, "/api/history?pid=%d&gpu=%d&since=-24h&points=288", p->pid, f->last->gpus[g].index);
            json_t *history = get(f, target);
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

static void ask_series(struct feed *f, const struct top_wish *w)
{
    struct news *n = f->last && session_asks_daemon(f->session) ? news_new(NEWS_SERIES) : NULL;
    if (!n)
        return;
    int64_t until = w->number ? w->number : f->last->taken_at.ms;
    char target[256], since_text[WALL_TEXT_SIZE], until_text[WALL_TEXT_SIZE];
    json_t *history = get_history(f, until - w->window_ms, until);
    wall_format((struct wall){until - w->window_ms}, since_text);
    wall_format((struct wall){until}, until_text);
    snprintf(target, sizeof target, "/api/history/events?since=%s&until=%s&limit=60", since_text, until_text);
    json_t *events = get(f, target);
    n->number = w->number;
    if (history)
        answer_series(history, f->last, n);
    if (events)
        answer_marks(events, n);
    json_decref(history);
    json_decref(events);
    mailbox_put(f->news, n);
    if (!f->idle_asked) {
        f->idle_asked = true;
        ask_idle(f);
    }
}

/* Health and forecast of each GPU, where a daemon watches them. */
static void ask_badges(struct feed *f)
{
    struct news *n = session_asks_daemon(f->session) ? news_new(NEWS_BADGES) : NULL;
    if (!n)
        return;
    json_t *health = get(f, "/api/gpu/health"), *forecast = get(f, "/api/forecast");
    n->badges = calloc(f->last->gpu_count + 1, sizeof *n->badges);
    n->series_count = n->badges ? f->last->gpu_count : 0;
    if (n->badges)
        answer_badges(health, forecast, f->last, n->badges);
    json_decref(health);
    json_decref(forecast);
    mailbox_put(f->news, n);
}

static void ask_moment(struct feed *f, const struct top_wish *w)
{
    struct news *n = f->last ? news_new(NEWS_MOMENT) : NULL;
    if (!n)
        return;
    char target[256], since[WALL_TEXT_SIZE], at[WALL_TEXT_SIZE];
    n->number = w->number;
    wall_format((struct wall){w->number}, at);
    wall_format((struct wall){w->number - 6000}, since);
    json_t *history = get_history(f, w->number - BEFORE_MS, w->number + 1);
    snprintf(target, sizeof target, "/api/history/processes?since=%s&until=%s&limit=500", since, at);
    json_t *processes = get(f, target);
    snprintf(target, sizeof target, "/api/why?at=%s", at);
    json_t *why = get(f, target);
    n->snapshot = history ? answer_moment(f->last, history, processes, (struct wall){w->number}) : NULL;
    if (n->snapshot && why)
        n->why = why_from_json(why, n->snapshot);
    const char *answer = json_string_value(json_object_get(why, "answer"));
    if (!n->snapshot)
        n->text = strdup(answer ? answer : "Nothing was stored for that moment.");
    json_decref(history);
    json_decref(processes);
    json_decref(why);
    mailbox_put(f->news, n);
}

/* What the daemon remembers of its life. */
static void ask_life(struct feed *f, const struct top_wish *w, struct top_details *d)
{
    char target[256], since[WALL_TEXT_SIZE];
    int64_t from = MAX_OF(w->window_ms ? w->window_ms - MS_PER_S : 0, f->last->taken_at.ms - LIFE_MOST_MS);
    wall_format((struct wall){from}, since);
    snprintf(target, sizeof target, "/api/history/processes?pid=%d&since=%s&limit=50", w->pid, since);
    json_t *lives = get(f, target);
    answer_life(lives, (int)w->number, w->window_ms, d);
    if (d->since_ms) {
        wall_format((struct wall){d->since_ms}, since);
        snprintf(target, sizeof target, "/api/history?pid=%d&gpu=%lld&since=%s&points=%d", w->pid, (long long)w->number, since,
                 LIFE_POINTS);
        json_t *history = get(f, target);
        answer_lifeline(history, LIFE_POINTS, d);
        json_decref(history);
    }
    json_decref(lives);
}

static void ask_details(struct feed *f, const struct top_wish *w)
{
    struct news *n = f->last ? news_new(NEWS_DETAILS) : NULL;
    AUTO_BUF struct buf out = BUF(1 << 20);
    if (!n)
        return;
    n->details = (struct top_details){.pid = w->pid, .start_key = w->start_key, .energy_mj = -1};
    /* Without its start it may be any process that has this number now. */
    if (f->cli->host || !w->start_key || process_details(&f->cli->env, w->pid, w->start_key, false, &out) < 0)
        buf_text(&out, "Environment\tnot known: the process is not on this host\n");
    n->details.text = buf_take(&out);
    if (session_asks_daemon(f->session))
        ask_life(f, w, &n->details);
    mailbox_put(f->news, n);
}

static void show_health(struct feed *f, struct buf *out, const struct page *page)
{
    AUTO_BUF struct buf answer = BUF(ANSWER_MAX), texts = BUF(65536);
    struct health_basis basis = {0};
    struct health *health =
        session_get(f->session, "/api/gpu/health", &answer) == 200 ? health_from_json(buf_view(&answer), &basis, &texts) : NULL;
    if (health)
        table_health(out, page, health, &basis, HEALTH_ALL);
    health_free(health);
}

static void show_forecast(struct feed *f, struct buf *out, const struct page *page)
{
    AUTO_BUF struct buf answer = BUF(ANSWER_MAX);
    struct forecast_basis basis = {0};
    struct forecast *forecast =
        session_get(f->session, "/api/forecast", &answer) == 200 ? forecast_from_json(buf_view(&answer), &basis) : NULL;
    if (forecast)
        table_forecast(out, page, forecast, &basis, ALL_GPUS);
    forecast_free(forecast);
}

/* What is free now, and what would be if workers gave way. */
static struct capacity *ask_capacity(struct feed *f)
{
    AUTO_BUF struct buf answer = BUF(ANSWER_MAX);
    const struct capacity_settings settings = {.reserve_bytes = f->cli->settings ? f->cli->settings->worker.reserve_bytes : 0};
    if (session_get(f->session, "/api/capacity", &answer) == 200)
        return capacity_from_json(buf_view(&answer));
    return f->last ? capacity_new(f->last, &settings, NULL, 0) : NULL;
}

static void show_guard(struct feed *f, const json_t *guard, struct buf *out, const struct page *page, struct news *n)
{
    AUTO_FREE struct capacity *c = ask_capacity(f);
    answer_guard(guard, n);
    if (!n->worker_count)
        buf_text(out, "No worker is under guard. See `whirr help guard`.\n\n");
    if (c)
        table_capacity(out, page, c);
    buf_text(out, "\n    f: where would a size or a model fit?\n");
}

/* A model's file or directory, as somebody types it. */
static bool read_model(const char *typed, struct model_facts *facts, struct model_need *need, struct placement_wish *wish,
                       struct error *err)
{
    char path[WHY_LINE_SIZE + 256];
    place_typed(path, sizeof path, typed);
    if (model_files_read(path, facts, err) < 0)
        return false;
    if (!facts->tensor_count) {
        error_set(err, -ENODATA, "'%s' has no tensors", path);
        return false;
    }
    model_need(facts, &fit_defaults, need);
    *wish = (struct placement_wish){.count = 1,
                                    .only = -1,
                                    .bytes = need->bytes,
                                    .fixed_bytes = need->fixed_bytes,
                                    .layers = need->layers,
                                    .layer_count = need->layer_count};
    return true;
}

static void show_fit(struct feed *f, const struct top_wish *w, struct buf *out, struct model_facts *facts, struct model_need *need)
{
    AUTO_FREE struct capacity *c = ask_capacity(f);
    struct page page = {.width = MIN_OF(w->width - 2, 80), .utf8 = f->cli->page.utf8, .now = clock_wall(f->cli->env.clock)};
    struct placement_wish wish = {.count = 1, .only = -1, .whole = true};
    struct fit_subject subject = {.context_wanted = -1};
    struct error err = {0};
    double number;
    bool is_model = strpbrk(w->text, "/.~") && !bytes_parse(str_from(w->text), &wish.bytes);
    if (is_model && !read_model(w->text, facts, need, &wish, &err)) {
        page_wrap(out, &page, INK_PLAIN, err.text, 0, 0);
        return;
    }
    if (is_model)
        subject = (struct fit_subject){
            .path = w->text, .facts = facts, .need = need, .cache_type = fit_defaults.cache_type, .context_wanted = -1};
    /* "24": nobody means bytes. */
    else if (str_to_double(str_from(w->text), &number) || !bytes_parse(str_from(w->text), &wish.bytes) || wish.bytes <= 0) {
        buf_printf(out, "'%s' is not a size with its unit, like 24GiB, nor the path\nof a model, like ~/models/m.gguf.\n", w->text);
        return;
    }
    AUTO_FREE struct placement *found = c ? placement_find(c, &wish) : NULL;
    if (found && is_model)
        fit_doubt(need, found);
    if (found)
        table_placement(out, &page, c, &wish, found, &subject);
    else
        buf_text(out, "Not known: the free memory could not be read.\n");
}

static void ask_fit(struct feed *f, const struct top_wish *w)
{
    struct news *n = news_new(NEWS_ANSWER);
    AUTO_BUF struct buf out = BUF(65536);
    AUTO_FREE struct model_facts *facts = calloc(1, sizeof *facts);
    AUTO_FREE struct model_need *need = calloc(1, sizeof *need);
    if (n && facts && need) {
        show_fit(f, w, &out, facts, need);
        n->text = buf_take(&out);
        mailbox_put(f->news, TAKE(n));
    }
    news_free(n);
}

static void show_json(struct feed *f, struct buf *out, const struct page *page, struct news *n)
{
    static const char *const targets[TAB_COUNT] = {
        [TAB_ALERTS] = "/api/alerts", [TAB_ENERGY] = "/api/report?since=-24h", [TAB_GUARD] = "/api/guard"};
    json_t *json = get(f, targets[n->number]);
    if (!json)
        return;
    if (n->number == TAB_ALERTS)
        answer_alerts(json, out);
    else if (n->number == TAB_GUARD)
        show_guard(f, json, out, page, n);
    else
        table_report(out, page, json, NULL);
    json_decref(json);
}

static void ask_pane(struct feed *f, const struct top_wish *w)
{
    struct news *n = news_new(NEWS_PANE);
    AUTO_BUF struct buf out = BUF(1 << 20);
    struct page page = {.width = w->width, .utf8 = f->cli->page.utf8, .now = clock_wall(f->cli->env.clock)};
    if (!n)
        return;
    n->number = w->number;
    if (!session_asks_daemon(f->session))
        buf_text(&out, "This view needs the daemon: whirr serve\n");
    else if (w->number == TAB_HEALTH)
        show_health(f, &out, &page);
    else if (w->number == TAB_FORECAST)
        show_forecast(f, &out, &page);
    else
        show_json(f, &out, &page, n);
    if (!out.len)
        buf_text(&out, "The daemon did not answer.\n");
    n->text = buf_take(&out);
    mailbox_put(f->news, n);
}

/* Acts on the one daemon that may be acted on, whatever is shown. */
static void act_on_guard(struct feed *f, const struct top_wish *w)
{
    struct str rest = str_from(w->text), verb;
    struct client *client;
    struct error err = {0};
    if (!str_cut(&rest, ' ', &verb))
        return;
    if (act_open(f->cli, &client, &err) < 0) {
        tell_text(f, NEWS_NOTE, true, err.text);
        return;
    }
    char target[64], text[TOP_NOTE_SIZE], problem[128] = "";
    AUTO_BUF struct buf answer = BUF(1 << 20);
    json_t *body = json_pack("{s:s%}", "worker", rest.at, rest.len);
    AUTO_FREE char *json = body ? json_dumps(body, 0) : NULL;
    json_decref(body);
    snprintf(target, sizeof target, "/api/guard/" STR_FMT, STR_ARG(verb));
    int status = json ? client_request(client, "POST", target, json, &answer, ACT_WITHIN_MS, &err) : -ENOMEM;
    if (status < 0)
        str_copy(problem, sizeof problem, str_from(err.text));
    else if (status >= 300)
        client_error_text(buf_view(&answer), problem, sizeof problem);
    client_close(client);
    if (problem[0])
        snprintf(text, sizeof text, "Cannot " STR_FMT " " STR_FMT ": %s", STR_ARG(verb), STR_ARG(rest), problem);
    else
        snprintf(text, sizeof text, "Asked the guard to " STR_FMT " " STR_FMT ".", STR_ARG(verb), STR_ARG(rest));
    tell_text(f, NEWS_NOTE, problem[0] != '\0', text);
    ask_pane(f, &(struct top_wish){.kind = WISH_PANE, .number = TAB_GUARD, .width = w->width});
}

static void answer(struct feed *f, const struct top_wish *w)
{
    switch (w->kind) {
    case WISH_AT: ask_moment(f, w); break;
    case WISH_SERIES: ask_series(f, w); break;
    case WISH_PANE: ask_pane(f, w); break;
    case WISH_GUARD: act_on_guard(f, w); break;
    case WISH_DETAILS: ask_details(f, w); break;
    case WISH_FIT: ask_fit(f, w); break;
    default: break;
    }
}

/* Of several questions of a kind only the last is still of interest; actions are all done. */
static void answer_all(struct feed *f, struct top_wish *first)
{
    struct top_wish last[WISH_SAVE + 1] = {0};
    for (struct top_wish *w = first; w; w = mailbox_take(f->questions, 0)) {
        if (w->kind == WISH_GUARD)
            answer(f, w);
        else
            last[w->kind] = *w;
        free(w);
    }
    for (size_t i = 0; i < ARRAY_LEN(last); i++)
        answer(f, &last[i]);
}

/* One of several hosts: a dead one keeps nobody from looking at the others. */
static bool try_to_open(struct feed *f)
{
    struct error err = {0};
    f->session = session_open(f->cli, &err);
    if (f->session)
        session_set_max_age(f->session, f->interval_ms / 2);
    else
        tell_text(f, NEWS_TROUBLE, true, err.text);
    return f->session != NULL;
}

/* A daemon that was restarted meanwhile knows the past; what is sampled here does not. */
static void return_to_daemon(struct feed *f)
{
    struct error err = {0};
    struct mono now = clock_mono(&clock_system);
    f->had_daemon = f->had_daemon || session_asks_daemon(f->session);
    if (!f->had_daemon || session_asks_daemon(f->session) || mono_since_ms(now, f->tried_at) < AGAIN_MS)
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

static void *run(void *user)
{
    struct feed *f = user;
    struct mono next = clock_mono(&clock_system);
    while (!mailbox_closed(f->questions)) {
        if (!f->session && !try_to_open(f)) {
            free(mailbox_take(f->questions, AGAIN_MS));
            next = clock_mono(&clock_system);
            continue;
        }
        int64_t left = mono_since_ms(next, clock_mono(&clock_system));
        if (left <= 0) {
            bool first = !f->last;
            return_to_daemon(f);
            sample(f);
            if (f->last && (!f->judged_at.ns || mono_since_ms(clock_mono(&clock_system), f->judged_at) >= SLOW_EVERY_MS)) {
                f->judged_at = clock_mono(&clock_system);
                ask_badges(f);
            }
            next.ns += (first ? MIN_OF(f->interval_ms, (int64_t)300) : f->interval_ms) * NS_PER_MS;
            if (next.ns < clock_mono(&clock_system).ns)
                next = clock_mono(&clock_system); /* too slow for this interval: no attempt to catch up */
            continue;
        }
        struct top_wish *w = mailbox_take(f->questions, left);
        if (w)
            answer_all(f, w);
    }
    f->ended = true;
    return NULL;
}

struct feed *feed_start(const struct cli *cli, int64_t interval_ms, const char *record, bool patient, struct error *err)
{
    struct feed *f = calloc(1, sizeof *f);
    if (!f) {
        error_set(err, -ENOMEM, "out of memory");
        return NULL;
    }
    f->own = *cli;
    f->cli = &f->own;
    f->interval_ms = interval_ms;
    f->session = patient ? NULL : session_open(f->cli, err);
    f->questions = mailbox_new(64, free);
    f->news = mailbox_new(64, drop_news);
    if (f->session && record)
        f->recorder = recorder_open(record, err);
    if ((!f->session && !patient) || !f->questions || !f->news || (record && !f->recorder)) {
        if (!err->code)
            error_set(err, -ENOMEM, "out of memory");
        f->ended = true;
        feed_stop(f);
        return NULL;
    }
    if (f->session)
        session_set_max_age(f->session, interval_ms / 2);
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

void feed_ask(struct feed *f, const struct top_wish *wish)
{
    struct top_wish *copy = malloc(sizeof *copy);
    if (!copy)
        return;
    *copy = *wish;
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
    if (!f->ended) { /* hangs in a driver: the process ends around it */
        pthread_detach(f->thread);
        return;
    }
    if (f->thread)
        pthread_join(f->thread, NULL);
    recorder_close(f->recorder, &err);
    session_close(f->session);
    mailbox_free(f->questions);
    mailbox_free(f->news);
    snapshot_unref(f->last);
    snapshot_unref(f->explained);
    if (f->recent)
        recent_done(f->recent);
    free(f->recent);
    free(f);
}
