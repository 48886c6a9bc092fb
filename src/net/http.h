/* SPDX-License-Identifier: Apache-2.0
 * One HTTP request as a client, for the guard's methods, notifiers and push. Blocking: call it from a thread or process that may
 * wait. libcurl is loaded at the first call, so that a program that never calls pays nothing.
 */
#pragma once

#include "base/buf.h"
#include "base/env.h"
#include "base/error.h"

struct http_request {
    const char *method;         /* "GET", "POST", ... */
    const char *url;            /* http or https; redirects are not followed */
    const char *body;           /* NULL: none */
    size_t body_len;            /* 0: it is a text; else its bytes */
    const char *content_type;   /* NULL: application/json */
    const char *const *headers; /* "Name: value", NULL-terminated; may be NULL */
    const char *unix_socket;    /* NULL: by network */
    bool http2;                 /* HTTP/2 from the first byte, as gRPC speaks it; else HTTP/1.1 or what TLS agrees on */
    int64_t connect_timeout_ms; /* 0: 3000 */
    int64_t timeout_ms;         /* of the whole request; 0: 10000 */
    const char *tls_ca;         /* file with the certificates to trust; NULL: those of the system */
    bool insecure_tls;          /* only when a person asked for it */
    const char *ca_file;        /* the certificates to trust instead of the system's; NULL: the system's */
    const char *certificate_file, *key_file; /* who we are, for a server that wants to know (PEM); NULL: no certificate */
    bool secret_url;                         /* messages do not name the URL */
    /* Gets the body of a 200 piece by piece, of any length, instead of `body`; returns 0 or -errno, which ends it. May be NULL. */
    int (*each)(void *user, struct str piece);
    void *each_user;
    struct buf *reply_headers; /* lines "name: value" of the answer, and what follows its body, are appended; may be NULL */
    int64_t *retry_after_ms;   /* what the answer's Retry-After says, at most a day; 0 where it says nothing; may be NULL */
    bool status_is_enough; /* a status of 200 or more is the answer, whatever becomes of the body behind it: long, endless, cut off
                            */
    const _Atomic bool *cancel; /* becomes true: given up within about a second with -ECANCELED; may be NULL */
};

/* Status 100 to 599 (also 4xx and 5xx: the server answered), or -errno with a sentence. The body is appended to `body`
 * (may be NULL) up to its maximum; a longer one fails with -EFBIG. */
int http_call(const struct env *env, const struct http_request *request, struct buf *body, struct error *err);
