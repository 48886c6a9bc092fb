/* SPDX-License-Identifier: Apache-2.0
 * Reads an HTTP/1.1 request from bytes that have arrived so far. Pure: knows neither sockets nor routes. Strict where leniency lets
 * two servers disagree about where a request ends (RFC 9112, section 11).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/str.h"

enum {
    HTTP_LINE_MAX = 8192,                               /* request line; beyond: 414 */
    HTTP_HEAD_MAX = 16384,                              /* request line and fields; beyond: 431 */
    HTTP_FIELDS_MAX = 64,                               /* number of fields; beyond: 431 */
    HTTP_BODY_MAX = 65536,                              /* beyond: 413 */
    HTTP_PATH_SIZE = 256,                               /* decoded; no path of ours is longer */
    HTTP_INPUT_MAX = HTTP_HEAD_MAX + 2 * HTTP_BODY_MAX, /* a chunked body of one-byte chunks is cut off here */
};

enum http_method {
    HTTP_GET = 1 << 0,
    HTTP_HEAD = 1 << 1,
    HTTP_POST = 1 << 2,
    HTTP_PUT = 1 << 3,
    HTTP_DELETE = 1 << 4,
    HTTP_PATCH = 1 << 5,
    HTTP_OPTIONS = 1 << 6,
    HTTP_OTHER = 1 << 7, /* a method that we have never heard of, or never want (TRACE, CONNECT) */
};

struct http_field {
    struct str name, value;
};

/* All views point into the input. */
struct http_request {
    enum http_method method;
    struct str target;
    char path[HTTP_PATH_SIZE]; /* decoded; "" when it is longer than any path of ours */
    struct str query;          /* behind the '?', still encoded */
    struct str host;           /* from the target's absolute form, else from the field; "" without */
    int minor;                 /* HTTP/1.x */
    bool keep_alive;
    bool chunked;
    bool expect_continue;
    int64_t content_length; /* -1: no body announced */
    struct http_field fields[HTTP_FIELDS_MAX];
    size_t field_count;
};

/* The length of the head with its empty line, 0 when it is not complete yet, or the negative status to answer with. */
ssize_t http_parse_head(struct str input, struct http_request *ret);

/* The body at `at`, behind the head. Returns how many bytes it takes up, 0 when it is not complete yet (a request without a body
 * never asks), or the negative status. A chunked body is put together in place, once it is complete. */
ssize_t http_parse_body(const struct http_request *request, char *at, size_t len, struct str *ret);
bool http_has_body(const struct http_request *request);

/* The value of a field, "" with at == NULL when absent. Names are compared without case. */
struct str http_field(const struct http_request *request, const char *name);
/* Whether a comma-separated field holds the word (without case): Connection: keep-alive, Upgrade. */
bool http_field_has_word(const struct http_request *request, const char *name, const char *word);

/* The decoded value of a query parameter, cut where it is too long; false when absent. */
bool http_query(const struct http_request *request, const char *key, char *value, size_t size);
/* The value of a cookie; at == NULL when absent. */
struct str http_cookie(const struct http_request *request, const char *name);

bool str_is_nocase(struct str s, const char *text);
