/* SPDX-License-Identifier: Apache-2.0
 * Live clients of either kind (the WebSocket at /ws, Socket.IO): what they get on arrival, and what they may ask.
 */
#pragma once

#include "serve/live/hub.h"

struct server;
struct exchange;

enum { LIVE_INTERVAL_MAX_S = 86400 };

/* GET /ws */
void get_ws(struct exchange *x);

/* A new periodic sample for everybody. */
void live_publish(struct server *server);
/* Joins the hub and sends gpu_status. Topics, language and ops are set. */
void live_arrived(struct server *server, struct subscriber *s);
/* Those who asked for an update get it: a fresh sample has come, or took too long. */
void live_update(struct server *server);
/* A message of the client: its type and the whole JSON object around it (or the data of a Socket.IO event). Bad ones are answered
 * with an error message. `json` may be NULL: no parameters. */
struct json_t;
void live_message(struct server *server, struct subscriber *s, const char *type, const struct json_t *json);
