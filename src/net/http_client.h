/* SPDX-License-Identifier: Apache-2.0
 * One HTTP request as a client, for the guard's methods, notifiers and push. Blocking: call it from a thread or process that may
 * wait. libcurl loads on the first call, so that programs that never call pay nothing.
 */
#pragma once

#include "base/buf.h"
#include "base/env.h"
#include "base/error.h"

struct http_request {
    const char *method;         /* "GET", "POST", ... */
    const char *url;            /* http or https; redirects are not followed */
    const char *body;           /* NULL: none */
    size_t body_len;            /* 0: `body` is a C string */
    const char *content_type;   /* NULL: application/json */
    const char *const *headers; /* "Name: value", NULL-terminated; may be NULL */
    const char *unix_socket;    /* NULL: over the network */
    bool http2;                 /* HTTP/2 from the first byte, as gRPC requires; else HTTP/1.1 or what TLS negotiates */
    int64_t connect_timeout_ms; /* 0: 3000 */
    int64_t timeout_ms;         /* of the whole request; 0: 10000 */
    const char *tls_ca;         /* file of trusted certificates; NULL: the system's */
    bool insecure_tls;          /* only on explicit request */
    const char *ca_file;        /* trusted certificates instead of the system's; NULL: the system's */
    const char *certificate_file, *key_file; /* our certificate for servers that require one (PEM); NULL: none */
    bool secret_url;                         /* keep the URL out of messages */
    /* Receives the body of a 200 in pieces, of any length, instead of `body`; returns 0 or -errno, which aborts. May be NULL. */
    int (*each)(void *user, struct str piece);
    void *each_user;
    struct buf *reply_headers;  /* receives the answer's "name: value" lines, trailers included; may be NULL */
    int64_t *retry_after_ms;    /* receives the answer's Retry-After, at most a day; 0 if missing; may be NULL */
    bool only_connect;          /* sends nothing; returns 0 once connected */
    bool status_is_enough;      /* a status of 200 or more suffices, even if the body is too long, endless or cut off */
    const _Atomic bool *cancel; /* aborts within about a second with -ECANCELED when true; may be NULL */
};

/* Status 100 to 599 (4xx and 5xx, too: the server answered), or -errno with a sentence. Appends to `body` (may be NULL) up to
 * its maximum; a longer one fails with -EFBIG. */
int http_call(const struct env *env, const struct http_request *request, struct buf *body, struct error *err);
