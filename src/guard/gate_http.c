/* SPDX-License-Identifier: Apache-2.0
 * Ends of HTTP messages.
 */
#include "guard/gate_http.h"

#include <string.h>
#include <strings.h>

/* ---- heads ---- */

static bool field_is(struct str line, const char *name, struct str *value)
{
    size_t len = strlen(name);
    if (line.len <= len || line.at[len] != ':' || strncasecmp(line.at, name, len) != 0)
        return false;
    *value = str_trim((struct str){line.at + len + 1, line.len - len - 1});
    return true;
}

static bool has_token(struct str value, const char *token)
{
    struct str part;
    while (str_cut(&value, ',', &part))
        if (str_is_any_case(str_trim(part), token))
            return true;
    return false;
}

/* The fields that say where the message ends; false when they do not agree. */
static bool read_fields(struct str rest, struct gate_head *h, bool *has_length, bool *chunked)
{
    struct str line, value;
    while (str_cut(&rest, '\n', &line)) {
        line = str_trim(line);
        if (field_is(line, "Content-Length", &value)) {
            int64_t length;
            if (!str_to_i64(value, &length) || length < 0 || (*has_length && length != h->length))
                return false;
            h->length = length;
            *has_length = true;
        } else if (field_is(line, "Transfer-Encoding", &value)) {
            *chunked = has_token(value, "chunked");
            if (!*chunked)
                return false;
        } else if (field_is(line, "Connection", &value)) {
            h->close |= has_token(value, "close");
            h->upgrade |= has_token(value, "upgrade");
        }
    }
    return !(*has_length && *chunked);
}

static int split_head(struct str bytes, struct str *first, struct str *rest, struct gate_head *ret)
{
    const char *end = bytes.len ? memmem(bytes.at, bytes.len, "\r\n\r\n", 4) : NULL;
    if (!end)
        return bytes.len >= GATE_HEAD_MAX ? -1 : 0;
    *ret = (struct gate_head){.len = (size_t)(end - bytes.at) + 4};
    if (ret->len > GATE_HEAD_MAX)
        return -1;
    *rest = (struct str){bytes.at, (size_t)(end - bytes.at)};
    return str_cut(rest, '\n', first) ? 1 : -1;
}

int gate_parse_request(struct str bytes, struct gate_head *ret)
{
    struct str first, rest, method, target, version;
    int there = split_head(bytes, &first, &rest, ret);
    if (there <= 0)
        return there;
    if (!str_word(&first, &method) || !str_word(&first, &target) || !str_word(&first, &version) || !str_starts(version, "HTTP/1."))
        return -1;
    bool has_length = false, chunked = false;
    if (!read_fields(rest, ret, &has_length, &chunked))
        return -1;
    ret->is_head = str_is(method, "HEAD");
    ret->close |= str_is(version, "HTTP/1.0");
    ret->body = chunked ? GATE_BODY_CHUNKED : ret->length > 0 ? GATE_BODY_LENGTH : GATE_BODY_NONE;
    return 1;
}

int gate_parse_response(struct str bytes, const struct gate_head *request, struct gate_head *ret)
{
    struct str first, rest, version, code;
    int64_t status;
    int there = split_head(bytes, &first, &rest, ret);
    if (there <= 0)
        return there;
    if (!str_word(&first, &version) || !str_starts(version, "HTTP/1.") || !str_word(&first, &code) || !str_to_i64(code, &status) ||
        status < 100 || status > 999)
        return -1;
    bool has_length = false, chunked = false;
    if (!read_fields(rest, ret, &has_length, &chunked))
        return -1;
    ret->status = (int)status;
    ret->close |= str_is(version, "HTTP/1.0");
    ret->is_interim = status < 200 && status != 101;
    if (status == 101 && request->upgrade)
        ret->body = GATE_BODY_OPAQUE;
    else if (status < 200 || status == 204 || status == 304 || request->is_head)
        ret->body = GATE_BODY_NONE;
    else if (chunked)
        ret->body = GATE_BODY_CHUNKED;
    else if (has_length)
        ret->body = ret->length ? GATE_BODY_LENGTH : GATE_BODY_NONE;
    else
        ret->body = GATE_BODY_UNTIL_CLOSE;
    return 1;
}

/* ---- bodies ---- */

enum { CHUNK_SIZE, CHUNK_EXTENSION, CHUNK_DATA, CHUNK_DATA_END, CHUNK_TRAILER, CHUNK_TRAILER_LINE };
#define CHUNK_MOST (INT64_MAX / 32)

void gate_progress_begin(struct gate_progress *p, const struct gate_head *head)
{
    *p = (struct gate_progress){.body = head->body, .done = head->body == GATE_BODY_NONE};
    if (head->body == GATE_BODY_LENGTH)
        p->left = head->length;
}

static int digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* One byte of a chunk's frame. False: broken. */
static bool feed_frame(struct gate_progress *p, char c)
{
    switch (p->chunk_state) {
    case CHUNK_SIZE:
        if (digit(c) >= 0) {
            p->left = p->left * 16 + digit(c);
            return p->left <= CHUNK_MOST;
        }
        p->chunk_state = c == '\n' ? (p->left ? CHUNK_DATA : CHUNK_TRAILER) : CHUNK_EXTENSION;
        return c == '\n' || c == '\r' || c == ';' || c == ' ';
    case CHUNK_EXTENSION:
        if (c == '\n')
            p->chunk_state = p->left ? CHUNK_DATA : CHUNK_TRAILER;
        return true;
    case CHUNK_DATA_END:
        if (c == '\n')
            p->chunk_state = CHUNK_SIZE;
        return c == '\r' || c == '\n';
    case CHUNK_TRAILER:
        if (c == '\n')
            p->done = true;
        else if (c != '\r')
            p->chunk_state = CHUNK_TRAILER_LINE;
        return true;
    default:
        if (c == '\n')
            p->chunk_state = CHUNK_TRAILER;
        return true;
    }
}

static int64_t feed_chunks(struct gate_progress *p, struct str bytes)
{
    size_t at = 0;
    while (at < bytes.len && !p->done) {
        if (p->chunk_state == CHUNK_DATA) {
            int64_t here = (int64_t)(bytes.len - at) < p->left ? (int64_t)(bytes.len - at) : p->left;
            at += (size_t)here;
            p->left -= here;
            if (p->left == 0)
                p->chunk_state = CHUNK_DATA_END;
        } else if (!feed_frame(p, bytes.at[at++])) {
            return -1;
        }
    }
    return (int64_t)at;
}

int64_t gate_progress_feed(struct gate_progress *p, struct str bytes)
{
    if (p->done)
        return 0;
    switch (p->body) {
    case GATE_BODY_NONE: p->done = true; return 0;
    case GATE_BODY_LENGTH: {
        int64_t here = (int64_t)bytes.len < p->left ? (int64_t)bytes.len : p->left;
        p->left -= here;
        p->done = p->left == 0;
        return here;
    }
    case GATE_BODY_CHUNKED: return feed_chunks(p, bytes);
    case GATE_BODY_UNTIL_CLOSE:
    case GATE_BODY_OPAQUE: break;
    }
    return (int64_t)bytes.len;
}
