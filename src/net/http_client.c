/* SPDX-License-Identifier: Apache-2.0
 * HTTP through libcurl's easy interface.
 */
#include "net/http_client.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "net/curl.h"

enum { CONNECT_TIMEOUT_MS = 3000, TIMEOUT_MS = 10000, PAUSE_MAX_S = 86400, STATUS_FINAL = 200 };

/* Destination of the body. */
struct transfer {
    CURL *handle;
    const struct http_request *request;
    struct buf *body;
    int failure;     /* of request->each */
    int64_t pause_s; /* Retry-After in seconds; 0: none */
};

static size_t take_body(char *bytes, size_t size, size_t count, void *user)
{
    struct transfer *t = user;
    long status = 0;
    if (t->request->each && curl.easy_getinfo(t->handle, CURLINFO_RESPONSE_CODE, &status) == CURLE_OK && status == 200) {
        t->failure = t->request->each(t->request->each_user, (struct str){bytes, size * count});
        return t->failure < 0 ? 0 : size * count; /* 0 aborts the transfer */
    }
    buf_add(t->body, bytes, size * count);
    return t->body->failed ? 0 : size * count;
}

/* Any number of digits: libcurl ignores values that overflow. */
static int64_t read_pause(struct str digits)
{
    int64_t seconds = 0;
    for (size_t i = 0; i < digits.len; i++) {
        if (digits.at[i] < '0' || digits.at[i] > '9')
            return 0; /* a date, or invalid */
        seconds = MIN_OF(seconds * 10 + (digits.at[i] - '0'), (int64_t)PAUSE_MAX_S);
    }
    return seconds;
}

static size_t take_header(char *bytes, size_t size, size_t count, void *user)
{
    struct transfer *t = user;
    struct str line = {bytes, size * count}, name;
    if (t->request->reply_headers)
        buf_add(t->request->reply_headers, bytes, size * count); /* not worth failing if it doesn't fit */
    if (str_cut(&line, ':', &name) && str_is_any_case(str_trim(name), "retry-after"))
        t->pause_s = read_pause(str_trim(line));
    return size * count;
}

static struct curl_slist *header_list(const struct http_request *r)
{
    char type[160];
    snprintf(type, sizeof type, "Content-Type: %s", r->content_type ? r->content_type : "application/json");
    struct curl_slist *list = curl.slist_append(NULL, "Expect:"); /* don't wait for 100-continue */
    if (r->body)
        list = curl.slist_append(list, type);
    for (size_t i = 0; r->headers && r->headers[i]; i++)
        list = curl.slist_append(list, r->headers[i]);
    return list;
}

