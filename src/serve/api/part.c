/* SPDX-License-Identifier: Apache-2.0
 * Hands a request to the parts of the daemon. What it means is their business.
 */
#include "serve/api/part.h"

#include "base/json_writer.h"
#include "serve/http/core.h"
#include "serve/http/exchange.h"
#include "serve/http/ready.h"

enum { ANSWER_MAX = 4 << 20 };

bool part_query(const struct part_request *r, const char *key, char *value, size_t size)
{
    return http_query(r->http, key, value, size);
}

int part_error(struct buf *out, int status, const char *code, const char *message)
{
    struct json_writer j = JSON_WRITER(out);
    jw_object(&j);
    jw_key_object(&j, "error");
    jw_key_text(&j, "code", code);
    jw_key_text(&j, "message", message);
    jw_end(&j);
    jw_end(&j);
    buf_char(out, '\n');
    return status;
}

void handle_part(struct exchange *x)
{
    const struct server_parts *parts = &x->server->parts;
    if (!parts->request) {
        exchange_error(x, 404, "not_running", "This part of the daemon is not running.");
        return;
    }
    AUTO_BUF struct buf out = BUF(ANSWER_MAX);
    const struct part_request r = {.method = x->request->method == HTTP_POST ? "POST" : "GET",
                                   .path = str_from(x->route->path),
                                   .body = x->body,
                                   .owner = x->trust == TRUST_OWNER,
                                   .http = x->request,
                                   .latest = x->server->data.latest};
    int status = parts->request(parts->user, &r, &out);
    exchange_json(x, status, &out);
}

void handle_part_fresh(struct exchange *x)
{
    if (ready_young_enough(x, x->server->options.max_age_ms))
        handle_part(x);
}
