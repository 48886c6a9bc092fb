/* SPDX-License-Identifier: Apache-2.0
 * Access checks: the name in Host (against DNS rebinding), the page in Origin (against cross-site requests), the token. A failing
 * check answers the request itself and returns false.
 */
#pragma once

#include <stdbool.h>

#include "http/exchange.h"

#define SESSION_COOKIE "whirr_session"

bool access_check_host(struct exchange *x);
bool access_check_origin(struct exchange *x);
/* The same for reads with side effects: a page of another site may not open a live session either. */
bool access_check_own_page(struct exchange *x);
/* Sets x->rights and x->who. False only for a wrong token, or too many of them; a correct one always passes. */
bool access_check_token(struct exchange *x);
/* Counts a wrong token. True if there were too many from this address; `fields` then says how long to wait. */
bool access_note_failure(struct exchange *x, char fields[64]);

/* The value for Access-Control-Allow-Origin, NULL if this origin isn't configured. */
struct str access_cors_origin(const struct exchange *x);

/* Whether a Host (with or without port) is one that only clients of this host use. Pure. */
bool host_is_known(struct str host, const char *const *allowed, size_t allowed_count, const char *own_name);
