/* SPDX-License-Identifier: Apache-2.0
 * 2xx: sent. 429 and 5xx, or no answer: later. Other answers are final refusals. A server that does not know remote write 2.0 says
 * so with 415, or with a success that does not say how many samples were written: it gets 1.0 from then on.
 */
#include "push/target.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "net/http.h"

enum { URL_MAX = 2047, LABEL_MAX = 127, HEADERS_MAX = 20, HEADER_MAX = 4095 };

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

/* What is cut is another address, or another secret: better none at all. */
static bool fits(const struct config_push *settings)
{
    bool fits = strlen(settings->url) <= URL_MAX && settings->headers.count <= HEADERS_MAX;
    for (size_t i = 0; fits && i < settings->headers.count; i++)
        fits = strlen(settings->headers.pairs[i].key) + strlen(": ") + strlen(settings->headers.pairs[i].value) <= HEADER_MAX;
    return fits;
}

static bool copy_texts(struct push_target *t, const struct config_push *settings, const char *host)
{
    const struct config_map *headers = &settings->headers;
    t->url = strdup(settings->url);
    t->job = strndup(settings->job, LABEL_MAX);
    t->instance = strndup(settings->instance[0] ? settings->instance : host, LABEL_MAX);
    t->headers = calloc(headers->count + 1, sizeof *t->headers);
    bool complete = t->url && t->job && t->instance && t->headers;
    while (complete && t->header_count < headers->count) {
        const struct config_pair *pair = &headers->pairs[t->header_count];
        complete = asprintf(&t->headers[t->header_count], "%s: %s", pair->key, pair->value) >= 0;
        t->header_count += complete;
    }
    return complete;
}

struct push_target *push_target_new(const struct config_push *settings, const char *host, struct error *err)
{
    if (!fits(settings)) {
        error_set(err, -E2BIG, "push '%s' has a URL of more than %d bytes, more than %d headers, or one of more than %d bytes",
                  settings->entry.name, URL_MAX, HEADERS_MAX, HEADER_MAX);
        return NULL;
    }
    struct push_target *t = calloc(1, sizeof *t);
    if (!t || !copy_texts(t, settings, host)) {
        error_set(err, -ENOMEM, "out of memory");
        push_target_free(t);
        return NULL;
    }
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
    for (size_t i = 0; i < t->header_count; i++)
        free(t->headers[i]);
    free(t->headers);
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

/* What waits as 2.0 for a server that only knows 1.0 is written anew. */
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

/* What the other side said. */
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
    const char *headers[HEADERS_MAX + 3] = {0};
    size_t count = 0;
    if (kinds[kind].encoding) {
        headers[count++] = kinds[kind].encoding;
        headers[count++] = kinds[kind].version;
    }
    for (size_t i = 0; i < t->header_count; i++)
        headers[count++] = t->headers[i];
    const struct http_request request = {.method = "POST",
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
    return http_call(env, &request, &reply->text, &reply->err);
}

/* Whether the answer to a request of 2.0 is that of a server that only knows 1.0: such a one cannot read it (400), says so (415),
 * or takes it for an empty request of 1.0. */
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

/* In one line. */
static void explain(int status, const struct push_reply *reply, char *text, size_t size)
{
    char said[160];
    str_copy_clean(said, sizeof said, str_trim(buf_view(&reply->text)));
    if (status < 0)
        snprintf(text, size, "%s", reply->err.text);
    else
        snprintf(text, size, "answered %d%s%s", status, said[0] ? ": " : "", said);
}

enum push_outcome push_target_send(struct push_target *t, const struct env *env, struct buf *body, const _Atomic bool *cancel,
                                   struct push_answer *answer)
{
    enum push_kind kind;
    int status = target_prepare(t, body, &kind);
    *answer = (struct push_answer){0};
    if (status < 0) { /* no server will ever take it */
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
    buf_done(&reply.text);
    buf_done(&reply.headers);
    return outcome;
}
