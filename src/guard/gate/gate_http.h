/* SPDX-License-Identifier: Apache-2.0
 * Finds the ends of messages: the gate forwards bytes unchanged and only counts. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "net/http_message.h"

enum { GATE_HEAD_MAX = HTTP_PASSED_HEAD_MAX };

enum gate_body { GATE_BODY_NONE, GATE_BODY_LENGTH, GATE_BODY_CHUNKED, GATE_BODY_UNTIL_CLOSE, GATE_BODY_OPAQUE };

struct gate_head {
    size_t len; /* including the blank line */
    enum gate_body body;
    int64_t length;
    int status;      /* of a response */
    bool is_head;    /* the request's method is HEAD */
    bool only_reads; /* GET, HEAD or OPTIONS */
    bool upgrade;    /* the request asks for a protocol upgrade */
    bool close;      /* the connection closes after this message */
    bool is_old;     /* HTTP/1.0 */
    bool is_interim; /* 1xx other than 101: another head follows */
};

/* 1: a complete head; 0: not yet; -1: not HTTP, too long, or two contradictory lengths (request smuggling). */
int gate_parse_request(struct str bytes, struct gate_head *ret);
/* `request` is the head it answers. */
int gate_parse_response(struct str bytes, const struct gate_head *request, struct gate_head *ret);

/* Position in the body. */
struct gate_progress {
    enum gate_body body;
    bool done;
    struct http_body http;
};

void gate_progress_begin(struct gate_progress *p, const struct gate_head *head);
/* How many of these bytes belong to the message; p->done if it ends with them. -1: broken chunks. */
int64_t gate_progress_feed(struct gate_progress *p, struct str bytes);
