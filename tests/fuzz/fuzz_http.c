/* SPDX-License-Identifier: Apache-2.0
 * HTTP requests: whatever arrives is refused, waited for, or a request whose parts lie inside of what arrived; and it is the same
 * whether it arrives at once or in pieces.
 */
#include <stdlib.h>
#include <string.h>

#include "net/http_message.h"
#include "serve/http/access.h"
#include "serve/http/negotiate.h"
#include "serve/live/socketio.h"

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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* A copy of exactly that size: the sanitizer sees a read beyond it. */
    char *text = malloc(size ? size : 1);
    if (!text)
        return 0;
    if (size)
        memcpy(text, data, size);
    struct str input = {text, size};
    static struct http_request whole, part;
    ssize_t head = http_parse_head(input, &whole);
    require(head <= (ssize_t)size);
    if (head > 0) {
        for (size_t cut = 0; cut < (size_t)head && cut < 64; cut++) /* nothing less was a request */
            require(http_parse_head((struct str){text, (size_t)head * cut / 64}, &part) == 0);
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
