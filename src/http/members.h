/* SPDX-License-Identifier: Apache-2.0
 * Clients who are known otherwise than by a token: by the certificate that they show, or as users whom a proxy in front of this
 * server has signed in (OpenID Connect, for example). What they may do is in the site's rules; without a rule they may do nothing.
 */
#pragma once

#include <stdbool.h>

#include "http/exchange.h"

/* Adds to x->rights and sets x->who where a rule knows the client. */
void members_check(struct exchange *x);
/* The request has the field in which proxies name users: it was passed on, or wants to look so. */
bool members_names_user(const struct exchange *x);
