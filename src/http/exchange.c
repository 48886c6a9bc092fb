/* SPDX-License-Identifier: Apache-2.0
 * Writes answers: status line, fields, the shared body; or slices, over a connection that HTTP has handed over.
 */
#include "http/exchange.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "http/access.h"
#include "http/http.h"
#include "http/negotiate.h"
#include "http/site.h"

/* The Date field changes once a second. */
static const char *date_field(void)
{
    static char text[48];
    static time_t made;
    time_t now = time(NULL);
    if (now != made) {
        struct tm t;
        gmtime_r(&now, &t);
        strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &t);
        made = now;
    }
    return text;
}

#define NOTHING_MAY_BE_LOADED "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

/* printf took a quarter of an answer's time. */
#define TEXTS(out, ...) add_texts(out, (const char *const[]){__VA_ARGS__, NULL})

static void add_texts(struct buf *out, const char *const *texts)
{
    for (; *texts; texts++)
        buf_text(out, *texts);
}

static void add_number(struct buf *out, uint64_t number)
{
    char digits[24], *at = digits + sizeof digits;
    do
        *--at = (char)('0' + number % 10);
    while (number /= 10);
    buf_add(out, at, (size_t)(digits + sizeof digits - at));
}

static void write_body_fields(struct buf *head, const struct exchange *x, const struct reply *r, int status,
                              const struct blob *body, bool zipped, bool later)
{
    if (later) {
        TEXTS(head, "Content-Type: ", r->type, "\r\n", x->request->minor ? "Transfer-Encoding: chunked\r\n" : "");
    } else if (body && status != 304) {
        TEXTS(head, "Content-Type: ", r->type, "\r\nContent-Length: ");
        add_number(head, body->len);
        buf_text(head, "\r\n");
    } else if (status != 204 && status != 304) {
        buf_text(head, "Content-Length: 0\r\n");
    }
    if (zipped && status != 304)
        buf_text(head, "Content-Encoding: gzip\r\n");
    if (body && (status == 200 || status == 304))
        TEXTS(head, "ETag: \"", blob_etag((struct blob *)body), "\"\r\nVary: Accept, Accept-Encoding, Authorization, Cookie",
              x->site->options.cors_origin_count ? ", Origin\r\n" : "\r\n");
    if (r->has_age) {
        buf_text(head, "Age: ");
        add_number(head, (uint64_t)r->age_ms / 1000);
        buf_text(head, "\r\nX-Sample-Age-Ms: ");
        add_number(head, (uint64_t)r->age_ms);
        buf_text(head, "\r\n");
    }
}

/* Body: none, a blob, or sent later. */
static void write_head(struct buf *head, const struct exchange *x, const struct reply *r, int status, const struct blob *body,
                       bool zipped, bool later)
{
    buf_text(head, "HTTP/1.1 ");
    add_number(head, (uint64_t)status);
    TEXTS(head, " ", http_status_text(status), "\r\nDate: ", date_field(), "\r\nServer: whirr\r\n");
    write_body_fields(head, x, r, status, body, zipped, later);
    TEXTS(head, "Cache-Control: ", r->cache ? r->cache : "no-cache",
          /* Not "no-referrer": browsers would then send "Origin: null" with our own login form. */
          "\r\nX-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY\r\nReferrer-Policy: "
          "same-origin\r\nCross-Origin-Resource-Policy: ",
          x->site->options.cors_origin_count ? "cross-origin" : "same-origin",
          "\r\nContent-Security-Policy: ", r->policy ? r->policy : NOTHING_MAY_BE_LOADED, "\r\n");
    struct str cors = x->request ? access_cors_origin(x) : (struct str){0};
    if (cors.at)
        buf_printf(head, "Access-Control-Allow-Origin: " STR_FMT "\r\nAccess-Control-Expose-Headers: Age, ETag\r\n", STR_ARG(cors));
    if (r->fields)
        buf_text(head, r->fields);
    if (x->close)
        buf_text(head, "Connection: close\r\n");
    else if (x->request && x->request->minor == 0)
        buf_text(head, "Connection: keep-alive\r\n");
    buf_text(head, "\r\n");
}

void exchange_reply(struct exchange *x, const struct reply *r)
{
    if (x->done)
        return;
    x->done = true;
    if (x->take) {
        x->take(x, r);
        return;
    }
    int status = r->status ? r->status : 200;
    struct blob *body = r->body;
    bool zipped = false;
    if (body && status == 200 && x->request) {
        struct blob *packed = accepts_gzip(http_field(x->request, "accept-encoding")) ? blob_gzip(body) : NULL;
        zipped = packed != NULL;
        if (packed)
            body = packed;
        if (none_match_has(http_field(x->request, "if-none-match"), blob_etag(body)))
            status = 304;
    }
    if (x->route && right_acts(x->route->needs) && x->site->ops->acted)
        x->site->ops->acted(x, status);
    x->site->requests_total++;
    /* 501 and 505 concern what the client requests, not our health. */
    x->site->errors_total += status >= 500 && status != 501 && status != 505;
    AUTO_BUF struct buf head = BUF(8192);
    write_head(&head, x, r, status, body, zipped, false);
    if (head.failed) {
        conn_close(x->conn);
        return;
    }
    struct piece parts[2] = {PIECE_STR(buf_view(&head))};
    size_t count = 1;
    bool only_head = x->request && x->request->method == HTTP_HEAD;
    if (body && status != 304 && !only_head)
        parts[count++] = piece_blob(body);
    conn_send(x->conn, parts, count);
    if (x->close)
        conn_finish(x->conn, x->linger);
}

