/* SPDX-License-Identifier: Apache-2.0
 * The texts of tabs, the daemon's badges for GPUs, and requests to its guard.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "ask/client.h"
#include "base/cleanup.h"
#include "format/capacity.h"
#include "format/forecast.h"
#include "format/health.h"
#include "format/table/table.h"
#include "insight/verdict/health.h"
#include "tui/feed/answers.h"
#include "tui/feed/internal.h"

enum { ACT_TIMEOUT_MS = 5000 };

void feed_ask_badges(struct feed *f)
{
    struct news *n = session_asks_daemon(f->session) ? news_new(NEWS_BADGES) : NULL;
    if (!n)
        return;
    json_t *health = feed_get(f, "/api/gpu/health"), *forecast = feed_get(f, "/api/forecast");
    n->badges = calloc(f->last->gpu_count + 1, sizeof *n->badges);
    n->series_count = n->badges ? f->last->gpu_count : 0;
    if (n->badges)
        answer_badges(health, forecast, f->last, n->badges);
    json_decref(health);
    json_decref(forecast);
    mailbox_put(f->news, n);
}

/* Without a daemon, the health is what top has seen since its start. */
static void show_health(struct feed *f, struct buf *out, const struct page *page)
{
    AUTO_BUF struct buf answer = BUF(ANSWER_MAX), texts = BUF(65536);
    struct health_basis basis = {0};
    struct health *health = NULL;
    if (!session_asks_daemon(f->session))
        health = session_health(f->session, &basis);
    else if (session_get(f->session, "/api/gpu/health", &answer) == 200)
        health = health_from_json(buf_view(&answer), &basis, &texts);
    if (health)
        table_health(out, page, health, &basis, session_asks_daemon(f->session) || !f->last ? NULL : f->last->verdict, HEALTH_ALL);
    health_free(health);
}

static void show_forecast(struct feed *f, struct buf *out, const struct page *page)
{
    AUTO_BUF struct buf answer = BUF(ANSWER_MAX);
    struct forecast_basis basis = {0};
    struct forecast *forecast = NULL;
    if (!session_asks_daemon(f->session) && f->last) {
        basis.host = f->last->host.name;
        forecast = session_forecast(f->session, &basis);
    } else if (session_get(f->session, "/api/forecast", &answer) == 200) {
        forecast = forecast_from_json(buf_view(&answer), &basis);
    }
    if (forecast)
        table_forecast(out, page, forecast, &basis, ALL_GPUS);
    forecast_free(forecast);
}

static void show_guard(struct feed *f, const json_t *guard, struct buf *out, const struct page *page, struct news *n)
{
    AUTO_FREE struct capacity *c = feed_capacity(f);
    answer_guard(guard, n);
    if (!n->worker_count)
        buf_text(out, "No worker is under guard. See `whirr help guard`.\n\n");
    if (c)
        table_capacity(out, page, c);
    buf_text(out, "\n    f: where would a size or a model fit?\n");
}

static void show_json(struct feed *f, struct buf *out, const struct page *page, struct news *n)
{
    static const char *const targets[TAB_COUNT] = {
        [TAB_ALERTS] = "/api/alerts", [TAB_ENERGY] = "/api/report?since=-24h", [TAB_GUARD] = "/api/guard"};
    AUTO_JSON json_t *json = feed_get(f, targets[n->number]);
    if (!json)
        return;
    if (n->number == TAB_ALERTS)
        answer_alerts(json, out);
    else if (n->number == TAB_GUARD)
        show_guard(f, json, out, page, n);
    else
        table_report(out, page, json, NULL);
}

/* Without a daemon: shows what top knows itself, and says what needs a history. */
static void show_alone(struct feed *f, struct buf *out, const struct page *page, enum top_tab tab)
{
    const struct verdict *v = f->last ? f->last->verdict : NULL;
    size_t shown = 0;
    if (tab == TAB_ENERGY) {
        buf_text(out, "Energy and cost over time need a history, which the daemon keeps: whirr serve\n\n"
                      "    Enter on a process shows what it has drawn since top was started.\n");
        return;
    }
    if (tab == TAB_GUARD) {
        AUTO_FREE struct capacity *c = feed_capacity(f);
        buf_text(out, "No daemon is running here; `whirr guard status` lists workers under a guard of their own.\n\n");
        if (c)
            table_capacity(out, page, c);
        buf_text(out, "\n    f: where would a size or a model fit?\n");
        return;
    }
    for (size_t i = 0; v && i < v->count; i++)
        if (v->findings[i].severity > SEVERITY_INFO) {
            buf_printf(out, "%-8s  %s\n", severity_text(v->findings[i].severity), v->findings[i].headline);
            shown++;
        }
    if (!shown)
        buf_text(out, "Nothing to alert about now.\n");
    buf_text(out, "\n    This is now. Alerts over time, silences and notifications need the daemon: whirr serve\n");
}

void feed_ask_pane(struct feed *f, const struct top_request *w)
{
    struct news *n = news_new(NEWS_PANE);
    AUTO_BUF struct buf out = BUF(1 << 20);
    struct page page = {.width = w->width, .utf8 = f->cli->page.utf8, .now = clock_wall(f->cli->env.clock)};
    if (!n)
        return;
    n->number = w->number;
    if (w->number == TAB_HEALTH)
        show_health(f, &out, &page);
    else if (w->number == TAB_FORECAST)
        show_forecast(f, &out, &page);
    else if (!session_asks_daemon(f->session))
        show_alone(f, &out, &page, (enum top_tab)w->number);
    else
        show_json(f, &out, &page, n);
    if (!out.len)
        buf_text(&out, session_asks_daemon(f->session) ? "The daemon did not answer.\n" : "Nothing was seen yet.\n");
    n->text = buf_take(&out);
    mailbox_put(f->news, n);
}

void feed_act_on_guard(struct feed *f, const struct top_request *w)
{
    struct str rest = str_from(w->text), verb;
    struct client *client;
    struct error err = {0};
    if (!str_cut(&rest, ' ', &verb))
        return;
    if (act_open(f->cli, &client, &err) < 0) {
        feed_report(f, NEWS_NOTE, true, err.text);
        return;
    }
    char target[64], text[TOP_NOTE_SIZE], problem[128] = "";
    AUTO_BUF struct buf answer = BUF(1 << 20);
    AUTO_JSON json_t *body = json_pack("{s:s%}", "worker", rest.at, rest.len);
    AUTO_FREE char *json = body ? json_dumps(body, 0) : NULL;
    snprintf(target, sizeof target, "/api/guard/" STR_FMT, STR_ARG(verb));
    int status = json ? client_request(client, "POST", target, json, &answer, ACT_TIMEOUT_MS, &err) : -ENOMEM;
    if (status < 0)
        str_copy(problem, sizeof problem, str_from(err.text));
    else if (status >= 300)
        client_error_text(buf_view(&answer), problem, sizeof problem);
    client_close(client);
    if (problem[0])
        snprintf(text, sizeof text, "Cannot " STR_FMT " " STR_FMT ": %s", STR_ARG(verb), STR_ARG(rest), problem);
    else
        snprintf(text, sizeof text, "Asked the guard to " STR_FMT " " STR_FMT ".", STR_ARG(verb), STR_ARG(rest));
    feed_report(f, NEWS_NOTE, problem[0] != '\0', text);
    feed_ask_pane(f, &(struct top_request){.kind = REQUEST_PANE, .number = TAB_GUARD, .width = w->width});
}
