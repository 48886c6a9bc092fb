/* SPDX-License-Identifier: Apache-2.0
 * POST /mcp: the Model Context Protocol as Streamable HTTP, without sessions. A call is an API request nested in this one: the
 * route of its path answers it with a reader's rights, and the reply comes back here. If that route parks its request, this one is
 * parked too, and resumes with the results so far.
 */
#include "serve/api/core.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "http/http.h"
#include "http/negotiate.h"
#include "mcp/mcp.h"

enum { RETRY_MS = 250, TIMEOUT_MS = 8000 };

/* The state of a request that takes several steps. */
struct mcp_work {
    struct mcp_messages messages;
    int64_t asked_ms; /* when it began to wait for an answer; 0: not waiting */
};

static void drop_work(void *work)
{
    struct mcp_work *w = work;
    mcp_done(&w->messages);
    free(w);
}

/* ---- headers ---- */

/* The version in the header; false if it is unknown. */
static bool read_version(struct exchange *x, enum mcp_version *ret)
{
    struct str named = http_field(x->request, "mcp-protocol-version");
    *ret = named.at ? mcp_version_find(named) : MCP_UNSAID;
    return *ret < MCP_VERSION_COUNT;
}

/* Version 2026-07-28 repeats the message's method and tool in headers; both must match. */
static void compare_head(const struct exchange *x, struct mcp_request *r)
{
    const char *name = json_string_value(json_object_get(r->params, "name"));
    struct str version = http_field(x->request, "mcp-protocol-version"), method = http_field(x->request, "mcp-method");
    bool called = strcmp(r->method, "tools/call") == 0;
    if (!r->id || r->version != MCP_2026_07_28)
        return;
    if (!str_is(version, mcp_version_name(r->version)) && r->refused != MCP_NO_SUCH_VERSION)
        mcp_refuse(r, MCP_HEAD_DIFFERS, NULL, "MCP-Protocol-Version is missing, or is not that of the message");
    else if (!r->refused && !str_is(method, r->method))
        mcp_refuse(r, MCP_HEAD_DIFFERS, NULL, "Mcp-Method is missing, or is not that of the message");
    else if (!r->refused && called && name && !str_is(http_field(x->request, "mcp-name"), name))
        mcp_refuse(r, MCP_HEAD_DIFFERS, NULL, "Mcp-Name is missing, or is not that of the message");
}

static struct mcp_work *begin(struct exchange *x)
{
    struct mcp_work *w = calloc(1, sizeof *w);
    enum mcp_version spoken = MCP_UNSAID;
    bool known = read_version(x, &spoken);
    if (!w)
        return NULL;
    mcp_read(&w->messages, x->body, known ? &spoken : &(enum mcp_version){MCP_2025_11_25});
    for (size_t i = 0; i < w->messages.count; i++) {
        struct mcp_request *r = &w->messages.list[i];
        compare_head(x, r);
        if (!known && !r->refused)
            mcp_refuse(r, MCP_INVALID_REQUEST, NULL, "Unsupported protocol version in MCP-Protocol-Version");
    }
    return w;
}

/* ---- a nested request ---- */

struct inner {
    struct exchange x; /* first member: a reply to it is a reply to this */
    struct http_message request;
    bool found;
    struct blob *body;
};

static void take_reply(struct exchange *x, const struct reply *r)
{
    struct inner *in = (struct inner *)x;
    in->found = !r->status || r->status == 200;
    in->body = r->body ? blob_ref(r->body) : NULL;
}

/* False if the answer is pending: the inner route parked the connection, or it has to be asked again. */
static bool ask(struct exchange *x, struct mcp_request *r, struct str target)
{
    AUTO_FREE struct inner *in = calloc(1, sizeof *in);
    struct str query = target, path;
    if (!in || !str_cut(&query, '?', &path))
        return true;
    in->request.method = HTTP_GET;
    in->request.target = target;
    in->request.query = query;
    in->request.minor = 1;
    in->request.content_length = -1;
    str_copy(in->request.path, sizeof in->request.path, path);
    in->x = *x;
    in->x.request = &in->request;
    in->x.body = (struct str){0};
    in->x.rights = RIGHT_READ;
    in->x.take = take_reply;
    if (router_find(&in->x))
        router_handle(&in->x);
    if (http_client_of(x->conn)->parked) {
        x->done = true;
        return false;
    }
    struct str body = in->body ? (struct str){in->body->at, in->body->len} : STR("");
    bool answered = mcp_answer(r, in->found, body);
    blob_unref(in->body);
    return answered;
}

/* Fetches all missing answers; false: some are still pending. */
static bool answer_messages(struct exchange *x, struct mcp_work *w)
{
    for (size_t i = 0; i < w->messages.count; i++) {
        struct mcp_request *r = &w->messages.list[i];
        AUTO_BUF struct buf target = BUF(HTTP_LINE_MAX);
        if (!mcp_waits(r) || !mcp_target(r, &target) || ask(x, r, buf_view(&target)))
            continue;
        if (x->done) /* parked by the route */
            return false;
        int64_t now = loop_now_ms();
        w->asked_ms = w->asked_ms ? w->asked_ms : now;
        if (now - w->asked_ms < TIMEOUT_MS) {
            site_wait(x, RETRY_MS);
            return false;
        }
        mcp_fail(r, "the database of the fleet did not answer in time");
    }
    return true;
}

/* ---- the reply ---- */

static int status_of(const struct mcp_messages *m)
{
    const struct mcp_request *r = &m->list[0];
    if (m->batch || !r->refused)
        return 200;
    switch (r->refused) {
    case MCP_NO_SUCH_METHOD: return r->version == MCP_2026_07_28 ? 404 : 200;
    case MCP_INVALID_PARAMS: return r->understood ? 200 : 400;
    default: return 400;
    }
}

static void reply_all(struct exchange *x, const struct mcp_messages *m, bool events)
{
    AUTO_BUF struct buf out = BUF(MCP_REPLY_MAX);
    if (events)
        buf_text(&out, "event: message\ndata: ");
    if (!mcp_write(m, &out)) {
        exchange_reply(x, &(struct reply){.status = 202});
        return;
    }
    buf_text(&out, events ? "\n\n" : "\n");
    AUTO_BLOB struct blob *body = blob_take(&out);
    if (body)
        exchange_reply(x, &(struct reply){.status = status_of(m),
                                          .type = events ? "text/event-stream" : "application/json",
                                          .body = body,
                                          .cache = "no-store"});
}

void post_mcp(struct exchange *x)
{
    struct http_client *client = http_client_of(x->conn);
    struct str accept = http_field(x->request, "accept");
    bool json = accepts_type(accept, "application/json"), events = accepts_type(accept, "text/event-stream");
    if (!x->server->options.mcp) {
        exchange_error(x, 404, "mcp_off", "Assistants can't ask here: server.mcp is off.");
        return;
    }
    if (!json && !events) {
        exchange_error(x, 406, "not_acceptable", "This is only available as application/json and text/event-stream.");
        return;
    }
    struct mcp_work *w = client->work ? TAKE(client->work) : begin(x);
    if (!w)
        return; /* router_handle() answers 500 */
    if (answer_messages(x, w)) {
        reply_all(x, &w->messages, !json);
        drop_work(w);
    } else {
        client->work = w;
        client->drop_work = drop_work;
    }
}
