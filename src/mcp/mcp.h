/* SPDX-License-Identifier: Apache-2.0
 * The server side of the Model Context Protocol: messages in, messages out. Knows neither the transport nor the source of answers:
 * a call is translated into a command of whirr and a path of its API, which give the same JSON; the transport runs one of them and
 * passes the answer back.
 *
 *   text ──mcp_read──▶ requests ──(those that wait: mcp_command or mcp_target, mcp_answer)──▶ mcp_write ──▶ text
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

enum {
    MCP_BATCH_MAX = 16,      /* messages in one array, in versions that allow that */
    MCP_BODY_MAX = 64 << 20, /* of an answer, before it is condensed */
    MCP_REPLY_MAX = 4 << 20, /* of all replies to one text */
    MCP_WORDS_MAX = 24,      /* of a command */
};

/* In order of age. The last one is "modern": without a session, every request states its version. */
enum mcp_version { MCP_2024_11_05, MCP_2025_03_26, MCP_2025_06_18, MCP_2025_11_25, MCP_2026_07_28, MCP_VERSION_COUNT };
#define MCP_UNSAID MCP_2025_03_26 /* assumed if a client does not state its version */

const char *mcp_version_name(enum mcp_version version);
enum mcp_version mcp_version_find(struct str name); /* MCP_VERSION_COUNT: unknown */

/* Protocol errors. Those from -32022 on belong to the modern version. */
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
    const char *method; /* "": none */
    const json_t *params;
    enum mcp_version version;
    const json_t *cancels;       /* the ID of another request to cancel; NULL: none */
    const struct mcp_tool *tool; /* of a valid call */
    bool asked;                  /* used by the transport: the query is running */
    bool understood;             /* its version is stated correctly */
    int refused;                 /* error code if the message itself is wrong; 0: none */
    json_t *reply;               /* NULL: none yet, or none at all */
};

struct mcp_messages {
    struct mcp_request list[MCP_BATCH_MAX];
    size_t count;
    bool batch;
};

/* Parses one message or an array. `spoken` is the version of the client's session; `initialize` changes it. */
void mcp_read(struct mcp_messages *m, struct str text, enum mcp_version *spoken);
void mcp_done(struct mcp_messages *m);
/* Writes all replies; false: there are none. */
bool mcp_write(const struct mcp_messages *m, struct buf *out);

/* Whether it is a call that still needs an answer. */
static inline bool mcp_waits(const struct mcp_request *r)
{
    return r->tool && !r->reply;
}
/* How to find the answer: a command without the program's name, its words stored in `texts`, NULL-terminated. False: too long. */
bool mcp_command(const struct mcp_request *r, struct buf *texts, const char *words[MCP_WORDS_MAX + 1]);
/* The path with its parameters. False: the API lacks this; the reply says why. */
bool mcp_target(struct mcp_request *r, struct buf *out);
/* Passes the answer: JSON, or if refused, an error body or a message. False: not available yet, query again. */
bool mcp_answer(struct mcp_request *r, bool found, struct str body);
/* Reports to the assistant why there is no answer. */
void mcp_fail(struct mcp_request *r, const char *why);
/* Refuses a faulty message. Takes ownership of `data`; NULL: none. */
void mcp_refuse(struct mcp_request *r, int code, json_t *data, const char *format, ...) __attribute__((format(gnu_printf, 4, 5)));
