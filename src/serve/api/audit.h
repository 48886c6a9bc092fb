/* SPDX-License-Identifier: Apache-2.0
 * Who did what over the API, from where, and what came of it; which tokens came and went: a line in the log and an event of the
 * history.
 */
#pragma once

#include "http/exchange.h"

/* For requests that change something, of clients that are known: a stranger's are refused and would only fill the history. */
void audit_acted(const struct exchange *x, int status);
/* "added", "removed", "changed". */
void audit_token(struct server *server, const struct access_token *t, const char *how);
