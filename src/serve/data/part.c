/* SPDX-License-Identifier: Apache-2.0
 * Carries requests to the parts of the daemon.
 */
#include "serve/data/part.h"

#include "net/http_message.h"

bool part_query(const struct part_request *r, const char *key, char *value, size_t size)
{
    return r->http && http_query(r->http, key, value, size);
}

int part_error(struct buf *out, int status, const char *code, const char *message)
{
    http_error_body(out, code, message);
    return status;
}
