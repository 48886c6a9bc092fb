/* SPDX-License-Identifier: Apache-2.0
 * Questions about the past: GET /api/history and below, /api/system/gpu-stats/history, /api/report, and /api/why about the past.
 * The store's readers answer in their own threads while the request is parked.
 *
 *   loop ──question──▶ reader: question.read(store) ──mailbox──▶ loop: task->arrived()
 */
#include "serve/api/core.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/words.h"
#include "format/json/json.h"
#include "format/json/told.h"
#include "http/exchange.h"
#include "http/http.h"
#include "past/history_answer.h"
#include "past/past_json.h"
#include "past/question.h"
#include "store/service/service.h"

enum { BODY_MAX = 64 << 20 };

/* ---- a question, on its way to the reader and back ---- */

/* A query for the reader; embedded as the first member of the actual task. */
struct history_task {
    struct store_question question; /* history_ask() sets its client and `answered` */
    struct mailbox *done;
    struct conn *conn;                          /* owned by the loop; NULL once the client has left */
    void (*arrived)(struct history_task *task); /* called in the loop, which owns the task again */
    void (*drop)(struct history_task *task);    /* frees it */
    int rc;                                     /* result of the query */
    struct error err;
};

static void answered(struct store_question *q, int rc, const struct error *err)
{
    struct history_task *task = (struct history_task *)q;
    task->rc = rc;
    task->err = *err;
    mailbox_put(task->done, task);
}

static void drop_task(void *item)
{
    struct history_task *task = item;
    task->drop(task);
}

static void on_done(void *arg)
{
    struct history *h = arg;
    for (struct history_task *task; (task = mailbox_take(h->done, 0)) != NULL;)
        task->arrived(task);
}

/* Handles the parked request again. */
static void wake(struct history_task *task)
{
    struct http_client *client = task->conn ? http_client_of(task->conn) : NULL;
    if (!client) {
        task->drop(task);
        return;
    }
    client->answer = task;
    client->drop_answer = drop_task;
    http_unpark(task->conn);
}

/* The client has left: discard the answer. */
static void withdraw(struct history_task *task)
{
    task->conn = NULL;
    task->question.canceled = true;
}

static void gone(struct conn *c, void *owner)
{
    struct history_task *task = owner;
    if (task->conn == c)
        withdraw(task);
}

/* Queues the task for the readers, on behalf of the connection's client. Requires task->conn, done and drop; calls `arrived`
 * later. 0 or the result of store_service_ask(). */
static int ask_store(struct server *s, struct history_task *task)
{
    task->question.answered = answered;
    task->question.client = peer_number(&task->conn->place->id);
    return store_service_ask(s->parts.store, &task->question);
}

static void refuse(struct exchange *x, int rc)
{
    if (rc == -EDQUOT)
        exchange_error_with(x, 429, "Retry-After: 1\r\n", "too_many_questions",
                            "Too many questions about the past from this address wait already.");
    else
        exchange_error_with(x, 503, "Retry-After: 1\r\n", "busy", "Too many questions about the past wait already.");
}

/* The same for a request: parks it until the task returns, as http_client.answer. If refused, responds and drops the task. */
static void park(struct exchange *x, struct history_task *task)
{
    struct http_client *client = x->conn->state;
    task->done = x->server->history.done;
    task->conn = x->conn;
    task->arrived = wake;
    int rc = ask_store(x->server, task);
    if (rc < 0) {
        task->drop(task);
        refuse(x, rc);
        return;
    }
    exchange_park(x);
    client->parked_gone = gone;
    client->parked_owner = task;
}

/* Responds with 503 because the store could not answer (task->rc < 0). */
static void reply_failure(struct exchange *x, const struct history_task *task)
{
    if (task->rc == -EBUSY)
        refuse(x, task->rc);
    else if (task->rc == -ETIME)
        exchange_error_with(x, 503, "Retry-After: 10\r\n", "took_too_long",
                            "The answer took too long to make: ask about a shorter time, or for fewer points.");
    else
        exchange_error(x, 503, "store_failing", "The history cannot be read: %s.", task->err.text);
}

