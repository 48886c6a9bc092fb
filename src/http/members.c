/* SPDX-License-Identifier: Apache-2.0
 * Certificates and users of a proxy.
 */
#include "http/members.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "http/site.h"
#include "http/tls/tls.h"

static bool is_in(const struct site_names *names, struct str name)
{
    for (size_t i = 0; i < names->count; i++)
        if (str_is(name, names->list[i]) || strcmp(names->list[i], "*") == 0)
            return true;
    return false;
}

static void know(struct exchange *x, const char *how, struct str name, unsigned rights)
{
    char text[TOKEN_NAME_SIZE];
    if (!rights)
        return;
    x->rights |= rights;
    str_copy_clean(text, sizeof text, name);
    snprintf(x->who, sizeof x->who, "%s %.*s", how, (int)(sizeof x->who - 16), text);
}

static void check_certificate(struct exchange *x)
{
    const struct site_options *o = &x->site->options;
    struct str name = x->conn->tls ? str_from(tls_client(x->conn->tls)) : (struct str){0};
    unsigned rights = 0;
    for (size_t i = 0; name.len && i < o->rule_count; i++)
        if (is_in(&o->rules[i].certificates, name))
            rights |= o->rules[i].rights;
    know(x, "certificate", name, rights);
}

static bool is_proxy(const struct exchange *x)
{
    const struct site_names *proxies = &x->site->options.proxies;
    const struct in6_addr *peer = &x->conn->peer;
    if (x->conn->listener->is_unix)
        return false;
    for (size_t i = 0; i < proxies->count; i++) {
        struct in6_addr address = IN6ADDR_ANY_INIT;
        if (inet_pton(AF_INET, proxies->list[i], &address.s6_addr[12]) == 1)
            address.s6_addr[10] = address.s6_addr[11] = 0xff; /* mapped, as the peer's is */
        else if (inet_pton(AF_INET6, proxies->list[i], &address) != 1)
            continue;
        if (memcmp(&address, peer, sizeof address) == 0)
            return true;
    }
    return false;
}

/* The one field of this name. Of two, one may be the client's own, which the proxy has let through: then none counts. */
static struct str only_field(const struct http_message *request, const char *name)
{
    struct str found = {0};
    for (size_t i = 0; name && name[0] && i < request->field_count; i++) {
        if (!str_is_any_case(request->fields[i].name, name))
            continue;
        if (found.at)
            return (struct str){0};
        found = str_trim(request->fields[i].value);
    }
    return found;
}

static bool is_in_group(const struct site_names *names, struct str groups)
{
    struct str group;
    while (str_cut(&groups, ',', &group))
        if (str_trim(group).len && is_in(names, str_trim(group)))
            return true;
    return false;
}

static void check_proxy(struct exchange *x)
{
    const struct site_options *o = &x->site->options;
    struct str user = only_field(x->request, o->proxy_user), groups = only_field(x->request, o->proxy_groups);
    unsigned rights = 0;
    if (!user.len || !is_proxy(x))
        return;
    for (size_t i = 0; i < o->rule_count; i++)
        if (is_in(&o->rules[i].users, user) || is_in_group(&o->rules[i].groups, groups))
            rights |= o->rules[i].rights;
    know(x, "user", user, rights);
}

void members_check(struct exchange *x)
{
    check_certificate(x);
    check_proxy(x);
}

bool members_names_user(const struct exchange *x)
{
    const char *name = x->site->options.proxy_user;
    return name && name[0] && http_field(x->request, name).at;
}