void exchange_begin(struct exchange *x, const struct reply *r)
{
    if (x->done)
        return;
    x->done = x->close = true;
    x->site->requests_total++;
    AUTO_BUF struct buf head = BUF(8192);
    write_head(&head, x, r, 200, NULL, false, true);
    if (head.failed)
        conn_close(x->conn);
    else
        conn_send(x->conn, &PIECE_STR(buf_view(&head)), 1);
}

void exchange_error_with(struct exchange *x, int status, const char *fields, const char *code, const char *message)
{
    AUTO_BUF struct buf out = BUF(4096);
    http_error_body(&out, code, message);
    AUTO_BLOB struct blob *body = blob_take(&out);
    exchange_reply(
        x, &(struct reply){.status = status, .type = "application/json", .body = body, .fields = fields, .cache = "no-store"});
}

void exchange_error(struct exchange *x, int status, const char *code, const char *format, ...)
{
    char message[512];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    exchange_error_with(x, status, NULL, code, message);
}

void exchange_json(struct exchange *x, int status, struct buf *out)
{
    AUTO_BLOB struct blob *body = blob_take(out);
    if (!body)
        return; /* router_handle() answers 500 */
    exchange_reply(
        x, &(struct reply){.status = status, .type = "application/json", .body = body, .cache = status == 200 ? NULL : "no-store"});
}

/* ---- downloads ---- */

enum { STALL_MS = 300000, ASK_AGAIN_MS = 100 };

struct download {
    struct site *site;
    struct conn *conn;
    struct download_source *source;
    struct tenure tenure;
    bool asked;   /* waiting for a slice */
    bool chunked; /* HTTP/1.1 */
};

static void ask(struct download *d)
{
    if (d->asked || d->conn->finishing || conn_queued(d->conn))
        return;
    d->asked = d->source->ask(d->source);
    conn_set_deadline(d->conn, d->asked ? 0 : ASK_AGAIN_MS);
}

void download_slice(struct conn *c, struct blob *slice, bool more)
{
    struct download *d = c->state;
    char size[24];
    int len = snprintf(size, sizeof size, "%zx\r\n", slice ? slice->len : 0);
    d->asked = false;
    if (slice && d->chunked)
        conn_send(c, (struct piece[]){{size, (size_t)len, NULL}, piece_blob(slice), PIECE_STR(STR("\r\n"))}, 3);
    else if (slice)
        conn_send(c, &(struct piece){slice->at, slice->len, slice}, 1);
    conn_set_deadline(c, STALL_MS);
    if (more) {
        ask(d);
        return;
    }
    if (d->chunked)
        conn_send(c, &PIECE_STR(STR("0\r\n\r\n")), 1);
    conn_finish(c, false);
}

void download_break_off(struct conn *c)
{
    struct download *d = c->state;
    d->asked = false;
    conn_close(c);
}

static size_t ignore_input(struct conn *c, char *at, size_t len)
{
    (void)c, (void)at;
    return len;
}

static void drained(struct conn *c)
{
    ask(c->state);
}

static void expired(struct conn *c)
{
    struct download *d = c->state;
    if (conn_queued(c) && loop_now_ms() - c->progress_ms >= STALL_MS)
        conn_close(c);
    else if (conn_queued(c))
        conn_set_deadline(c, STALL_MS);
    else
        ask(d);
}

/* The client may have closed only its sending side; if it is gone, sending fails. */
static void hangup(struct conn *c)
{
    (void)c;
}

static void closed(struct conn *c)
{
    struct download *d = c->state;
    tenure_end(&d->tenure);
    d->source->gone(d->source, d->asked);
    d->site->downloads--;
    c->place->downloads--;
    free(d);
    c->state = NULL;
}

static const struct protocol download_protocol = {
    .input = ignore_input, .drained = drained, .expired = expired, .hangup = hangup, .closed = closed, .input_max = 1};

bool download_has_room(struct exchange *x)
{
    bool others_have = x->site->downloads >= DOWNLOADS_MAX, peer_has = x->conn->place->downloads >= DOWNLOADS_OF_ONE;
    if (peer_has)
        exchange_error_with(x, 429, "Retry-After: 10\r\n", "too_many_downloads",
                            "Too many downloads from this address are running already.");
    else if (others_have)
        exchange_error_with(x, 503, "Retry-After: 10\r\n", "busy", "Too many downloads are running already.");
    return !peer_has && !others_have;
}

/* Aborted without the last chunk, so that no client takes it for complete. */
static void revoked(void *owner, const char *why)
{
    struct download *d = owner;
    (void)why;
    conn_close(d->conn);
}

bool download_begin(struct exchange *x, const struct reply *head, struct download_source *source, struct blob *first, bool more)
{
    struct download *d = calloc(1, sizeof *d);
    if (!d)
        return false; /* router_handle() answers 500 */
    *d = (struct download){.site = x->site, .conn = x->conn, .source = source, .chunked = x->request->minor > 0};
    if (!tenure_begin(&d->tenure, x, d, revoked)) {
        free(d);
        return false;
    }
    bool only_head = x->request->method == HTTP_HEAD;
    exchange_begin(x, head);
    x->site->downloads++;
    x->conn->place->downloads++;
    http_hand_over(x->conn, &download_protocol, d);
    if (only_head)
        conn_finish(x->conn, false);
    else
        download_slice(x->conn, first, more);
    return true;
}
