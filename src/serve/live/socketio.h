/* SPDX-License-Identifier: Apache-2.0
 * Socket.IO protocol 5 on Engine.IO sessions: the default namespace, events to and from clients, acknowledgements.
 */
#pragma once

#include "base/str.h"
#include "serve/live/engineio.h"

extern const struct eio_ops socketio_ops;

enum sio_type { SIO_CONNECT, SIO_DISCONNECT, SIO_EVENT, SIO_ACK, SIO_CONNECT_ERROR, SIO_BINARY_EVENT, SIO_BINARY_ACK };

struct sio_packet {
    enum sio_type type;
    struct str space; /* "/" if omitted */
    bool has_id;
    uint64_t id;
    struct str data; /* JSON; "" if omitted */
};

/* `2/admin,17["name",1]`. Pure. */
bool sio_parse(struct str text, struct sio_packet *ret);
