/* SPDX-License-Identifier: Apache-2.0
 * The guard's requests. What they mean is the guard's business; this only carries them.
 */
#include "serve/guard.h"

#include "serve/core.h"
#include "serve/exchange.h"

enum { ANSWER_MAX = 1 << 20 };

void handle_guard(struct exchange *x)
{
    const struct server_parts *parts = &x->server->parts;
    if (!parts->guard_request) {
        exchange_error(x, 404, "no_guard", "This server guards no workers.");
        return;
    }
    AUTO_BUF struct buf out = BUF(ANSWER_MAX);
    const char *method = x->request->method == HTTP_POST ? "POST" : "GET";
    int status = parts->guard_request(parts->user, method, str_from(x->route->path), x->body, &out);
    exchange_json(x, status, &out);
}
