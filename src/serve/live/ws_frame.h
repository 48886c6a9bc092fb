/* SPDX-License-Identifier: Apache-2.0
 * WebSocket frames (RFC 6455, section 5): parses those of clients, writes headers of ours. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/str.h"

enum {
    WS_CONTINUATION = 0,
    WS_TEXT = 1,
    WS_BINARY = 2,
    WS_CLOSE = 8,
    WS_PING = 9,
    WS_PONG = 10,
};

enum { /* reasons to close */
       WS_NORMAL = 1000,
       WS_GOING_AWAY = 1001,
       WS_PROTOCOL_ERROR = 1002,
       WS_UNSUPPORTED = 1003,
       WS_BAD_TEXT = 1007,
       WS_POLICY = 1008,
       WS_TOO_BIG = 1009,
       WS_UNAUTHORIZED = 4401, /* the client's credentials are no longer valid: our own code, like the HTTP status */
};

enum { WS_HEAD_MAX = 10, WS_MESSAGE_MAX = 64 * 1024, WS_CONTROL_MAX = 125 };

struct ws_frame {
    bool final;
    unsigned opcode;
    struct str payload; /* unmasked, in place */
};

/* Parses the frame at the front: returns its length, 0 if it is incomplete, or the negative close code. Unmasks the payload of a
 * complete frame in place. */
ssize_t ws_frame_parse(char *at, size_t len, struct ws_frame *ret);
/* Writes the header of a frame from server to client; returns its length. */
size_t ws_frame_head(uint8_t head[WS_HEAD_MAX], unsigned opcode, size_t payload_len);
/* Appends a complete text frame. */
void ws_frame_text(struct buf *out, struct str payload);
/* Whether a client may close with this code. */
bool ws_close_code_is_valid(unsigned code);
bool ws_text_is_valid(struct str text);
