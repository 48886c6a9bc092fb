/* SPDX-License-Identifier: Apache-2.0
 * The control socket of a guard in the foreground: `whirr guard status`, `hold`, ... reach it as they reach the daemon.
 */
#pragma once

#include "guard/guard.h"

struct guard_socket;

/* -EADDRINUSE: a guard of that name runs already. The guard must outlive it. */
int guard_socket_open(struct guard *g, const char *name, struct guard_socket **ret, struct error *err);
void guard_socket_close(struct guard_socket *s); /* NULL is fine */
