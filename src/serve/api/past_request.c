/* SPDX-License-Identifier: Apache-2.0
 * Passes queries about the past to the store's reader, and its answers back.
 */
#include "serve/api/history_api.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "http/http.h"
#include "past/past_json.h"
#include "serve/api/core.h"
#include "store/service/service.h"

enum { ANSWER_MAX = 64 << 20 };

struct past_task {
    struct history_task task;
    struct past_question question;
    struct buf out;
};

static void drop(struct history_task *task)
{
    struct past_task *p = (struct past_task *)task;
    buf_done(&p->out);
    free(p);
}

/* In the reader's thread. */
static int read_answer(struct store_question *q, struct store *s, struct error *err)
{
    struct past_task *p = (struct past_task *)q;
    buf_done(&p->out);
    p->out = BUF(ANSWER_MAX);
    return past_answer(s, &p->question, &p->out, err);
}

static void reply_nothing(struct exchange *x, const struct past_question *q, const char *why)
{
    AUTO_BUF struct buf out = BUF(64 << 10);
    past_answer_nothing(q, why, &out);
    exchange_json(x, 200, &out);
}

static void reply(struct exchange *x, struct past_task *p)
{
    if (p->task.rc == 0)
        exchange_json(x, 200, &p->out);
    else if (p->task.rc == -ENOENT)
        reply_nothing(x, &p->question, "Nothing was ever stored.");
    else if (p->task.rc == -ENODEV)
        exchange_error(x, 404, "not_found", "%s.", p->task.err.text);
    else
        history_failed(x, &p->task);
}

static void ask(struct exchange *x, const struct past_question *q)
{
    if (!x->server->parts.store) {
        reply_nothing(x, q, "No history is kept: store.url is \"none\".");
        return;
    }
    struct past_task *p = calloc(1, sizeof *p);
    if (!p)
        return; /* router_handle() answers 500 */
    p->task = (struct history_task){.question.read = read_answer, .drop = drop};
    p->question = *q;
    history_park(x, &p->task);
}

/* Replies if the answer has arrived; true if so. */
static bool answered(struct exchange *x)
{
    struct http_client *client = x->conn->state;
    if (!client->answer)
        return false;
    struct past_task *done = TAKE(client->answer);
    reply(x, done);
    drop(&done->task);
    return true;
}

bool past_handles(struct exchange *x)
{
    char text[80];
    struct past_question q;
    struct error err = {0};
    if (!http_query(x->request, "at", text, sizeof text) && !http_query(x->request, "since", text, sizeof text) &&
        !http_query(x->request, "until", text, sizeof text))
        return false;
    if (answered(x))
        return true;
    if (past_question_read(&q, history_parameter, x, clock_wall(x->server->options.env->clock), MOMENT_UTC, &err) < 0) {
        exchange_error(x, 400, "bad_parameter", "%s.", err.text);
        return true;
    }
    server_own_host(x->server, q.own_host);
    ask(x, &q);
    return true;
}

void get_report(struct exchange *x)
{
    const struct server_options *o = &x->server->options;
    struct past_question q = {.price_per_kwh = o->price_per_kwh, .co2_g_per_kwh = o->co2_g_per_kwh};
    struct error err = {0};
    if (answered(x))
        return;
    str_copy(q.currency, sizeof q.currency, str_from(o->currency));
    str_copy(q.co2_file, sizeof q.co2_file, str_from(o->co2_file));
    if (past_report_read(&q, history_parameter, x, clock_wall(o->env->clock), MOMENT_UTC, &err) < 0) {
        exchange_error(x, 400, "bad_parameter", "%s.", err.text);
        return;
    }
    server_own_host(x->server, q.own_host);
    ask(x, &q);
}
