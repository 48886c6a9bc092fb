/* SPDX-License-Identifier: Apache-2.0
 * HTTP messages: whatever arrives is refused, waited for, or a request whose parts lie inside of what arrived; and it is the same
 * whether it arrives at once or in pieces.
 */
#include <stdlib.h>
#include <string.h>

#include "http/access.h"
#include "http/negotiate.h"
#include "net/http_message.h"
#include "serve/live/live.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void inside(struct str part, struct str whole)
{
    require(!part.at || part.len == 0 || (part.at >= whole.at && part.at + part.len <= whole.at + whole.len));
}

/* A body that comes in pieces of `step` bytes: how much content, and how many bytes it took; -1 when it is broken or has no end. */
static ssize_t walk(struct str input, size_t step, size_t *content)
{
    struct http_body b;
    struct str piece;
    size_t used = 0;
    http_body_begin(&b, HTTP_CHUNKED, 0);
    *content = 0;
    while (!b.done && used < input.len) {
        struct str rest = {input.at + used, step < input.len - used ? step : input.len - used};
        int got;
        while ((got = http_body_next(&b, &rest, &piece)) > 0) {
            inside(piece, input);
            *content += piece.len;
        }
        if (got < 0)
            return -1;
        used = (size_t)(rest.at - input.at);
    }
    return b.done ? (ssize_t)used : -1;
}

static void check_pieces(struct str input)
{
    size_t whole, pieces;
    ssize_t at_once = walk(input, input.len ? input.len : 1, &whole), in_pieces = walk(input, 3, &pieces);
    require(at_once == in_pieces && (at_once < 0 || whole == pieces));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* A copy of exactly that size: the sanitizer sees a read beyond it. */
    char *text = malloc(size ? size : 1);
    if (!text)
        return 0;
    if (size)
        memcpy(text, data, size);
    struct str input = {text, size};
    static struct http_message whole, part;
    check_pieces(input);
    ssize_t answer = http_parse_response(input, &whole), passed = http_parse_passed_on(input, &whole);
    require(answer <= (ssize_t)size && passed <= (ssize_t)size);
    ssize_t head = http_parse_request(input, &whole);
    require(head <= (ssize_t)size);
    if (head > 0) {
        require(passed == head);                                    /* who passes it on sees the same end */
        for (size_t cut = 0; cut < (size_t)head && cut < 64; cut++) /* nothing less was a request */
            require(http_parse_request((struct str){text, (size_t)head * cut / 64}, &part) == 0);
        inside(whole.target, input);
        inside(whole.query, input);
        for (size_t i = 0; i < whole.field_count; i++) {
            inside(whole.fields[i].name, input);
            inside(whole.fields[i].value, input);
        }
        char value[64];
        http_query(&whole, "sid", value, sizeof value);
        host_is_known(whole.host, NULL, 0, "box");
        accept_quality(http_field(&whole, "accept"), "application/json");
        accepts_gzip(http_field(&whole, "accept-encoding"));
        none_match_has(http_field(&whole, "if-none-match"), "abc");
        inside(http_cookie(&whole, "whirr_token"), input);
        struct str body;
        if (http_has_body(&whole)) {
            ssize_t used = http_parse_body(&whole, text + head, size - (size_t)head, &body);
            require(used <= (ssize_t)size - head);
            if (used > 0) {
                inside(body, input);
                require(body.len <= HTTP_BODY_MAX);
                struct sio_packet p;
                sio_parse(body, &p);
            }
        }
    }
    free(text);
    return 0;
}
