/* SPDX-License-Identifier: Apache-2.0
 * 2xx: sent. 429, 5xx or no answer: later. All other answers are final refusals. A server without remote write 2.0 answers 415, or
 * a success without the number of written samples: it gets 1.0 from then on.
 */
#include "push/push.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "http/blob.h"
#include "net/http_client.h"

enum { URL_MAX = 2047, LABEL_MAX = 127 };

static enum push_kind target_kind_of(enum config_push_protocol protocol)
{
    switch (protocol) {
    case CONFIG_PUSH_REMOTE_WRITE: return PUSH_WRITE_1;
    case CONFIG_PUSH_REMOTE_WRITE_2: return PUSH_WRITE_2;
    case CONFIG_PUSH_OTLP: return PUSH_OTLP_JSON;
    case CONFIG_PUSH_OTLP_PROTOBUF: return PUSH_OTLP_PROTOBUF;
    }
    return PUSH_WRITE_1;
}

static bool copy_texts(struct push_target *t, const struct config_push *settings, const char *host)
{
    t->url = strdup(settings->url);
    t->job = strndup(settings->job, LABEL_MAX);
    t->instance = strndup(settings->instance[0] ? settings->instance : host, LABEL_MAX);
    return t->url && t->job && t->instance;
}

static struct http_peer *target_peer(const struct config_push *c, struct error *err)
{
    char section[CONFIG_KEY_SIZE];
    snprintf(section, sizeof section, "push.%s", c->entry.name);
    return http_peer_new(&(struct http_peer_settings){.section = section,
                                                      .token = c->token,
                                                      .tenant = c->tenant,
                                                      .ca = c->ca,
                                                      .certificate = c->certificate,
                                                      .key = c->key,
                                                      .headers = &c->headers},
                         err);
}

struct push_target *push_target_new(const struct config_push *settings, const char *host, struct error *err)
{
    if (strlen(settings->url) > URL_MAX) { /* a truncated URL is another address: better none */
        error_set(err, -E2BIG, "push '%s' has a URL of more than %d bytes", settings->entry.name, URL_MAX);
        return NULL;
    }
    struct push_target *t = calloc(1, sizeof *t);
    if (!t || !copy_texts(t, settings, host)) {
        error_set(err, -ENOMEM, "out of memory");
        push_target_free(t);
        return NULL;
    }
    t->peer = target_peer(settings, err);
    if (!t->peer) {
        push_target_free(t);
        return NULL;
    }
    t->gzip = settings->gzip;
    t->kind = target_kind_of(settings->protocol);
    t->batch = (size_t)settings->batch;
    t->timeout_ms = settings->timeout_ms;
    t->queue_bytes = settings->queue_bytes;
    return t;
}

void push_target_free(struct push_target *t)
{
    if (!t)
        return;
    http_peer_free(t->peer);
    free(t->url);
    free(t->job);
    free(t->instance);
    free(t);
}

int push_target_encode(const struct push_target *t, struct buf *body, const struct push_line *lines, size_t count, struct wall at,
                       const struct push_identity *who)
{
    AUTO_BUF struct buf plain = BUF(PUSH_BODY_MAX);
    switch (t->kind == PUSH_WRITE_2 && t->only_1 ? PUSH_WRITE_1 : t->kind) {
    case PUSH_WRITE_1: push_remote_write(&plain, lines, count, at, who); break;
    case PUSH_WRITE_2: push_remote_write_2(&plain, lines, count, at, who); break;
    case PUSH_OTLP_JSON: push_otlp(body, lines, count, at, who); break;
    case PUSH_OTLP_PROTOBUF: push_otlp_protobuf(body, lines, count, at, who); break;
    }
    if (t->kind == PUSH_WRITE_1 || t->kind == PUSH_WRITE_2)
        push_snappy(body, buf_view(&plain));
    return plain.failed || body->failed ? -ENOMEM : 0;
}

/* Converts a queued 2.0 request for a server that only knows 1.0. */
static int target_prepare(const struct push_target *t, struct buf *body, enum push_kind *ret_kind)
{
    AUTO_BUF struct buf plain = BUF(PUSH_BODY_MAX);
    AUTO_BUF struct buf old = BUF(PUSH_BODY_MAX);
    *ret_kind = push_kind_of(buf_view(body));
    if (*ret_kind != PUSH_WRITE_2 || !t->only_1)
        return 0;
    int rc = push_unsnappy(&plain, buf_view(body));
    if (rc == 0)
        rc = push_back_to_1(&old, buf_view(&plain));
    if (rc < 0)
        return rc;
    *ret_kind = PUSH_WRITE_1;
    body->len = 0;
    push_snappy(body, buf_view(&old));
    return body->failed ? -ENOMEM : 0;
}

/* The server's answer. */
struct push_reply {
    struct buf text, headers;
    int64_t retry_after_ms;
    struct error err;
};