/* A streamed answer has no total limit: it is aborted when it stalls. */
static void set_time_limits(CURL *c, const struct http_request *r)
{
    long timeout_ms = (long)(r->timeout_ms ? r->timeout_ms : TIMEOUT_MS);
    curl.easy_setopt(c, CURLOPT_CONNECTTIMEOUT_MS, (long)(r->connect_timeout_ms ? r->connect_timeout_ms : CONNECT_TIMEOUT_MS));
    if (!r->each) {
        curl.easy_setopt(c, CURLOPT_TIMEOUT_MS, timeout_ms);
        return;
    }
    curl.easy_setopt(c, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl.easy_setopt(c, CURLOPT_LOW_SPEED_TIME, MAX_OF(timeout_ms / (long)MS_PER_S, 1L));
}

static void set_options(CURL *c, const struct http_request *r, struct curl_slist *headers, struct transfer *transfer, char *said)
{
    curl.easy_setopt(c, CURLOPT_URL, r->url);
    curl_set_protocols(c, "http,https", CURLPROTO_HTTP | CURLPROTO_HTTPS);
    curl.easy_setopt(c, CURLOPT_FOLLOWLOCATION, 0L);
    curl.easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
    set_time_limits(c, r);
    curl.easy_setopt(c, CURLOPT_USERAGENT, "whirr/" WHIRR_VERSION);
    curl.easy_setopt(c, CURLOPT_ERRORBUFFER, said);
    curl.easy_setopt(c, CURLOPT_HTTPHEADER, headers);
    curl.easy_setopt(c, CURLOPT_WRITEFUNCTION, take_body);
    curl.easy_setopt(c, CURLOPT_WRITEDATA, transfer);
    curl.easy_setopt(c, CURLOPT_NOPROXY, "localhost,127.0.0.1,::1");
    if (r->unix_socket)
        curl.easy_setopt(c, CURLOPT_UNIX_SOCKET_PATH, r->unix_socket);
    if (r->http2)
        curl.easy_setopt(c, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE);
    curl.easy_setopt(c, CURLOPT_HEADERFUNCTION, take_header);
    curl.easy_setopt(c, CURLOPT_HEADERDATA, transfer);
    if (r->ca_file) {
        curl.easy_setopt(c, CURLOPT_CAINFO, r->ca_file);
        curl.easy_setopt(c, CURLOPT_CAPATH, NULL); /* only these */
    }
    if (r->certificate_file) {
        curl.easy_setopt(c, CURLOPT_SSLCERT, r->certificate_file);
        curl.easy_setopt(c, CURLOPT_SSLKEY, r->key_file);
    }
    if (r->insecure_tls) {
        curl.easy_setopt(c, CURLOPT_SSL_VERIFYPEER, 0L);
        curl.easy_setopt(c, CURLOPT_SSL_VERIFYHOST, 0L);
    }
    if (r->tls_ca)
        curl.easy_setopt(c, CURLOPT_CAINFO, r->tls_ca);
    if (r->body) {
        curl.easy_setopt(c, CURLOPT_POSTFIELDS, r->body);
        curl.easy_setopt(c, CURLOPT_POSTFIELDSIZE, (long)(r->body_len ? r->body_len : strlen(r->body)));
    }
    curl.easy_setopt(c, CURLOPT_CUSTOMREQUEST, r->method);
    curl.easy_setopt(c, CURLOPT_CONNECT_ONLY, (long)r->only_connect);
    curl_set_cancel(c, r->cancel);
}

int http_call(const struct env *env, const struct http_request *request, struct buf *body, struct error *err)
{
    CURL *c = NULL;
    int rc = curl_open(env, &c, err);
    if (rc < 0)
        return rc;
    AUTO_BUF struct buf ignored = BUF(1024 * 1024);
    char said[CURL_ERROR_SIZE] = "";
    struct curl_slist *headers = header_list(request);
    struct transfer transfer = {.handle = c, .request = request, .body = body ? body : &ignored};
    set_options(c, request, headers, &transfer, said);
    CURLcode code = curl.easy_perform(c);
    long status = 0;
    curl_off_t pause_s = 0;
    curl.easy_getinfo(c, CURLINFO_RESPONSE_CODE, &status);
    curl.easy_getinfo(c, CURLINFO_RETRY_AFTER, &pause_s);
    if (request->retry_after_ms)
        *request->retry_after_ms = MIN_OF(MAX_OF(pause_s, transfer.pause_s), PAUSE_MAX_S) * MS_PER_S;
    char text[CURL_WHY_SIZE];
    const char *why = curl_why(c, code, said, text);
    curl.easy_cleanup(c);
    curl.slist_free_all(headers);
    if (transfer.failure < 0)
        return error_set(err, transfer.failure, "%s", strerror(-transfer.failure));
    if (request->status_is_enough && status >= STATUS_FINAL)
        return (int)status;
    if (code != CURLE_OK && request->secret_url)
        return error_set(err, curl_errno(code), "%s", why);
    if (code != CURLE_OK)
        return error_set(err, curl_errno(code), "%s %s: %s", request->method, request->url, why);
    return (int)status;
}
