/* SPDX-License-Identifier: Apache-2.0
 * An ssh process that makes another host's daemon reachable through a local socket. It ends with this process.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "ask/hosts.h"
#include "base/error.h"

struct tunnel;

/* Waits until ssh has logged in. `may_ask`: it may prompt for a password or a new host key. On failure the message is what ssh
 * printed. */
int tunnel_open(const struct host_place *place, bool may_ask, struct tunnel **ret, struct error *err);
void tunnel_close(struct tunnel *t); /* NULL is fine */

/* Removes the files of open tunnels when a signal ends the process. Async-signal-safe. */
void tunnel_abandon(void);

/* The n-th socket that may lead to a daemon, and what it is on the other side; NULL after the last. */
const char *tunnel_socket(const struct tunnel *t, int n);
const char *tunnel_target(const struct tunnel *t, int n);
/* The last line that ssh printed; "": none. */
const char *tunnel_said(struct tunnel *t);

/* ---- the local ends, where ssh listens and net_local_connect() connects ---- */

enum { TUNNEL_ENDS_MAX = 2 };

struct tunnel_ends {
    int count;
    char folder[100];                 /* of the sockets; "": none */
    char place[TUNNEL_ENDS_MAX][108]; /* a path, or "127.0.0.1:PORT" */
};

/* Chooses `count` places. A signal that ends us removes their files, too. */
int tunnel_ends_make(struct tunnel_ends *e, struct error *err);
bool tunnel_ends_there(const struct tunnel_ends *e, pid_t ssh); /* ssh is listening */
void tunnel_ends_remove(struct tunnel_ends *e);