static int post(const struct push_target *t, const struct env *env, struct str body, enum push_kind kind,
                const _Atomic bool *cancel, struct push_reply *reply)
{
    static const struct {
        const char *type, *encoding, *version;
    } kinds[] = {
        [PUSH_WRITE_1] = {"application/x-protobuf", "Content-Encoding: snappy", "X-Prometheus-Remote-Write-Version: 0.1.0"},
        [PUSH_WRITE_2] = {"application/x-protobuf;proto=io.prometheus.write.v2.Request", "Content-Encoding: snappy",
                          "X-Prometheus-Remote-Write-Version: 2.0.0"},
        [PUSH_OTLP_JSON] = {"application/json", NULL, NULL},
        [PUSH_OTLP_PROTOBUF] = {"application/x-protobuf", NULL, NULL},
    };
    const char *headers[PEER_HEADERS_MAX + 3] = {0};
    size_t count = 0;
    AUTO_BUF struct buf packed = BUF(PUSH_BODY_MAX);
    if (kinds[kind].encoding) {
        headers[count++] = kinds[kind].encoding;
        headers[count++] = kinds[kind].version;
    } else if (t->gzip && gzip_compress(body, &packed)) {
        headers[count++] = "Content-Encoding: gzip";
        body = buf_view(&packed);
    }
    for (size_t i = 0; i < t->peer->header_count; i++)
        headers[count++] = t->peer->headers[i];
    struct http_request request = {.method = "POST",
                                   .url = t->url,
                                   .body = body.at,
                                   .body_len = body.len,
                                   .content_type = kinds[kind].type,
                                   .headers = headers,
                                   .timeout_ms = t->timeout_ms,
                                   .secret_url = true,
                                   .status_is_enough = true,
                                   .reply_headers = &reply->headers,
                                   .retry_after_ms = &reply->retry_after_ms,
                                   .cancel = cancel};
    http_peer_apply(t->peer, &request);
    return http_call(env, &request, &reply->text, &reply->err);
}

/* "Tue, 17 Nov 2026 15:58:56 GMT", the usual format; false: missing or different. */
static bool read_date(const struct buf *headers, struct wall *ret)
{
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    const char *line = headers->len ? strcasestr(headers->at, "\ndate:") : NULL;
    char month[4];
    struct tm t = {0};
    if (!line || sscanf(line + strlen("\ndate:"), " %*3s, %2d %3s %4d %2d:%2d:%2d GMT", &t.tm_mday, month, &t.tm_year, &t.tm_hour,
                        &t.tm_min, &t.tm_sec) != 6)
        return false;
    const char *at = strstr(months, month);
    if (!at || t.tm_year < 1970)
        return false;
    t.tm_mon = (int)(at - months) / 3;
    t.tm_year -= 1900;
    ret->ms = (int64_t)timegm(&t) * MS_PER_S;
    return true;
}

/* Whether the answer to a 2.0 request shows that the server only knows 1.0: it can't parse it (400), says so (415), or takes it
 * for an empty 1.0 request. */
static bool knows_only_1(const struct push_target *t, int status, const struct buf *headers)
{
    if (status >= 200 && status < 300)
        return !strcasestr(headers->len ? headers->at : "", "X-Prometheus-Remote-Write-Samples-Written:");
    return status == 415 || (status == 400 && !t->took_2);
}

static enum push_outcome target_judge(int status)
{
    if (status >= 200 && status < 300)
        return PUSH_SENT;
    if (status == -ECANCELED)
        return PUSH_CANCELLED;
    return status < 0 || status == 429 || status >= 500 || status == 408 ? PUSH_LATER : PUSH_REFUSED;
}

/* On one line. */
static void explain(int status, const struct push_reply *reply, char *text, size_t size)
{
    char message[160];
    str_copy_clean(message, sizeof message, str_trim(buf_view(&reply->text)));
    if (status < 0)
        snprintf(text, size, "%s", reply->err.text);
    else
        snprintf(text, size, "answered %d%s%s", status, message[0] ? ": " : "", message);
}

enum push_outcome push_target_send(struct push_target *t, const struct env *env, struct buf *body, const _Atomic bool *cancel,
                                   struct push_answer *answer)
{
    enum push_kind kind;
    int status = target_prepare(t, body, &kind);
    *answer = (struct push_answer){0};
    if (status < 0) { /* no server will ever accept it */
        snprintf(answer->text, sizeof answer->text, "this request cannot be read: %s", strerror(-status));
        return PUSH_REFUSED;
    }
    struct push_reply reply = {.text = BUF(64 << 10), .headers = BUF(64 << 10)};
    status = post(t, env, buf_view(body), kind, cancel, &reply);
    enum push_outcome outcome = kind == PUSH_WRITE_2 && knows_only_1(t, status, &reply.headers) ? PUSH_AS_1 : target_judge(status);
    t->only_1 |= outcome == PUSH_AS_1;
    t->took_2 |= outcome == PUSH_SENT && kind == PUSH_WRITE_2;
    explain(status, &reply, answer->text, sizeof answer->text);
    answer->retry_after_ms = reply.retry_after_ms;
    read_date(&reply.headers, &answer->its_time);
    buf_done(&reply.text);
    buf_done(&reply.headers);
    return outcome;
}
