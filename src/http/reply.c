/* SPDX-License-Identifier: Apache-2.0
 * Writes answers: status line, fields, the shared body.
 */
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#include "http/access.h"
#include "http/exchange.h"
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

static void reply_add_number(struct buf *out, uint64_t number)
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
        reply_add_number(head, body->len);
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
        reply_add_number(head, (uint64_t)r->age_ms / 1000);
        buf_text(head, "\r\nX-Sample-Age-Ms: ");
        reply_add_number(head, (uint64_t)r->age_ms);
        buf_text(head, "\r\n");
    }
}

/* Body: none, a blob, or sent later. */
static void write_head(struct buf *head, const struct exchange *x, const struct reply *r, int status, const struct blob *body,
                       bool zipped, bool later)
{
    buf_text(head, "HTTP/1.1 ");
    reply_add_number(head, (uint64_t)status);
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
