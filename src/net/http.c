/* SPDX-License-Identifier: Apache-2.0
 * libcurl's easy interface behind a small table of functions that are looked up at the first call.
 */
#include "net/http.h"

#include <curl/curl.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

enum { CONNECT_TIMEOUT_MS = 3000, TIMEOUT_MS = 10000 };

static struct {
    bool loaded;
    struct error error;
    CURLcode (*global_init)(long);
    CURL *(*easy_init)(void);
    CURLcode (*easy_setopt)(CURL *, CURLoption, ...);
    CURLcode (*easy_perform)(CURL *);
    CURLcode (*easy_getinfo)(CURL *, CURLINFO, ...);
    void (*easy_cleanup)(CURL *);
    const char *(*easy_strerror)(CURLcode);
    struct curl_slist *(*slist_append)(struct curl_slist *, const char *);
    void (*slist_free_all)(struct curl_slist *);
} curl;
static pthread_mutex_t curl_lock = PTHREAD_MUTEX_INITIALIZER;

static bool look_up(void *library)
{
    struct {
        const char *name;
        void **to;
    } symbols[] = {
        {"curl_global_init", (void **)&curl.global_init},       {"curl_easy_init", (void **)&curl.easy_init},
        {"curl_easy_setopt", (void **)&curl.easy_setopt},       {"curl_easy_perform", (void **)&curl.easy_perform},
        {"curl_easy_getinfo", (void **)&curl.easy_getinfo},     {"curl_easy_cleanup", (void **)&curl.easy_cleanup},
        {"curl_easy_strerror", (void **)&curl.easy_strerror},   {"curl_slist_append", (void **)&curl.slist_append},
        {"curl_slist_free_all", (void **)&curl.slist_free_all},
    };
    for (size_t i = 0; i < ARRAY_LEN(symbols); i++) {
        *symbols[i].to = dlsym(library, symbols[i].name);
        if (!*symbols[i].to) {
            error_set(&curl.error, -ENOSYS, "libcurl has no %s", symbols[i].name);
            return false;
        }
    }
    return true;
}

/* Tried again at each call until it works: the library may be installed while the daemon runs. */
static int load(const struct env *env, struct error *err)
{
    pthread_mutex_lock(&curl_lock);
    if (!curl.loaded) {
        static const char *const names[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};
        void *library = NULL;
        for (size_t i = 0; i < ARRAY_LEN(names) && !library; i++)
            library = env->load_library(env, names[i], &curl.error);
        curl.loaded = library && look_up(library) && curl.global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
    }
    int rc = curl.loaded ? 0 : error_set(err, -ENOSYS, "HTTP requests need libcurl (Debian: libcurl4): %s", curl.error.text);
    pthread_mutex_unlock(&curl_lock);
    return rc;
}

static size_t take_body(char *bytes, size_t size, size_t count, void *to)
{
    struct buf *body = to;
    buf_add(body, bytes, size * count);
    return body->failed ? 0 : size * count; /* 0 ends the transfer */
}

/* Called about once a second also while nothing moves; not 0 ends the transfer. */
static int look_up_from_work(void *cancel, curl_off_t down, curl_off_t downloaded, curl_off_t up, curl_off_t uploaded)
{
    (void)down;
    (void)downloaded;
    (void)up;
    (void)uploaded;
    return *(const _Atomic bool *)cancel;
}

static struct curl_slist *header_list(const struct http_request *r)
{
    char type[160];
    snprintf(type, sizeof type, "Content-Type: %s", r->content_type ? r->content_type : "application/json");
    struct curl_slist *list = curl.slist_append(NULL, "Expect:"); /* no wait for 100-continue */
    if (r->body)
        list = curl.slist_append(list, type);
    for (size_t i = 0; r->headers && r->headers[i]; i++)
        list = curl.slist_append(list, r->headers[i]);
    return list;
}

