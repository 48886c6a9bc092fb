/* SPDX-License-Identifier: Apache-2.0
 * The audit log.
 */
#include "serve/api/core.h"

#include <arpa/inet.h>
#include <stdio.h>

#include "base/json_writer.h"
#include "base/log.h"
#include "base/os/words.h"
#include "store/service/service.h"

static void peer_text(const struct exchange *x, char text[INET6_ADDRSTRLEN])
{
    const struct in6_addr *from = &x->conn->peer;
    if (x->conn->listener->is_unix)
        snprintf(text, INET6_ADDRSTRLEN, "%s", WORD_LOCAL_SOCKET);
    else if (IN6_IS_ADDR_V4MAPPED(from))
        inet_ntop(AF_INET, &from->s6_addr[12], text, INET6_ADDRSTRLEN);
    else
        inet_ntop(AF_INET6, from, text, INET6_ADDRSTRLEN);
}

static void audit_write(struct store_service *store, const char *text, const struct buf *data)
{
    if (store)
        store_service_event(store, &(struct store_event){.at = clock_wall(&clock_system),
                                                         .gpu_index = -1,
                                                         .kind = "audit",
                                                         .severity = "info",
                                                         .text = text,
                                                         .data = data->failed ? NULL : buf_view(data).at});
}

void audit_acted(const struct exchange *x, int status)
{
    char from[INET6_ADDRSTRLEN] = "", text[512];
    struct store_service *store = x->server->parts.store;
    if (!x->who[0])
        return;
    peer_text(x, from);
    const char *peer = from, *who = x->who, *what = x->request->path;
    log_info(status < 400 ? "acted over the API" : "was refused over the API", LOG_TEXT("who", who), LOG_TEXT("what", what),
             LOG_TEXT("from", peer), LOG_INT("status", status));
    AUTO_BUF struct buf data = BUF(4096);
    struct json_writer j = JSON_WRITER(&data);
    jw_object(&j);
    jw_key_text(&j, "who", x->who);
    jw_key_text(&j, "what", x->request->path);
    jw_key_text(&j, "from", from);
    jw_key_int(&j, "status", status);
    jw_end(&j);
    snprintf(text, sizeof text, "%s from %s: %s %s (%d)", x->who, from, x->request->path, status < 400 ? "done" : "refused",
             status);
    audit_write(store, text, &data);
}

void audit_token(struct server *server, const struct access_token *t, const char *how)
{
    char roles_text[ROLES_SIZE], text[256];
    const char *roles = rights_roles(t->rights, roles_text), *name = t->name;
    AUTO_BUF struct buf data = BUF(1024);
    struct json_writer j = JSON_WRITER(&data);
    log_info("the list of tokens has changed", LOG_TEXT("token", name), LOG_TEXT("what", how), LOG_TEXT("roles", roles));
    jw_object(&j);
    jw_key_text(&j, "token", name);
    jw_key_text(&j, "what", how);
    jw_key_text(&j, "roles", roles);
    jw_end(&j);
    snprintf(text, sizeof text, "token %s (%s) was %s", name, roles, how);
    audit_write(server->parts.store, text, &data);
}
