/* SPDX-License-Identifier: Apache-2.0
 * Queries a running daemon over its Unix socket, or another host's over HTTPS or an ssh tunnel: one request at a time, each with a
 * time limit.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ask/hosts.h"
#include "base/buf.h"
#include "base/env.h"
#include "base/error.h"
#include "model/snapshot.h"

/* How long to wait for a running daemon: on a busy host it may take seconds to get scheduled. */
enum { CLIENT_WITHIN_MS = 8000 };

struct client;

/* `configured` is server.socket. -ENOENT: no daemon is running. */
int client_open(const char *configured, struct client **ret, struct error *err);
/* Like client_open(), but for changes: only the one intended daemon (place_to_act) will do. -ENOENT: it is not running; the
 * message names the socket. -EPERM: only the system's daemon is running, which this must not change. */
int client_open_to_act(const char *configured, struct client **ret, struct error *err);
/* Connects to another host's daemon. `may_ask`: ssh may prompt on the terminal. Failure messages name the host. */
int client_open_host(const struct env *env, const struct host_place *place, bool may_ask, struct client **ret, struct error *err);
void client_close(struct client *c); /* NULL is fine */
/* The path of its socket, or the name of the other host. */
const char *client_place(const struct client *c);
bool client_is_remote(const struct client *c);
/* The user and the process behind a socket of this host; pid 0: unknown. */
bool client_daemon(const struct client *c, uid_t *user, int32_t *pid);

/* Appends the body of the answer and returns its status, or -errno. `body` may be NULL. */
int client_request(struct client *c, const char *method, const char *target, const char *body, struct buf *answer,
                   int64_t timeout_ms, struct error *err);
/* Reads an answer of any length piece by piece; `each` returns 0 or -errno, which stops it. Closes the connection. Appends an
 * answer other than 200 to `refusal`. Returns the status, or -errno, also for a truncated answer. */
typedef int client_piece_fn(void *user, struct str piece);
int client_download(struct client *c, const char *target, client_piece_fn *each, void *user, struct buf *refusal,
                    struct error *err);
/* The message in an error body, or the body itself. */
void client_error_text(struct str answer, char *text, size_t size);

/* The newest snapshot that has `groups` and is not older than that. -EPROTO: the daemon's version is incompatible. */
int client_snapshot(struct client *c, unsigned groups, int64_t max_age_ms, const struct snapshot **ret, struct error *err);
