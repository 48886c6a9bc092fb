/* SPDX-License-Identifier: Apache-2.0
 * Parses HTTP/1.1 messages from the bytes received so far: requests to the server, requests that the guard's gate forwards, and
 * answers. Pure: knows neither sockets nor routes. Strict where leniency would let two servers disagree about the end of a request
 * (RFC 9112, section 11).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/str.h"

enum {
    HTTP_LINE_MAX = 8192,                               /* request line; beyond that: 414 */
    HTTP_HEAD_MAX = 16384,                              /* request line and fields; beyond that: 431 */
    HTTP_FIELDS_MAX = 100,                              /* number of fields; beyond that: 431 */
    HTTP_BODY_MAX = 65536,                              /* beyond that: 413 */
    HTTP_PASSED_HEAD_MAX = 64 * 1024,                   /* for forwarded requests and answers */
    HTTP_FRAME_LINE_MAX = 512,                          /* a chunk's size with its extensions, a trailer field */
    HTTP_TRAILER_MAX = 4096,                            /* all trailers */
    HTTP_PATH_SIZE = 256,                               /* decoded; no path of ours is longer */
    HTTP_INPUT_MAX = HTTP_HEAD_MAX + 2 * HTTP_BODY_MAX, /* limits even a body of one-byte chunks */
};

enum http_method {
    HTTP_GET = 1 << 0,
    HTTP_HEAD = 1 << 1,
    HTTP_POST = 1 << 2,
    HTTP_PUT = 1 << 3,
    HTTP_DELETE = 1 << 4,
    HTTP_PATCH = 1 << 5,
    HTTP_OPTIONS = 1 << 6,
    HTTP_OTHER = 1 << 7, /* unknown methods, and those we never support (TRACE, CONNECT) */
};

struct http_field {
    struct str name, value;
};

/* All views point into the input. */
struct http_message {
    int status; /* of an answer */
    enum http_method method;
    struct str target;
    char path[HTTP_PATH_SIZE]; /* decoded; "" if longer than any path of ours */
    struct str query;          /* after the '?', still encoded */
    struct str host;           /* from an absolute target, else from the field, validated; "" without (HTTP/1.0) */
    int minor;                 /* HTTP/1.x */
    bool keep_alive;
    bool chunked;
    bool expect_continue;
    int64_t content_length; /* -1: no body announced */
    struct http_field fields[HTTP_FIELDS_MAX];
    size_t field_count;
};

/* The length of the head with its empty line, 0 if incomplete, or the negative status to answer with. */
ssize_t http_parse_request(struct str input, struct http_message *ret);
/* The same for a request to be forwarded: its target, expectations and codings are neither checked nor filled in. */
ssize_t http_parse_passed_on(struct str input, struct http_message *ret);
/* The same for an answer; fills `status`. */
ssize_t http_parse_response(struct str input, struct http_message *ret);

/* Parses the body at `at`, after the head. Returns its length in the input, 0 if incomplete (never called without a body), or
 * the negative status. A complete chunked body is joined in place. */
ssize_t http_parse_body(const struct http_message *request, char *at, size_t len, struct str *ret);
bool http_has_body(const struct http_message *request);

/* A body that arrives in pieces, of any length. */
enum http_framing { HTTP_NO_BODY, HTTP_LENGTH, HTTP_CHUNKED, HTTP_UNTIL_CLOSE };

struct http_body {
    enum http_framing framing;
    bool done;
    int state;
    int64_t left; /* in the body or chunk */
    size_t trailer_len, line_len;
    char line[HTTP_FRAME_LINE_MAX]; /* partial framing line */
};

void http_body_begin(struct http_body *b, enum http_framing framing, int64_t length);
/* The framing of an answer's body; `to_head`: the request's method was HEAD. */
void http_body_of_response(struct http_body *b, const struct http_message *m, bool to_head);
/* Consumes input from the front. 1: `piece` is some content; 0: input used up, or the body ends here (`done`); negative status:
 * broken framing. */
int http_body_next(struct http_body *b, struct str *input, struct str *piece);

/* A field's value, "" with at == NULL if absent. Ignores case in names. */
struct str http_field(const struct http_message *request, const char *name);
/* Whether a comma-separated field contains the word (ignoring case): Connection: keep-alive, Upgrade. */
bool http_field_has_word(const struct http_message *request, const char *name, const char *word);

/* A query parameter, decoded and truncated to the size; false if absent. */
bool http_query(const struct http_message *request, const char *key, char *value, size_t size);
/* Iterates over the names in a query, undecoded; false after the last. */
bool http_query_next(struct str *rest, struct str *key);
/* A cookie's value; at == NULL if absent. */
struct str http_cookie(const struct http_message *request, const char *name);

struct answer;
struct http_problem {
    const char *code, *message;
};
/* {"error": ...}, and what is in it. */
extern const struct answer error_answer, problem_answer;
const char *http_status_text(int status);
/* {"error": {"code", "message"}}: the body of every error. */
void http_error_body(struct buf *out, const char *code, const char *message);