int history_init(struct history *h, struct loop *loop)
{
    *h = (struct history){.done = mailbox_new(256, drop_task)};
    if (!h->done)
        return -ENOMEM;
    h->watch = watch_readable(loop->base, mailbox_fd(h->done), on_done, h);
    return h->watch && watch_on(h->watch, WATCH_NO_TIMEOUT) ? 0 : -ENOMEM;
}

void history_done(struct history *h)
{
    watch_free(h->watch);
    mailbox_free(h->done);
}

/* A history_parameter_fn of requests. */
static bool parameter(void *exchange, const char *key, char *value, size_t size)
{
    return http_query(((struct exchange *)exchange)->request, key, value, size);
}

/* The host whose history is meant where none is named. */
static void own_host(const struct server *s, char name[HOST_NAME_SIZE])
{
    const char *own = s->parts.store ? store_service_host(s->parts.store) : "";
    if (!own[0] && s->data.latest)
        own = s->data.latest->host.name;
    str_copy(name, HOST_NAME_SIZE, str_from(own));
}

static bool bad(struct exchange *x, const char *message)
{
    exchange_error(x, 400, "bad_parameter", "%s", message);
    return false;
}

static bool bad_parameter(struct exchange *x, const struct error *err)
{
    exchange_error(x, 400, "bad_parameter", "%s.", err->text);
    return false;
}

/* ---- GET /api/system/gpu-stats/history: rows ---- */

enum { LIMIT_DEFAULT = 1000, GPUS_MAX = 256 };
#define WINDOW_MAX_MS (365 * 86400000LL)

struct history_job {
    struct history_task task;
    /* The query. */
    int64_t since_ms, until_ms, step_ms, cursor;
    int gpu_index; /* -1: all */
    size_t limit;
    /* The answer. */
    struct buf out;
    struct json_writer j;
    size_t count;
    int64_t last; /* cursor of the last row */
    size_t columns[STATS_COLUMNS];
};

static void free_job(struct history_task *task)
{
    struct history_job *job = (struct history_job *)task;
    buf_done(&job->out);
    free(job);
}

/* ---- in the reader's thread ---- */

static int history_add_row(void *user, const struct store_row *row)
{
    struct history_job *job = user;
    /* The query asks for one row more than the page holds: it tells whether there is a next page. */
    if (job->count == job->limit) {
        job->count++;
        return 1;
    }
    json_history_row(&job->j, row);
    job->count++;
    job->last = row->cursor;
    return job->out.failed ? -ENOMEM : 0;
}

static int write_rows(struct store *s, struct history_job *job, struct error *err)
{
    const struct store_page page = {.since_ms = job->since_ms,
                                    .until_ms = job->until_ms,
                                    .gpu_index = job->gpu_index,
                                    .cursor = job->cursor,
                                    .limit = job->limit + 1,
                                    .columns = job->columns,
                                    .column_count = STATS_COLUMNS};
    return store_rows(s, &page, history_add_row, job, err);
}

/* A point of one GPU; those of all GPUs are merged by time. */
struct point {
    int64_t key;
    const struct store_gpu *gpu;
    struct aggregate values[STATS_COLUMNS];
};

struct points {
    struct history_job *job;
    struct store_gpu gpus[GPUS_MAX];
    size_t gpu_count, gpu;
    struct point *list;
    size_t count, capacity;
};

static int history_note_gpu(void *user, const struct store_gpu *gpu)
{
    struct points *p = user;
    if (p->gpu_count < GPUS_MAX && (p->job->gpu_index < 0 || gpu->index == p->job->gpu_index))
        p->gpus[p->gpu_count++] = *gpu;
    return 0;
}

static int note_point(void *user, const struct store_point *point)
{
    struct points *p = user;
    const struct store_gpu *gpu = &p->gpus[p->gpu];
    int64_t key = cursor_at(point->at.ms, gpu->id);
    if (key <= p->job->cursor)
        return 0;
    if (!ROOM_FOR_ONE(p->list, p->count, p->capacity, 1024))
        return -ENOMEM;
    p->list[p->count] = (struct point){.key = key, .gpu = gpu};
    memcpy(p->list[p->count++].values, point->values, sizeof p->list[0].values);
    return 0;
}

