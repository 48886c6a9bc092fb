/* SPDX-License-Identifier: Apache-2.0
 * The daemon's network side: one object that listens, answers and broadcasts what the engine samples. Runs in the thread that calls
 * server_run().
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "serve/api/options.h"
#include "serve/data/part.h"
#include "serve/live/topic.h"

struct server;

/* Opens the sockets; nothing is answered before server_run(). The options' texts must outlive the server. */
int server_new(const struct server_options *options, const struct server_parts *parts, struct server **ret, struct error *err);
/* Waits for helpers that use the engine: before engine_free(). NULL is fine. */
void server_end_work(struct server *s);
void server_free(struct server *s);

/* Answers until server_stop(). */
void server_run(struct server *s);
/* Tells the clients and ends server_run() within a second. To be called in the loop's thread: from a callback. */
void server_stop(struct server *s);
/* Callbacks in the loop: at a signal, and again and again. At most 8 together. */
int server_on_signal(struct server *s, int signal, void (*callback)(void *user), void *user);
/* Whenever the descriptor can be read. */
int server_on_readable(struct server *s, int fd, void (*callback)(void *user), void *user);
int server_on_timer(struct server *s, int64_t every_ms, void (*callback)(void *user), void *user);

/* An event of this kind for all clients; `data` is JSON. In the loop's thread. */
void server_announce(struct server *s, enum topic topic, struct str data);

/* What it answers from: the newest sample and what is made of it (serve/data/data.h). In the loop's thread. */
struct data;
struct data *server_data(struct server *s);

/* Settings that can change while running; certificates and tokens are read again. Says what failed in err, but applies the rest. */
int server_reload(struct server *s, const struct server_options *options, struct error *err);

/* Names of the addresses that are really listened on; NULL behind the last. */
const char *server_address(const struct server *s, size_t which);
size_t server_clients(const struct server *s);
