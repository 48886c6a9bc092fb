/* SPDX-License-Identifier: Apache-2.0
 * Who did what over the API, from where, and what came of it: a line in the log and an event of the history.
 */
#pragma once

#include "http/exchange.h"

/* For requests that change something, of clients that are known: a stranger's are refused and would only fill the history. */
void audit_acted(const struct exchange *x, int status);
