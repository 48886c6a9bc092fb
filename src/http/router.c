/* SPDX-License-Identifier: Apache-2.0
 * Searches the route tables. Paths are compared whole, after decoding.
 */
#include "http/http.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "http/access.h"
#include "http/negotiate.h"
#include "http/site.h"

static void list_methods(struct buf *out, unsigned methods)
{
    static const struct {
        enum http_method method;
        const char *name;
    } names[] = {{HTTP_GET, "GET, HEAD"}, {HTTP_POST, "POST"}, {HTTP_PUT, "PUT"}, {HTTP_DELETE, "DELETE"}, {HTTP_PATCH, "PATCH"}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (methods & names[i].method)
            buf_printf(out, "%s, ", names[i].name);
    buf_text(out, "OPTIONS");
}

static void answer_options(struct exchange *x, unsigned methods)
{
    AUTO_BUF struct buf fields = BUF(1024);
    buf_text(&fields, "Allow: ");
    list_methods(&fields, methods);
    buf_text(&fields, "\r\n");
    if (access_cors_origin(x).at && http_field(x->request, "access-control-request-method").at) {
        buf_text(&fields, "Access-Control-Allow-Methods: ");
        list_methods(&fields, methods);
        buf_text(&fields, "\r\nAccess-Control-Allow-Headers: Authorization, Content-Type, If-None-Match, MCP-Protocol-Version, "
                          "Mcp-Method, Mcp-Name\r\n"
                          "Access-Control-Max-Age: 600\r\n");
    }
    exchange_reply(x, &(struct reply){.status = 204, .fields = buf_view(&fields).at});
}

static void ask_for_token(struct exchange *x)
{
    static const char challenge[] = "WWW-Authenticate: Bearer realm=\"whirr\"\r\n";
    if (x->request->method & (HTTP_GET | HTTP_HEAD) && accept_quality(http_field(x->request, "accept"), "text/html") >
                                                           accept_quality(http_field(x->request, "accept"), "application/json"))
        x->site->ops->send_to_login(x);
    else if (x->route && right_acts(x->route->needs)) {
        char message[160];
        snprintf(message, sizeof message,
                 "This needs a token with the role %s: send \"Authorization: Bearer TOKEN\" (`whirr token new NAME --role %s`).",
                 right_role(x->route->needs), right_role(x->route->needs));
        exchange_error_with(x, 401, challenge, "token_needed", message);
    } else
        exchange_error_with(x, 401, challenge, "token_needed",
                            "This needs a token: send \"Authorization: Bearer TOKEN\" (see `whirr token new`).");
}

static bool is_path(const struct route *r, const char *path)
{
    size_t len = r->path && r->below ? strlen(r->path) : 0;
    if (len)
        return strncmp(r->path, path, len) == 0 && path[len] && !strchr(path + len, '/');
    return !r->path || strcmp(r->path, path) == 0;
}

/* The row for this path and method, or NULL; adds the methods of the path. */
static const struct route *find_in(const struct exchange *x, const struct route *list, size_t count, unsigned *methods)
{
    const struct route *found = NULL;
    for (size_t i = 0; i < count; i++) {
        if (!is_path(&list[i], x->request->path))
            continue;
        *methods |= list[i].methods;
        unsigned answers = list[i].methods | (list[i].methods & HTTP_GET ? HTTP_HEAD : 0);
        if (answers & x->request->method)
            found = &list[i];
    }
    return found;
}

/* The same in all tables: the first one with the path decides. */
static const struct route *find_route(struct exchange *x, unsigned *methods)
{
    const struct route *found = NULL;
    struct route_table table;
    for (size_t i = 0; !*methods && x->site->ops->table(x, i, &table); i++) {
        found = find_in(x, table.routes, table.count, methods);
        x->owner = table.owner;
        x->handle = found && found->handle ? found->handle : table.handle;
    }
    return found;
}

bool router_find(struct exchange *x)
{
    unsigned methods = 0;
    const struct route *found = find_route(x, &methods);
    if (x->request->method == HTTP_OPTIONS && (methods || strcmp(x->request->path, "*") == 0)) {
        answer_options(x, methods ? methods : HTTP_GET | HTTP_POST);
        return false;
    }
    if (!methods && !x->rights) { /* strangers don't learn which paths exist */
        ask_for_token(x);
        return false;
    }
    if (!methods) {
        exchange_error(x, 404, "not_found", "There is nothing at this path. /openapi.json lists what there is.");
        return false;
    }
    if (!found) {
        AUTO_BUF struct buf allow = BUF(256);
        buf_text(&allow, "Allow: ");
        list_methods(&allow, methods);
        buf_text(&allow, "\r\n");
        exchange_error_with(x, 405, buf_view(&allow).at, "method_not_allowed", "This path does not know that method; see Allow.");
        return false;
    }
    if (found->own_pages_only && !access_check_own_page(x))
        return false;
    x->route = found;
    if (!found->needs || x->rights & found->needs)
        return true;
    if (x->who[0])
        exchange_error(x, 403, "role_needed", "This needs the role %s, which the token '%s' does not have.",
                       right_role(found->needs), x->who);
    else
        ask_for_token(x);
    return false;
}

void router_handle(struct exchange *x)
{
    if (x->route->type && !accepts_type(http_field(x->request, "accept"), x->route->type)) {
        exchange_error(x, 406, "not_acceptable", "This is only available as %s.", x->route->type);
        return;
    }
    if (x->site->ops->knows_query && !x->site->ops->knows_query(x))
        return;
    x->handle(x);
    if (!x->done)
        exchange_error(x, 500, "internal", "The answer could not be made: out of memory.");
}