static int by_key(const void *a, const void *b)
{
    int64_t left = ((const struct point *)a)->key, right = ((const struct point *)b)->key;
    return (left > right) - (left < right);
}

static int gather_points(struct store *s, struct points *p, struct error *err)
{
    struct history_job *job = p->job;
    int rc = store_gpus(s, NULL, history_note_gpu, p, err);
    int64_t oldest_ms = job->until_ms;
    for (size_t i = 0; i < p->gpu_count; i++)
        oldest_ms = MIN_OF(oldest_ms, p->gpus[i].first_seen.ms);
    struct store_plot plot = {.series = SERIES_GPU,
                              .since_ms = MAX_OF(job->since_ms, oldest_ms),
                              .until_ms = job->until_ms,
                              .step_ms = job->step_ms,
                              .columns = job->columns,
                              .column_count = STATS_COLUMNS};
    /* All pages of an answer use the same step. */
    enum level level;
    store_plan(s, &plot, &plot.step_ms, &level);
    int64_t from_ms = MAX_OF(plot.since_ms, cursor_ms(job->cursor)), width_ms = plot.step_ms * (int64_t)(job->limit + 1);
    /* Reads only as much as the page needs; widens the window over periods without data. */
    for (; rc == 0 && from_ms < job->until_ms && p->count <= job->limit; width_ms = MIN_OF(4 * width_ms, (int64_t)WINDOW_MAX_MS)) {
        plot.since_ms = from_ms;
        plot.until_ms = from_ms = MIN_OF(job->until_ms, (from_ms + width_ms) / plot.step_ms * plot.step_ms);
        for (p->gpu = 0; rc == 0 && p->gpu < p->gpu_count; p->gpu++) {
            plot.subject = p->gpus[p->gpu].id;
            rc = store_series(s, &plot, note_point, p, err);
        }
    }
    return rc;
}

static int write_points(struct store *s, struct history_job *job, struct error *err)
{
    AUTO_FREE struct points *p = calloc(1, sizeof *p);
    if (!p)
        return error_set(err, -ENOMEM, "out of memory");
    p->job = job;
    int rc = gather_points(s, p, err);
    if (rc == 0 && p->count)
        qsort(p->list, p->count, sizeof *p->list, by_key);
    for (size_t i = 0; rc == 0 && i < MIN_OF(p->count, job->limit); i++) {
        json_history_point(&job->j, p->list[i].gpu, (struct wall){cursor_ms(p->list[i].key)}, p->list[i].values);
        job->last = p->list[i].key;
    }
    job->count = MIN_OF(p->count, job->limit + 1);
    free(p->list);
    return rc;
}

static int read_rows(struct store_question *q, struct store *s, struct error *err)
{
    struct history_job *job = (struct history_job *)q;
    buf_done(&job->out);
    job->out = BUF(BODY_MAX);
    job->j = JSON_WRITER(&job->out);
    job->count = 0;
    int rc = job->step_ms ? write_points(s, job, err) : write_rows(s, job, err);
    AUTO_BUF struct buf page = BUF(BODY_MAX);
    struct json_writer j = JSON_WRITER(&page);
    struct told_page told = {.list = buf_view(&job->out), .count = MIN_OF(job->count, job->limit)};
    if (job->count > job->limit)
        snprintf(told.next_cursor, sizeof told.next_cursor, "%llx", (long long)job->last);
    page.failed = job->out.failed;
    answer_write(&j, &stats_history_answer, &told, NULL);
    buf_char(&page, '\n');
    buf_done(&job->out);
    job->out = page;
    page = BUF(0);
    return rc;
}

static bool read_span(struct exchange *x, struct history_job *job, int64_t now_ms)
{
    struct question_span span = {.until = {now_ms + 1}, .any_order = true};
    struct error err = {0};
    if (question_read_span(parameter, x, (struct wall){now_ms}, MOMENT_UTC, &span, &err) < 0)
        return bad_parameter(x, &err);
    job->since_ms = span.since.ms;
    job->until_ms = span.until.ms;
    return true;
}

