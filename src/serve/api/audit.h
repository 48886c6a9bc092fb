/* SPDX-License-Identifier: Apache-2.0
 * Who did what over the API, from where, with what result; added and removed tokens: a log line and a history event each.
 */
#pragma once

#include "http/exchange.h"

/* For requests that change something, from known clients: those of strangers are refused and would only fill the history. */
void audit_acted(const struct exchange *x, int status);
/* "added", "removed", "changed". */
void audit_token(struct server *server, const struct access_token *t, const char *how);
