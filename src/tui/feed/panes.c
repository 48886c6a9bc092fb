/* SPDX-License-Identifier: Apache-2.0
 * The texts of tabs, the daemon's badges for GPUs, requests to its guard, and where a size or a model would fit.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ask/ask_fit.h"
#include "ask/client.h"
#include "base/cleanup.h"
#include "base/words.h"
#include "config/config.h"
#include "config/places.h"
#include "format/capacity_forms.h"
#include "format/forecast_forms.h"
#include "format/health_forms.h"
#include "format/table/table.h"
#include "insight/area/part.h"
#include "insight/verdict/health.h"
#include "tui/feed/answers.h"
#include "tui/feed/internal.h"

/* ---- what fits, from the daemon's figures or the last sample ---- */

/* The defaults of `whirr fit` for models. */
static const struct model_options fit_defaults = {.context = -1, .cache_type = "f16", .overhead_bytes = MODEL_OVERHEAD_DEFAULT};

/* Memory that is free now, or would be if workers gave way; NULL: unknown. */
static struct capacity *feed_capacity(struct feed *f)
{
    AUTO_BUF struct buf answer = BUF(ANSWER_MAX);
    int64_t reserve_bytes = f->cli->settings ? f->cli->settings->worker.reserve_bytes : 0;
    if (session_get(f->session, "/api/capacity", &answer) == 200)
        return capacity_from_json(buf_view(&answer));
    return f->last ? fit_capacity(f->cli, f->session, f->last, reserve_bytes) : NULL;
}

/* Reads a model's file or directory, as typed. */
static bool read_model(const char *typed, struct model_facts *facts, struct model_need *need, struct placement_request *request,
                       struct error *err)
{
    char path[WHY_LINE_SIZE + 256];
    place_typed(path, sizeof path, typed);
    if (!model_assume(str_from(typed), facts) && model_files_read(path, facts, err) < 0)
        return false;
    model_need(facts, &fit_defaults, need);
    *request = (struct placement_request){.count = 1,
                                          .only = -1,
                                          .bytes = need->bytes,
                                          .fixed_bytes = need->fixed_bytes,
                                          .layers = need->layers,
                                          .layer_count = need->layer_count};
    return true;
}

static void show_fit(struct feed *f, const struct top_request *w, struct buf *out, struct model_facts *facts,
                     struct model_need *need)
{
    AUTO_FREE struct capacity *c = feed_capacity(f);
    struct page page = {.width = MIN_OF(w->width - 2, 80), .utf8 = f->cli->page.utf8, .now = clock_wall(f->cli->env.clock)};
    struct placement_request request = {.count = 1, .only = -1, .whole = true};
    struct fit_subject subject = {.context_wanted = -1};
    struct error err = {0};
    double number;
    bool is_model =
        model_assume(str_from(w->text), facts) || (strpbrk(w->text, "/.~") && !bytes_parse(str_from(w->text), &request.bytes));
    if (is_model && !read_model(w->text, facts, need, &request, &err)) {
        page_wrap(out, &page, INK_PLAIN, err.text, 0, 0);
        return;
    }
    if (is_model)
        subject = (struct fit_subject){
            .path = w->text, .facts = facts, .need = need, .cache_type = fit_defaults.cache_type, .context_wanted = -1};
    /* A number without a unit, like "24", hardly means bytes. */
    else if (str_to_double(str_from(w->text), &number) || !bytes_parse(str_from(w->text), &request.bytes) || request.bytes <= 0) {
        buf_printf(out, "'%s' is not a size with its unit, like 24GiB, nor a model, like 70B\nor ~/models/m.gguf.\n", w->text);
        return;
    }
    AUTO_FREE struct placement *found = c ? placement_find(c, &request) : NULL;
    if (found && is_model)
        fit_doubt(need, found);
    if (found)
        table_placement(out, &page, c, &request, found, &subject);
    else
        buf_text(out, "Not known: the free memory could not be read.\n");
}

void feed_ask_fit(struct feed *f, const struct top_request *w)
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

/* ---- tabs ---- */

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