/* "60" means seconds; "5m" is a duration. */
static bool read_step(const char *text, int64_t *ret_ms)
{
    double seconds;
    if (str_to_double(str_from(text), &seconds))
        *ret_ms = seconds >= 1 && seconds <= 1e9 ? (int64_t)(seconds * MS_PER_S) : -1;
    else if (!duration_parse(str_from(text), ret_ms))
        return false;
    return *ret_ms >= MS_PER_S;
}

static bool read_stats_question(struct exchange *x, struct history_job *job)
{
    const struct http_message *r = x->request;
    int64_t now_ms = clock_wall(x->server->options.env->clock).ms, number;
    char text[64];
    *job = (struct history_job){.gpu_index = -1, .limit = LIMIT_DEFAULT};
    if (!read_span(x, job, now_ms))
        return false;
    if (http_query(r, "gpu_index", text, sizeof text) || http_query(r, "gpu", text, sizeof text)) {
        int now = snapshot_find_gpu(x->server->data.latest, text);
        bool known =
            str_to_i64(str_from(text), &number) && number >= 0 && number < GPU_MAX; /* a GPU of the past may be gone by now */
        if (!known && now < 0)
            return bad(x, "gpu_index must be the number of a GPU, from 0 on; gpu its number, UUID or PCI address.");
        job->gpu_index = known ? (int)number : x->server->data.latest->gpus[now].index;
    }
    if (http_query(r, "limit", text, sizeof text) && str_to_i64(str_from(text), &number))
        job->limit = (size_t)number;
    if (http_query(r, "step", text, sizeof text) && !read_step(text, &job->step_ms))
        return bad(x, "step must be a duration of at least 1s, like 60s, 5m or 1h.");
    if (http_query(r, "cursor", text, sizeof text) && !str_to_cursor(str_from(text), &job->cursor))
        return bad(x, "cursor must be the next_cursor of an answer.");
    return true;
}

/* Without a store, the history is empty. */
static void reply_no_stats(struct exchange *x)
{
    AUTO_BUF struct buf out = BUF(256);
    buf_text(&out, "{\"rows\":[],\"count\":0,\"next_cursor\":null}\n");
    exchange_json(x, 200, &out);
}

static void reply_stats(struct exchange *x, struct history_job *job)
{
    if (job->task.rc == 0)
        exchange_json(x, 200, &job->out);
    else if (job->task.rc == -ENOENT)
        reply_no_stats(x); /* nothing has been stored yet: not a failure */
    else
        reply_failure(x, &job->task);
}

void get_stats_history(struct exchange *x)
{
    struct http_client *client = x->conn->state;
    if (client->answer) {
        struct history_job *finished = TAKE(client->answer);
        reply_stats(x, finished);
        free_job(&finished->task);
        return;
    }
    struct history_job question;
    if (!read_stats_question(x, &question))
        return;
    if (!x->server->parts.store) {
        reply_no_stats(x);
        return;
    }
    struct history_job *job = malloc(sizeof *job);
    if (!job)
        return; /* router_handle() answers 500 */
    *job = question;
    job->task = (struct history_task){.question.read = read_rows, .drop = free_job};
    json_stats_columns(job->columns);
    park(x, &job->task);
}

/* ---- GET /api/history and what is below it: metrics, processes, events and limits, as a document or a download ---- */

enum { SLICE_MAX = 16 << 20 };

/* A running query; a download repeats it for each slice. */
struct history_query {
    struct history_task task;
    struct download_source source; /* of a download: asks for the next slice */
    struct history_question question;
    struct server *server;
    struct history_stream *stream; /* NULL: one document */
    struct buf out;
    /* task.rc is 1 if a download continues, 0 if it is complete, or -errno. */
};

static void query_free(struct history_task *task)
{
    struct history_query *query = (struct history_query *)task;
    history_stream_free(query->stream);
    buf_done(&query->out);
    free(query);
}

/* In the reader's thread. */
static int read_query(struct store_question *q, struct store *s, struct error *err)
{
    struct history_query *query = (struct history_query *)q;
    buf_done(&query->out);
    query->out = BUF(query->stream ? SLICE_MAX : BODY_MAX);
    return query->stream ? history_stream_next(query->stream, s, &query->out, err)
                         : history_answer(s, &query->question, &query->out, err);
}

/* ---- downloads ---- */

