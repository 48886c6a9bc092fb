/* SPDX-License-Identifier: Apache-2.0
 * Asks a running daemon over its Unix socket, or that of another host over HTTPS or an ssh tunnel: one request at a time, and a
 * time limit on everything.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ask/hosts.h"
#include "base/buf.h"
#include "base/env.h"
#include "base/error.h"
#include "model/snapshot.h"

/* How long a daemon that is there is waited for: on a busy host it may be its turn only after seconds. */
enum { CLIENT_WITHIN_MS = 8000 };

struct client;

/* `configured` is server.socket. -ENOENT: no daemon is running. */
int client_open(const char *configured, struct client **ret, struct error *err);
/* Like client_open(), to change something: exactly one daemon is meant (place_to_act), and no other is asked in its stead.
 * -ENOENT: it is not running; the sentence names the place. -EPERM: it is not, but the system's is, and was left alone. */
int client_open_to_act(const char *configured, struct client **ret, struct error *err);
/* The daemon of another host. `may_ask`: ssh may ask on the terminal. The sentences of this client's failures name the host. */
int client_open_host(const struct env *env, const struct host_place *place, bool may_ask, struct client **ret, struct error *err);
void client_close(struct client *c); /* NULL is fine */
/* The path of its socket; of another host, its name. */
const char *client_place(const struct client *c);
bool client_is_remote(const struct client *c);

/* The status of the answer, whose body is appended; or -errno. `body` may be NULL: a request without one. */
int client_request(struct client *c, const char *method, const char *target, const char *body, struct buf *answer,
                   int64_t timeout_ms, struct error *err);
/* An answer of any length, piece by piece; `each` returns 0 or -errno, which ends it. The connection is closed afterwards. An
 * answer other than 200 is appended to `refusal`. The status, or -errno: also when the answer was broken off. */
typedef int client_piece_fn(void *user, struct str piece);
int client_download(struct client *c, const char *target, client_piece_fn *each, void *user, struct buf *refusal,
                    struct error *err);
/* The message in an error body, or the body itself. */
void client_error_text(struct str answer, char *text, size_t size);

/* The newest snapshot that has `groups` and is no older than that. -EPROTO: the daemon is of a version that cannot be understood.
 */
int client_snapshot(struct client *c, unsigned groups, int64_t max_age_ms, const struct snapshot **ret, struct error *err);
