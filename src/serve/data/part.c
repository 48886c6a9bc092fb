/* SPDX-License-Identifier: Apache-2.0
 * Carries requests to the parts of the daemon.
 */
#include "serve/data/part.h"

#include "base/json_writer.h"
#include "http/exchange.h"
#include "serve/api/core.h"
#include "serve/api/ready.h"

enum { ANSWER_MAX = 64 << 20 }; /* a thousand hosts with all their GPUs */

bool part_query(const struct part_request *r, const char *key, char *value, size_t size)
{
    return r->http && http_query(r->http, key, value, size);
}

int part_error(struct buf *out, int status, const char *code, const char *message)
{
    http_error_body(out, code, message);
    return status;
}

void part_answer(struct exchange *x)
{
    if (x->route->fresh && !ready_young_enough(x, x->server->options.max_age_ms))
        return;
    AUTO_BUF struct buf out = BUF(ANSWER_MAX);
    const struct part_request r = {
        .body = x->body, .owner = x->trust == TRUST_OWNER, .http = x->request, .latest = x->server->data.latest};
    int status = x->route->answer(x->part, &r, &out);
    exchange_json(x, status, &out);
}