static const char *download_type(const struct history_question *q)
{
    return q->format == HISTORY_CSV ? "text/csv; charset=utf-8" : "application/jsonl; charset=utf-8";
}

static struct history_query *query_of(struct download_source *source)
{
    return (struct history_query *)((char *)source - offsetof(struct history_query, source));
}

static bool ask_for_slice(struct download_source *source)
{
    struct history_query *query = query_of(source);
    return ask_store(query->server, &query->task) == 0;
}

static void download_gone(struct download_source *source, bool asked)
{
    struct history_query *query = query_of(source);
    withdraw(&query->task);
    if (!asked)
        query_free(&query->task);
}

/* The header is already sent, so an error can only abort the response. */
static void slice_arrived(struct history_task *task)
{
    struct history_query *query = (struct history_query *)task;
    if (!task->conn) {
        query_free(task);
    } else if (task->rc < 0) {
        download_break_off(task->conn);
    } else {
        AUTO_BLOB struct blob *slice = query->out.len ? blob_take(&query->out) : NULL;
        download_slice(task->conn, slice, task->rc > 0);
    }
}

static void begin_download(struct exchange *x, struct history_query *query)
{
    static const char *const names[] = {
        [HISTORY_SERIES] = "history", [HISTORY_PROCESSES] = "processes", [HISTORY_EVENTS] = "events"};
    const struct history_question *q = &query->question;
    char fields[128];
    snprintf(fields, sizeof fields, "Content-Disposition: attachment; filename=\"whirr-%s.%s\"\r\n", names[q->kind],
             q->format == HISTORY_CSV ? "csv" : "jsonl");
    query->source = (struct download_source){.ask = ask_for_slice, .gone = download_gone};
    query->server = x->server;
    query->task.conn = x->conn;
    query->task.arrived = slice_arrived;
    AUTO_BLOB struct blob *first = query->out.len ? blob_take(&query->out) : NULL;
    const struct reply head = {.type = download_type(q), .fields = fields, .cache = "no-store"};
    if (!download_begin(x, &head, &query->source, first, query->task.rc > 0))
        query_free(&query->task);
}

/* ---- the answer_history ---- */

/* Without a store, a download has no rows. */
static void reply_no_history(struct exchange *x, const struct history_question *q)
{
    if (q->format == HISTORY_JSON) {
        AUTO_BUF struct buf out = BUF(1024);
        history_answer_nothing(q, &out);
        exchange_json(x, 200, &out);
        return;
    }
    AUTO_BLOB struct blob *nothing = blob_copy(STR(""));
    if (nothing)
        exchange_reply(x, &(struct reply){.type = download_type(q), .body = nothing, .cache = "no-store"});
}

static void reply_history(struct exchange *x, struct history_query *query)
{
    int rc = query->task.rc;
    if (rc >= 0 && query->stream) {
        begin_download(x, query);
        return;
    }
    if (rc == -EINVAL)
        exchange_error(x, 400, "bad_parameter", "%s.", query->task.err.text);
    else if (rc == -ENODEV)
        exchange_error(x, 404, "not_found", "%s.", query->task.err.text);
    else if (rc == -ENOENT)
        reply_no_history(x, &query->question);
    else if (rc < 0)
        reply_failure(x, &query->task);
    else
        exchange_json(x, 200, &query->out);
    query_free(&query->task);
}

/* ---- the query ---- */

static bool read_history_question(struct exchange *x, enum history_kind kind, struct history_question *q)
{
    struct error err = {0};
    struct wall now = clock_wall(x->server->options.env->clock);
    if (history_question_read(q, kind, parameter, x, now, MOMENT_UTC, &err) < 0) {
        exchange_error(x, 400, "bad_parameter", "%s%s", err.text, err.text[strlen(err.text) - 1] == '?' ? "" : ".");
        return false;
    }
    own_host(x->server, q->own_host);
    return true;
}

