/* SPDX-License-Identifier: Apache-2.0
 * An ssh of our own that makes the daemon of another host reachable as a Unix socket here. It ends with us.
 */
#pragma once

#include <stdbool.h>

#include "ask/hosts.h"
#include "base/error.h"

struct tunnel;

/* Waits until ssh has logged in. `may_ask`: it may ask on the terminal for a password or about a new host key. What ssh said is
 * the sentence of a failure. */
int tunnel_open(const struct host_place *place, bool may_ask, struct tunnel **ret, struct error *err);
void tunnel_close(struct tunnel *t); /* NULL is fine */

/* For a program that ends at a signal: takes away the files of open tunnels. Safe in a signal handler. */
void tunnel_abandon(void);

/* The n-th socket behind which a daemon may be, and what it is there; NULL behind the last. */
const char *tunnel_socket(const struct tunnel *t, int n);
const char *tunnel_target(const struct tunnel *t, int n);
/* What ssh said so far, its last line; "" nothing. */
const char *tunnel_said(struct tunnel *t);
