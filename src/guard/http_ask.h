/* SPDX-License-Identifier: Apache-2.0
 * One request of an HTTP method to a server, and the list of its loaded items. Stateless; decides nothing.
 */
#pragma once

#include <jansson.h>

#include "guard/method.h"

enum { HTTP_LOOK_TIMEOUT_MS = 5000 };

/* A request with "{id}", "{name}" and "{extra}" replaced from the item (NULL: none). 2xx is 0. A refusal (4xx) is -EACCES,
 * everything else another error, with the server's message. *ret gets the answer's JSON (NULL: unwanted). */
int http_ask(struct method_context *c, const struct server_request *asked, const struct journal_item *item, int64_t timeout_ms,
             json_t **ret, struct error *err);

/* Lists what is loaded into the entry's items, each ID once. */
int http_list(const struct server_row *row, struct method_context *c, struct journal_entry *entry, struct error *err);

/* Whether the request is set, and whether it has an item placeholder. */
bool http_is_set(const struct server_request *request);
bool http_by_item(const struct server_request *request);
