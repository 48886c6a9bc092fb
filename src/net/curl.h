/* SPDX-License-Identifier: Apache-2.0
 * libcurl's easy interface behind a small function table, loaded on the first call: only for the files of this directory.
 */
#pragma once

#include <curl/curl.h>

#include "base/env.h"
#include "base/error.h"

/* Valid after curl_load(). */
struct curl_functions {
    CURLcode (*global_init)(long);
    CURL *(*easy_init)(void);
    CURLcode (*easy_setopt)(CURL *, CURLoption, ...);
    CURLcode (*easy_perform)(CURL *);
    CURLcode (*easy_getinfo)(CURL *, CURLINFO, ...);
    CURLcode (*easy_send)(CURL *, const void *, size_t, size_t *);
    CURLcode (*easy_recv)(CURL *, void *, size_t, size_t *);
    void (*easy_cleanup)(CURL *);
    const char *(*easy_strerror)(CURLcode);
    struct curl_slist *(*slist_append)(struct curl_slist *, const char *);
    void (*slist_free_all)(struct curl_slist *);
};
extern struct curl_functions curl;

/* The same, with a handle to free with curl.easy_cleanup. */
int curl_open(const struct env *env, CURL **ret, struct error *err);
/* Aborts the transfer within about a second after *cancel becomes true; NULL: never. */
void curl_set_cancel(CURL *c, const _Atomic bool *cancel);
/* Restricts to these protocols, by name and, for libcurl before 7.85, as CURLPROTO_* bits. */
void curl_set_protocols(CURL *c, const char *names, long bits);
int curl_errno(CURLcode code);
/* Why a transfer failed: in our words for common causes, else in libcurl's, of which `said` is the longer form. Call before
 * curl.easy_cleanup. */
enum { CURL_WHY_SIZE = CURL_ERROR_SIZE };
const char *curl_why(CURL *c, CURLcode code, const char *said, char text[CURL_WHY_SIZE]);
