/* SPDX-License-Identifier: Apache-2.0
 * Loads libcurl.
 */
#include "net/curl.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/words.h"

struct curl_functions curl;
static bool loaded;
static struct error load_error;
static pthread_mutex_t curl_lock = PTHREAD_MUTEX_INITIALIZER;

static const struct library_symbol symbols[] = {
    {"curl_global_init", &curl.global_init},       {"curl_easy_init", &curl.easy_init},
    {"curl_easy_setopt", &curl.easy_setopt},       {"curl_easy_perform", &curl.easy_perform},
    {"curl_easy_getinfo", &curl.easy_getinfo},     {"curl_easy_send", &curl.easy_send},
    {"curl_easy_recv", &curl.easy_recv},           {"curl_easy_cleanup", &curl.easy_cleanup},
    {"curl_easy_strerror", &curl.easy_strerror},   {"curl_slist_append", &curl.slist_append},
    {"curl_slist_free_all", &curl.slist_free_all},
};

/* -ENOSYS with a sentence without libcurl. Each call retries until it works: the library may be installed while the daemon runs. */
static int curl_load(const struct env *env, struct error *err)
{
    pthread_mutex_lock(&curl_lock);
    if (!loaded) {
        static const char *const names[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};
        void *library = NULL;
        for (size_t i = 0; i < ARRAY_LEN(names) && !library; i++)
            library = env->load_library(env, names[i], &load_error);
        loaded = library && library_symbols(library, symbols, ARRAY_LEN(symbols), &load_error) == 0 &&
                 curl.global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
    }
    int rc = loaded ? 0 : error_set(err, -ENOSYS, "HTTP requests need libcurl (Debian: libcurl4): %s", load_error.text);
    pthread_mutex_unlock(&curl_lock);
    return rc;
}

int curl_open(const struct env *env, CURL **ret, struct error *err)
{
    int rc = curl_load(env, err);
    if (rc < 0)
        return rc;
    *ret = curl.easy_init();
    if (*ret) /* only Windows checks for revocation, which private authorities can't answer */
        curl.easy_setopt(*ret, CURLOPT_SSL_OPTIONS, (long)CURLSSLOPT_REVOKE_BEST_EFFORT);
    return *ret ? 0 : error_set(err, -ENOMEM, "out of memory");
}

/* libcurl calls it about once a second even when nothing moves; nonzero ends the transfer. */
static int cancel_requested(void *cancel, curl_off_t down, curl_off_t downloaded, curl_off_t up, curl_off_t uploaded)
{
    (void)down;
    (void)downloaded;
    (void)up;
    (void)uploaded;
    return *(const _Atomic bool *)cancel;
}

void curl_set_cancel(CURL *c, const _Atomic bool *cancel)
{
    if (!cancel)
        return;
    curl.easy_setopt(c, CURLOPT_NOPROGRESS, 0L);
    curl.easy_setopt(c, CURLOPT_XFERINFOFUNCTION, cancel_requested);
    curl.easy_setopt(c, CURLOPT_XFERINFODATA, (void *)cancel);
    curl.easy_setopt(c, CURLOPT_QUICK_EXIT, 1L); /* don't wait for an unresponsive name server */
}

void curl_set_protocols(CURL *c, const char *names, long bits)
{
    enum { OLD_OPTION = 181 }; /* CURLOPT_PROTOCOLS, deprecated in newer headers */
    if (curl.easy_setopt(c, CURLOPT_PROTOCOLS_STR, names) != CURLE_OK)
        curl.easy_setopt(c, (CURLoption)OLD_OPTION, bits);
}

const char *curl_why(CURL *c, CURLcode code, const char *said, char text[CURL_WHY_SIZE])
{
    long number = 0;
    double took_s = 0;
    char took[WORDS_SIZE];
    curl.easy_getinfo(c, CURLINFO_OS_ERRNO, &number);
    curl.easy_getinfo(c, CURLINFO_TOTAL_TIME, &took_s);
    if (code == CURLE_COULDNT_CONNECT && number == ECONNREFUSED)
        snprintf(text, CURL_WHY_SIZE, "cannot connect, nothing is listening there: %s", strerror(ECONNREFUSED));
    else if (code == CURLE_COULDNT_CONNECT && number > 0)
        snprintf(text, CURL_WHY_SIZE, "cannot connect: %s", strerror((int)number));
    else if (code == CURLE_COULDNT_RESOLVE_HOST)
        snprintf(text, CURL_WHY_SIZE, "no host of this name was found");
    else if (code == CURLE_OPERATION_TIMEDOUT)
        snprintf(text, CURL_WHY_SIZE, "timed out after %s", words_duration((int64_t)(took_s * 10 + 0.5) * 100, took));
    else
        snprintf(text, CURL_WHY_SIZE, "%s", said[0] ? said : curl.easy_strerror(code));
    return text;
}

int curl_errno(CURLcode code)
{
    switch (code) {
    case CURLE_OPERATION_TIMEDOUT: return -ETIMEDOUT;
    case CURLE_COULDNT_CONNECT: return -ECONNREFUSED;
    case CURLE_COULDNT_RESOLVE_HOST: return -EHOSTUNREACH;
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL: return -EINVAL;
    case CURLE_LOGIN_DENIED: return -EACCES;
    case CURLE_WRITE_ERROR: return -EFBIG;
    case CURLE_ABORTED_BY_CALLBACK: return -ECANCELED;
    default: return -EIO;
    }
}
