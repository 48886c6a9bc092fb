/* SPDX-License-Identifier: Apache-2.0
 * The Model Context Protocol, as a program that an assistant asks speaks it: messages in, messages out. How they travel is not
 * known here, nor where answers come from: a call names what is to be asked, as a command of whirr and as a path of its API, which
 * give the same JSON; the transport asks, and hands the answer back.
 *
 *   text ──mcp_read──▶ requests ──(those that wait: mcp_command or mcp_target, mcp_answer)──▶ mcp_write ──▶ text
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

enum {
    MCP_BATCH_MAX = 16,      /* messages in one array, where a version has that */
    MCP_BODY_MAX = 64 << 20, /* of an answer, before it is summed up */
    MCP_REPLY_MAX = 4 << 20, /* of all that one text is answered with */
    MCP_WORDS_MAX = 24,      /* of a command */
};

/* In their order. The last one is "modern": no session is begun, every request says what it speaks. */
enum mcp_version { MCP_2024_11_05, MCP_2025_03_26, MCP_2025_06_18, MCP_2025_11_25, MCP_2026_07_28, MCP_VERSION_COUNT };
#define MCP_UNSAID MCP_2025_03_26 /* what a client speaks that has not said it */

const char *mcp_version_name(enum mcp_version version);
enum mcp_version mcp_version_find(struct str name); /* MCP_VERSION_COUNT: not known */

/* Errors of the protocol. Those from -32022 on are the modern version's. */
enum {
    MCP_PARSE_ERROR = -32700,
    MCP_INVALID_REQUEST = -32600,
    MCP_NO_SUCH_METHOD = -32601,
    MCP_INVALID_PARAMS = -32602,
    MCP_INTERNAL_ERROR = -32603,
    MCP_HEAD_DIFFERS = -32020,
    MCP_NO_SUCH_VERSION = -32022,
};

struct mcp_tool;

struct mcp_request {
    json_t *message; /* owns what the others borrow */
    const json_t *id;
    const char *method; /* "" where there is none */
    const json_t *params;
    enum mcp_version version;
    const json_t *cancels;       /* the id of another request, which is not to be answered any more; NULL: none */
    const struct mcp_tool *tool; /* of a call that was understood */
    bool asked;                  /* the transport's: it is looking for the answer */
    bool understood;             /* what it says of its version */
    int refused;                 /* the code of an error that is about the message, not about what it asks for; 0: none */
    json_t *reply;               /* NULL: none yet, or none at all */
};

struct mcp_messages {
    struct mcp_request list[MCP_BATCH_MAX];
    size_t count;
    bool batch;
};

/* One message, or an array of them. `spoken` is the version that the client's session speaks; an `initialize` changes it. */
void mcp_read(struct mcp_messages *m, struct str text, enum mcp_version *spoken);
void mcp_done(struct mcp_messages *m);
/* All replies; false: there is nothing to say. */
bool mcp_write(const struct mcp_messages *m, struct buf *out);

/* A call whose answer has to be found. */
static inline bool mcp_waits(const struct mcp_request *r)
{
    return r->tool && !r->reply;
}
/* How to find it. The command without the program's name, its words in `texts`; NULL ends it. False: it is too long. */
bool mcp_command(const struct mcp_request *r, struct buf *texts, const char *words[MCP_WORDS_MAX + 1]);
/* The path with its parameters. False: the API does not have this; the reason was replied. */
bool mcp_target(struct mcp_request *r, struct buf *out);
/* It was found: JSON; where it was refused, an error body or a sentence. False: it is not there yet, and is to be asked for again.
 */
bool mcp_answer(struct mcp_request *r, bool found, struct str body);
/* It could not be found: the assistant reads why. */
void mcp_fail(struct mcp_request *r, const char *why);
/* The message itself is wrong. `data` is taken over; NULL: none. */
void mcp_refuse(struct mcp_request *r, int code, json_t *data, const char *format, ...) __attribute__((format(gnu_printf, 4, 5)));