static void answer_history(struct exchange *x, enum history_kind kind)
{
    struct http_client *client = x->conn->state;
    if (client->answer) {
        reply_history(x, TAKE(client->answer));
        return;
    }
    struct history_question *question = malloc(sizeof *question);
    struct history_query *query = calloc(1, sizeof *query);
    if (question && query && read_history_question(x, kind, question)) {
        query->question = *question;
        query->task = (struct history_task){.question.read = read_query, .drop = query_free};
        if (!x->server->parts.store) {
            reply_no_history(x, question);
        } else if (question->format != HISTORY_JSON && !(query->stream = history_stream_new(question))) {
            ; /* router_handle() answers 500 */
        } else if (query->stream && !download_has_room(x)) {
            ; /* already answered */
        } else {
            struct history_query *asked = TAKE(query);
            asked->task.question.once = asked->stream != NULL; /* don't repeat a slice that is partly written */
            park(x, &asked->task);
        }
    }
    free(question);
    if (query)
        query_free(&query->task);
}

void get_history(struct exchange *x)
{
    answer_history(x, HISTORY_SERIES);
}

void get_history_processes(struct exchange *x)
{
    answer_history(x, HISTORY_PROCESSES);
}

void get_history_events(struct exchange *x)
{
    answer_history(x, HISTORY_EVENTS);
}

void get_history_limits(struct exchange *x)
{
    answer_history(x, HISTORY_LIMITS);
}

/* ---- GET /api/why with `at`, `since` or `until`, and GET /api/report: answers in words ---- */

struct past_task {
    struct history_task task;
    struct past_question question;
    struct buf out;
};

static void free_past(struct history_task *task)
{
    struct past_task *p = (struct past_task *)task;
    buf_done(&p->out);
    free(p);
}

/* In the reader's thread. */
static int read_past(struct store_question *q, struct store *s, struct error *err)
{
    struct past_task *p = (struct past_task *)q;
    buf_done(&p->out);
    p->out = BUF(BODY_MAX);
    return past_answer(s, &p->question, &p->out, err);
}

static void reply_no_past(struct exchange *x, const struct past_question *q, const char *why)
{
    AUTO_BUF struct buf out = BUF(64 << 10);
    past_answer_nothing(q, why, &out);
    exchange_json(x, 200, &out);
}

static void reply_past(struct exchange *x, struct past_task *p)
{
    if (p->task.rc == 0)
        exchange_json(x, 200, &p->out);
    else if (p->task.rc == -ENOENT)
        reply_no_past(x, &p->question, "Nothing was ever stored.");
    else if (p->task.rc == -ENODEV)
        exchange_error(x, 404, "not_found", "%s.", p->task.err.text);
    else
        reply_failure(x, &p->task);
}

static void ask_past(struct exchange *x, const struct past_question *q)
{
    if (!x->server->parts.store) {
        reply_no_past(x, q, "No history is kept: store.url is \"none\".");
        return;
    }
    struct past_task *p = calloc(1, sizeof *p);
    if (!p)
        return; /* router_handle() answers 500 */
    p->task = (struct history_task){.question.read = read_past, .drop = free_past};
    p->question = *q;
    park(x, &p->task);
}

/* Replies if the answer has arrived; true if so. */
static bool reply_if_answered(struct exchange *x)
{
    struct http_client *client = x->conn->state;
    if (!client->answer)
        return false;
    struct past_task *done = TAKE(client->answer);
    reply_past(x, done);
    free_past(&done->task);
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
    if (reply_if_answered(x))
        return true;
    if (past_question_read(&q, parameter, x, clock_wall(x->server->options.env->clock), MOMENT_UTC, &err) < 0) {
        bad_parameter(x, &err);
        return true;
    }
    own_host(x->server, q.own_host);
    ask_past(x, &q);
    return true;
}

void get_report(struct exchange *x)
{
    const struct server_options *o = &x->server->options;
    struct past_question q = {.price_per_kwh = o->price_per_kwh, .co2_g_per_kwh = o->co2_g_per_kwh};
    struct error err = {0};
    if (reply_if_answered(x))
        return;
    str_copy(q.currency, sizeof q.currency, str_from(o->currency));
    str_copy(q.co2_file, sizeof q.co2_file, str_from(o->co2_file));
    if (past_report_read(&q, parameter, x, clock_wall(o->env->clock), MOMENT_UTC, &err) < 0) {
        bad_parameter(x, &err);
        return;
    }
    own_host(x->server, q.own_host);
    ask_past(x, &q);
}
