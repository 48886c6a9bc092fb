/* SPDX-License-Identifier: Apache-2.0
 * What the gate needs to know about forwarded messages, from whirr's common HTTP parser.
 */
#include "guard/gate/gate_link.h"

/* The common part of both kinds of heads. */
static void note_head(struct gate_head *ret, const struct http_message *m, size_t len)
{
    *ret = (struct gate_head){.len = len, .status = m->status, .close = !m->keep_alive, .is_old = m->minor == 0};
    ret->length = m->content_length > 0 ? m->content_length : 0;
}

int gate_parse_request(struct str bytes, struct gate_head *ret)
{
    struct http_message m;
    ssize_t len = http_parse_passed_on(bytes, &m);
    if (len <= 0)
        return len < 0 ? -1 : 0;
    note_head(ret, &m, (size_t)len);
    ret->is_head = m.method == HTTP_HEAD;
    ret->only_reads = m.method == HTTP_HEAD || m.method == HTTP_GET || m.method == HTTP_OPTIONS;
    ret->upgrade = http_field_has_word(&m, "connection", "upgrade");
    ret->body = m.chunked ? GATE_BODY_CHUNKED : ret->length ? GATE_BODY_LENGTH : GATE_BODY_NONE;
    return 1;
}

int gate_parse_response(struct str bytes, const struct gate_head *request, struct gate_head *ret)
{
    static const enum gate_body bodies[] = {[HTTP_NO_BODY] = GATE_BODY_NONE,
                                            [HTTP_LENGTH] = GATE_BODY_LENGTH,
                                            [HTTP_CHUNKED] = GATE_BODY_CHUNKED,
                                            [HTTP_UNTIL_CLOSE] = GATE_BODY_UNTIL_CLOSE};
    struct http_message m;
    struct http_body body;
    ssize_t len = http_parse_response(bytes, &m);
    if (len <= 0)
        return len < 0 ? -1 : 0;
    note_head(ret, &m, (size_t)len);
    ret->is_interim = m.status < 200 && m.status != 101;
    http_body_of_response(&body, &m, request->is_head);
    ret->body = body.done ? GATE_BODY_NONE : bodies[body.framing];
    if (m.status == 101 && request->upgrade)
        ret->body = GATE_BODY_OPAQUE;
    return 1;
}

void gate_progress_begin(struct gate_progress *p, const struct gate_head *head)
{
    static const enum http_framing framings[] = {[GATE_BODY_NONE] = HTTP_NO_BODY,
                                                 [GATE_BODY_LENGTH] = HTTP_LENGTH,
                                                 [GATE_BODY_CHUNKED] = HTTP_CHUNKED,
                                                 [GATE_BODY_UNTIL_CLOSE] = HTTP_UNTIL_CLOSE,
                                                 [GATE_BODY_OPAQUE] = HTTP_UNTIL_CLOSE};
    p->body = head->body;
    http_body_begin(&p->http, framings[head->body], head->length);
    p->done = p->http.done;
}

int64_t gate_progress_feed(struct gate_progress *p, struct str bytes)
{
    struct str rest = bytes, piece;
    int got = 0;
    if (p->done)
        return 0;
    if (p->body == GATE_BODY_OPAQUE)
        return (int64_t)bytes.len;
    while ((got = http_body_next(&p->http, &rest, &piece)) > 0)
        ;
    p->done = p->http.done;
    return got < 0 ? -1 : (int64_t)(bytes.len - rest.len);
}