static void set_options(CURL *c, const struct http_request *r, struct curl_slist *headers, struct buf *body, char *said)
{
    curl.easy_setopt(c, CURLOPT_URL, r->url);
    curl.easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
    curl.easy_setopt(c, CURLOPT_FOLLOWLOCATION, 0L);
    curl.easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
    curl.easy_setopt(c, CURLOPT_CONNECTTIMEOUT_MS, (long)(r->connect_timeout_ms ? r->connect_timeout_ms : CONNECT_TIMEOUT_MS));
    curl.easy_setopt(c, CURLOPT_TIMEOUT_MS, (long)(r->timeout_ms ? r->timeout_ms : TIMEOUT_MS));
    curl.easy_setopt(c, CURLOPT_USERAGENT, "whirr/" WHIRR_VERSION);
    curl.easy_setopt(c, CURLOPT_ERRORBUFFER, said);
    curl.easy_setopt(c, CURLOPT_HTTPHEADER, headers);
    curl.easy_setopt(c, CURLOPT_WRITEFUNCTION, take_body);
    curl.easy_setopt(c, CURLOPT_WRITEDATA, body);
    curl.easy_setopt(c, CURLOPT_NOPROXY, "localhost,127.0.0.1,::1");
    if (r->unix_socket)
        curl.easy_setopt(c, CURLOPT_UNIX_SOCKET_PATH, r->unix_socket);
    if (r->insecure_tls) {
        curl.easy_setopt(c, CURLOPT_SSL_VERIFYPEER, 0L);
        curl.easy_setopt(c, CURLOPT_SSL_VERIFYHOST, 0L);
    }
    if (r->body) {
        curl.easy_setopt(c, CURLOPT_POSTFIELDS, r->body);
        curl.easy_setopt(c, CURLOPT_POSTFIELDSIZE, (long)strlen(r->body));
    }
    curl.easy_setopt(c, CURLOPT_CUSTOMREQUEST, r->method);
    if (r->cancel) {
        curl.easy_setopt(c, CURLOPT_NOPROGRESS, 0L);
        curl.easy_setopt(c, CURLOPT_XFERINFOFUNCTION, look_up_from_work);
        curl.easy_setopt(c, CURLOPT_XFERINFODATA, (void *)r->cancel);
        curl.easy_setopt(c, CURLOPT_QUICK_EXIT, 1L); /* no wait for a name server that does not answer */
    }
}

static int to_errno(CURLcode code)
{
    switch (code) {
    case CURLE_OPERATION_TIMEDOUT: return -ETIMEDOUT;
    case CURLE_COULDNT_CONNECT: return -ECONNREFUSED;
    case CURLE_COULDNT_RESOLVE_HOST: return -EHOSTUNREACH;
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL: return -EINVAL;
    case CURLE_WRITE_ERROR: return -EFBIG;
    case CURLE_ABORTED_BY_CALLBACK: return -ECANCELED;
    default: return -EIO;
    }
}

int http_call(const struct env *env, const struct http_request *request, struct buf *body, struct error *err)
{
    int rc = load(env, err);
    if (rc < 0)
        return rc;
    CURL *c = curl.easy_init();
    if (!c)
        return error_set(err, -ENOMEM, "out of memory");
    AUTO_BUF struct buf ignored = BUF(1024 * 1024);
    char said[CURL_ERROR_SIZE] = "";
    struct curl_slist *headers = header_list(request);
    set_options(c, request, headers, body ? body : &ignored, said);
    CURLcode code = curl.easy_perform(c);
    long status = 0;
    curl_off_t pause_s = 0;
    curl.easy_getinfo(c, CURLINFO_RESPONSE_CODE, &status);
    curl.easy_getinfo(c, CURLINFO_RETRY_AFTER, &pause_s);
    if (request->retry_after_ms)
        *request->retry_after_ms = MIN_OF(MAX_OF(pause_s, 0), 86400) * MS_PER_S;
    curl.easy_cleanup(c);
    curl.slist_free_all(headers);
    const char *why = said[0] ? said : curl.easy_strerror(code);
    if (code != CURLE_OK && request->secret_url)
        return error_set(err, to_errno(code), "%s", why);
    if (code != CURLE_OK)
        return error_set(err, to_errno(code), "%s %s: %s", request->method, request->url, why);
    return (int)status;
}
