/* SPDX-License-Identifier: Apache-2.0
 * One request of an HTTP way to a server, and the list of what it has loaded. Knows no state and decides nothing.
 */
#pragma once

#include <jansson.h>

#include "guard/way_http.h"

enum { HTTP_LOOK_TIMEOUT_MS = 5000 };

/* A request with "{id}", "{name}" and "{extra}" replaced from the item (NULL: none). 2xx is 0. A server that refuses (4xx) is
 * -EACCES, everything else an error of its own, with the server's words. The answer's JSON goes to *ret (NULL: not wanted). */
int http_ask(struct way_context *c, const char *method, const char *path, const char *body, const struct journal_item *item,
             int64_t timeout_ms, json_t **ret, struct error *err);

/* What is loaded now, into the entry's items; each id once. */
int http_list(const struct http_way *row, struct way_context *c, struct journal_entry *entry, struct error *err);

/* Is a placeholder of an item in one of these? */
bool http_by_item(const char *path, const char *body);
