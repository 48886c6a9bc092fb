/* SPDX-License-Identifier: Apache-2.0
 * Reads HTTP/1.1 messages from bytes that have arrived so far: the server's requests, those that the guard's gate passes on, and
 * answers. Pure: knows neither sockets nor routes. Strict where leniency lets
 * two servers disagree about where a request ends (RFC 9112, section 11).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/str.h"

enum {
    HTTP_LINE_MAX = 8192,                               /* request line; beyond: 414 */
    HTTP_HEAD_MAX = 16384,                              /* request line and fields; beyond: 431 */
    HTTP_FIELDS_MAX = 100,                              /* number of fields; beyond: 431 */
    HTTP_BODY_MAX = 65536,                              /* beyond: 413 */
    HTTP_PASSED_HEAD_MAX = 64 * 1024,                   /* of what is passed on, and of answers */
    HTTP_FRAME_LINE_MAX = 512,                          /* a chunk's size with its extensions, a trailer field */
    HTTP_TRAILER_MAX = 4096,                            /* all of them */
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
struct http_message {
    int status; /* of an answer */
    enum http_method method;
    struct str target;
    char path[HTTP_PATH_SIZE]; /* decoded; "" when it is longer than any path of ours */
    struct str query;          /* behind the '?', still encoded */
    struct str host;           /* from the target's absolute form, else from the field, well-formed; "" without (HTTP/1.0) */
    int minor;                 /* HTTP/1.x */
    bool keep_alive;
    bool chunked;
    bool expect_continue;
    int64_t content_length; /* -1: no body announced */
    struct http_field fields[HTTP_FIELDS_MAX];
    size_t field_count;
};

/* The length of the head with its empty line, 0 when it is not complete yet, or the negative status to answer with. */
ssize_t http_parse_request(struct str input, struct http_message *ret);
/* The same for a request that another server will answer: its target, expectations and codings are not judged, nor filled in. */
ssize_t http_parse_passed_on(struct str input, struct http_message *ret);
/* The same for an answer; fills `status`. */
ssize_t http_parse_response(struct str input, struct http_message *ret);

/* The body at `at`, behind the head. Returns how many bytes it takes up, 0 when it is not complete yet (a request without a body
 * never asks), or the negative status. A chunked body is put together in place, once it is complete. */
ssize_t http_parse_body(const struct http_message *request, char *at, size_t len, struct str *ret);
bool http_has_body(const struct http_message *request);

/* A body that comes piece by piece, of any length. */
enum http_framing { HTTP_NO_BODY, HTTP_LENGTH, HTTP_CHUNKED, HTTP_UNTIL_CLOSE };

struct http_body {
    enum http_framing framing;
    bool done;
    int state;
    int64_t left; /* of the length, or of the chunk */
    size_t trailer_len, line_len;
    char line[HTTP_FRAME_LINE_MAX]; /* of the frame, as far as it has come */
};

void http_body_begin(struct http_body *b, enum http_framing framing, int64_t length);
/* What follows the head of an answer; `to_head`: the request's method was HEAD. */
void http_body_of_response(struct http_body *b, const struct http_message *m, bool to_head);
/* Takes bytes from the front of the input. 1: `piece` is some of the content; 0: the input is used up or the body ends here
 * (`done`); or the negative status: broken frame. */
int http_body_next(struct http_body *b, struct str *input, struct str *piece);

/* The value of a field, "" with at == NULL when absent. Names are compared without case. */
struct str http_field(const struct http_message *request, const char *name);
/* Whether a comma-separated field holds the word (without case): Connection: keep-alive, Upgrade. */
bool http_field_has_word(const struct http_message *request, const char *name, const char *word);

/* The decoded value of a query parameter, cut where it is too long; false when absent. */
bool http_query(const struct http_message *request, const char *key, char *value, size_t size);
/* The names in a query, one after the other, as they were sent; false behind the last. */
bool http_query_next(struct str *rest, struct str *key);
/* The value of a cookie; at == NULL when absent. */
struct str http_cookie(const struct http_message *request, const char *name);

const char *http_status_text(int status);
/* {"error": {"code", "message"}}: the body of every answer that says no. */
void http_error_body(struct buf *out, const char *code, const char *message);
