/* SPDX-License-Identifier: Apache-2.0
 * The body parser. It keeps its state between calls: bodies can be long.
 */
#include <string.h>

#include "base/digest.h"
#include "net/http_grammar.h"
#include "net/http_message.h"

static struct str skip_blanks(struct str s)
{
    while (s.len && (s.at[0] == ' ' || s.at[0] == '\t'))
        s = (struct str){s.at + 1, s.len - 1};
    return s;
}

/* Length of the token or quoted string at the front; 0: none. */
static size_t word_length(struct str s)
{
    size_t len = 0;
    if (s.len && s.at[0] == '"') {
        for (len = 1; len < s.len && s.at[len] != '"'; len++)
            if (s.at[len] == '\\')
                len++;
        return len < s.len ? len + 1 : 0;
    }
    while (len < s.len && http_is_token_char((unsigned char)s.at[len]))
        len++;
    return len;
}

/* Chunk extensions: any number of ;name or ;name=value. */
static bool extensions_are_valid(struct str rest)
{
    if (!http_is_field_text(rest))
        return false;
    while (rest.len) {
        rest = skip_blanks(rest);
        if (rest.len == 0 || rest.at[0] != ';')
            return false;
        rest = skip_blanks((struct str){rest.at + 1, rest.len - 1});
        size_t name = rest.len && rest.at[0] != '"' ? word_length(rest) : 0;
        if (!name)
            return false;
        rest = (struct str){rest.at + name, rest.len - name};
        struct str behind = skip_blanks(rest);
        if (behind.len == 0 || behind.at[0] != '=')
            continue;
        behind = skip_blanks((struct str){behind.at + 1, behind.len - 1});
        size_t value = word_length(behind);
        if (!value)
            return false;
        rest = (struct str){behind.at + value, behind.len - value};
    }
    return true;
}

/* A chunk size line: "1a;extension". Returns the size or -1. */
static int64_t chunk_size(struct str line)
{
    int64_t size = 0;
    size_t digits = 0;
    for (; digits < line.len; digits++) {
        int value = hex_digit(line.at[digits]);
        if (value < 0)
            break;
        if (digits == 8)
            return -1;
        size = size << 4 | value;
    }
    if (digits == 0 || !extensions_are_valid((struct str){line.at + digits, line.len - digits}))
        return -1;
    return size;
}

enum { AT_SIZE, AT_DATA, AT_DATA_END, AT_TRAILER };

void http_body_begin(struct http_body *b, enum http_framing framing, int64_t length)
{
    *b = (struct http_body){.framing = framing, .state = framing == HTTP_CHUNKED ? AT_SIZE : AT_DATA};
    b->left = framing == HTTP_LENGTH ? length : framing == HTTP_UNTIL_CLOSE ? INT64_MAX : 0;
    b->done = framing == HTTP_NO_BODY || (framing == HTTP_LENGTH && length == 0);
}

/* A line of the framing, assembled from pieces if needed. 1: complete, 0: not yet, or the negative status. */
static int take_line(struct http_body *b, struct str *input, struct str *line)
{
    const char *end = input->len ? memchr(input->at, '\n', input->len) : NULL;
    size_t len = end ? (size_t)(end - input->at) + 1 : input->len;
    if (b->line_len + len > sizeof b->line)
        return -400;
    struct str whole = {input->at, len};
    if (b->line_len || !end) {
        memcpy(b->line + b->line_len, input->at, len);
        b->line_len += len;
        whole = (struct str){b->line, b->line_len};
    }
    *input = (struct str){input->at + len, input->len - len};
    if (!end)
        return 0;
    b->line_len = 0;
    return http_next_line(&whole, line) > 0 ? 1 : -400;
}

static int take_frame(struct http_body *b, struct str *input)
{
    struct str line;
    struct http_field trailer;
    int got = take_line(b, input, &line);
    if (got <= 0)
        return got;
    if (b->state == AT_DATA_END) {
        b->state = AT_SIZE;
        return line.len ? -400 : 1;
    }
    if (b->state == AT_SIZE) {
        b->left = chunk_size(line);
        b->state = b->left ? AT_DATA : AT_TRAILER;
        return b->left < 0 ? -400 : 1;
    }
    /* Trailer fields must be valid, and are discarded. */
    b->trailer_len += line.len + 2;
    b->done = line.len == 0;
    if (b->trailer_len > HTTP_TRAILER_MAX)
        return -431;
    return b->done || http_split_field(line, &trailer) ? 1 : -400;
}

int http_body_next(struct http_body *b, struct str *input, struct str *piece)
{
    *piece = (struct str){0};
    while (!b->done && input->len) {
        if (b->state != AT_DATA) {
            int got = take_frame(b, input);
            if (got < 0)
                return got;
            continue;
        }
        size_t len = (uint64_t)b->left < input->len ? (size_t)b->left : input->len;
        *piece = (struct str){input->at, len};
        *input = (struct str){input->at + len, input->len - len};
        if (b->framing != HTTP_UNTIL_CLOSE)
            b->left -= (int64_t)len;
        if (b->left == 0 && b->framing == HTTP_CHUNKED)
            b->state = AT_DATA_END;
        else
            b->done = b->left == 0;
        return 1;
    }
    return 0;
}

/* Walks the chunks; with `to` set, also joins their contents there. */
static ssize_t walk_chunks(struct str input, char *to, size_t *ret_len)
{
    struct http_body b;
    struct str rest = input, piece;
    size_t body = 0;
    http_body_begin(&b, HTTP_CHUNKED, 0);
    for (;;) {
        int got = http_body_next(&b, &rest, &piece);
        if (got < 0)
            return got;
        if (got && to)
            memmove(to + body, piece.at, piece.len);
        body += piece.len;
        if (body + (uint64_t)b.left > HTTP_BODY_MAX)
            return -413;
        if (got == 0)
            break;
    }
    *ret_len = body;
    return b.done ? rest.at - input.at : 0;
}

ssize_t http_parse_body(const struct http_message *request, char *at, size_t len, struct str *ret)
{
    if (!request->chunked) {
        if (request->content_length > HTTP_BODY_MAX)
            return -413;
        size_t want = (size_t)request->content_length;
        if (len < want)
            return 0;
        *ret = (struct str){at, want};
        return (ssize_t)want;
    }
    size_t body;
    ssize_t used = walk_chunks((struct str){at, len}, NULL, &body);
    if (used > 0) {
        walk_chunks((struct str){at, (size_t)used}, at, &body);
        *ret = (struct str){at, body};
    }
    return used;
}

void http_body_of_response(struct http_body *b, const struct http_message *m, bool to_head)
{
    if (to_head || m->status < 200 || m->status == 204 || m->status == 304)
        http_body_begin(b, HTTP_NO_BODY, 0);
    else if (m->chunked)
        http_body_begin(b, HTTP_CHUNKED, 0);
    else if (m->content_length >= 0)
        http_body_begin(b, HTTP_LENGTH, m->content_length);
    else
        http_body_begin(b, HTTP_UNTIL_CLOSE, 0);
}
