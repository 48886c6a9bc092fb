/* SPDX-License-Identifier: Apache-2.0
 * One request of an HTTP method to a server, and the list of what it has loaded. Knows no state and decides nothing.
 */
#pragma once

#include <jansson.h>

#include "guard/method.h"

enum { HTTP_LOOK_TIMEOUT_MS = 5000 };

/* A request with "{id}", "{name}" and "{extra}" replaced from the item (NULL: none). 2xx is 0. A server that refuses (4xx) is
 * -EACCES, everything else an error of its own, with the server's words. The answer's JSON goes to *ret (NULL: not wanted). */
int http_ask(struct method_context *c, const struct server_request *asked, const struct journal_item *item, int64_t timeout_ms,
             json_t **ret, struct error *err);

/* What is loaded now, into the entry's items; each id once. */
int http_list(const struct server_row *row, struct method_context *c, struct journal_entry *entry, struct error *err);

/* Is there such a request? And is a placeholder of an item in it? */
bool http_is_set(const struct server_request *request);
bool http_by_item(const struct server_request *request);
