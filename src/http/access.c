/* SPDX-License-Identifier: Apache-2.0
 * The checks in front of every route.
 */
#include "http/access.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <strings.h>

#include "base/log.h"
#include "http/site.h"

bool host_is_known(struct str host, const char *const *allowed, size_t allowed_count, const char *own_name)
{
    struct str_place place;
    if (!str_to_place(host, &place))
        return false;
    struct str name = place.host;
    if (name.at[name.len - 1] == '.')
        name.len--;
    /* DNS rebinding needs a name that the attacker controls: a numeric Host is safe. */
    if (str_is_address(name) || str_is_loopback(name))
        return true;
    if (own_name && own_name[0]) {
        char local[300];
        snprintf(local, sizeof local, "%s.local", own_name);
        if (str_is_any_case(name, own_name) || str_is_any_case(name, local))
            return true;
    }
    for (size_t i = 0; i < allowed_count; i++)
        if (str_is_any_case(name, allowed[i]) || str_is(STR("*"), allowed[i]))
            return true;
    return false;
}

bool access_check_host(struct exchange *x)
{
    const struct site *s = x->site;
    if (x->conn->listener->is_unix || x->request->host.len == 0)
        return true;
    if (host_is_known(x->request->host, s->options.allowed_hosts, s->options.allowed_host_count, s->own_name))
        return true;
    x->close = true;
    exchange_error(x, 421, "unknown_host", "This server is not known by that name; add it to server.allowed_hosts.");
    return false;
}

/* "http://HOST[:PORT]" is this server's own origin, or one allowed to read across origins. */
static bool access_origin_is_ours(const struct exchange *x, struct str origin)
{
    struct str rest = origin;
    bool secure = str_starts(origin, "https://");
    if (secure)
        rest = (struct str){origin.at + 8, origin.len - 8};
    else if (str_starts(origin, "http://"))
        rest = (struct str){origin.at + 7, origin.len - 7};
    else
        return false;
    /* Behind a TLS proxy the scheme differs: compare host and port only. */
    return rest.len == x->request->host.len && strncasecmp(rest.at, x->request->host.at, rest.len) == 0;
}

struct str access_cors_origin(const struct exchange *x)
{
    const struct site_options *o = &x->site->options;
    struct str origin = http_field(x->request, "origin");
    for (size_t i = 0; origin.at && i < o->cors_origin_count; i++) {
        if (strcmp(o->cors_origins[i], "*") == 0)
            return STR("*");
        if (str_is_any_case(origin, o->cors_origins[i]))
            return origin;
    }
    return (struct str){0};
}

static bool refuse_other_site(struct exchange *x)
{
    x->close = true;
    exchange_error(x, 403, "foreign_origin", "Requests from pages of other sites are refused; see server.cors_origins.");
    return false;
}

bool access_check_own_page(struct exchange *x)
{
    struct str origin = http_field(x->request, "origin");
    return !origin.at || access_origin_is_ours(x, origin) || access_cors_origin(x).at || refuse_other_site(x);
}

/* Browsers state where a request comes from. They discard cross-site loads, but we would have paid for the answer. Links may be
 * followed. */
static bool is_load_by_another_site(const struct exchange *x)
{
    const struct http_message *r = x->request;
    struct str site = http_field(r, "sec-fetch-site");
    if (!site.at || str_is(site, "same-origin") || str_is(site, "none") || access_cors_origin(x).at)
        return false;
    return !str_is(http_field(r, "sec-fetch-mode"), "navigate") || !str_is(http_field(r, "sec-fetch-dest"), "document") ||
           !str_is(http_field(r, "sec-fetch-user"), "?1");
}

static bool is_data(const struct exchange *x)
{
    for (const char *const *path = x->site->ops->data_paths; path && *path; path++)
        if (str_starts(str_from(x->request->path), *path))
            return true;
    return false;
}

bool access_check_origin(struct exchange *x)
{
    const struct http_message *r = x->request;
    if (r->method == HTTP_OPTIONS)
        return true;
    if (!(r->method & (HTTP_GET | HTTP_HEAD)))
        return access_check_own_page(x);
    return !is_data(x) || !is_load_by_another_site(x) || refuse_other_site(x);
}

/* Logged once: some proxies add no field, and a Host that names another place is the only sign of them. */
static void hint_at_proxy(const struct exchange *x)
{
    struct str_place place;
    if (x->site->proxy_hinted || !str_to_place(x->request->host, &place) || str_is_loopback(place.host))
        return;
    char text[256];
    const char *host = text;
    str_copy(text, sizeof text, x->request->host);
    log_warn("a request over loopback names another host; if a proxy passes it on, set server.require_token = true, "
             "or everyone who can reach the proxy can read",
             LOG_TEXT("host", host));
    x->site->proxy_hinted = true;
}

bool access_note_failure(struct exchange *x, char fields[64])
{
    struct limiter *l = &x->site->limiter;
    struct peer_id who = peer_id_of_address(&x->conn->peer);
    int64_t now = loop_now_ms(), wait = limiter_wait_ms(l, &who, now);
    if (wait > 0)
        snprintf(fields, 64, "Retry-After: %lld\r\n", (long long)(wait + 999) / 1000);
    else
        limiter_failed(l, &who, now);
    return wait > 0;
}

/* The request has credentials, but they are wrong. */
static void refuse_wrong(struct exchange *x, const char *code, const char *message)
{
    char wait[64];
    if (access_note_failure(x, wait))
        exchange_error_with(x, 429, wait, "too_many_failures", "Too many wrong tokens from this address. Try again later.");
    else
        exchange_error_with(x, 401, "WWW-Authenticate: Bearer realm=\"whirr\", error=\"invalid_token\"\r\n", code, message);
}

bool access_check_token(struct exchange *x)
{
    struct site *s = x->site;
    const struct credential *id = &x->shown;
    credential_read(x, &x->shown);
    if (id->has_token || id->has_session)
        site_refresh_tokens(s);
    x->rights = credential_rights(s, id, x->who);
    if (id->is_local && !id->is_unix && !x->who[0] && !s->options.insecure && x->rights)
        hint_at_proxy(x);
    if (x->rights == RIGHTS_ALL)
        return true;
    if (credential_lies(s, id)) {
        refuse_wrong(x, "invalid_proxy_secret", PROXY_SECRET_FIELD " is not the server.proxy_secret of this server.");
        return false;
    }
    const struct access_token *token = credential_token(s, id);
    if (!id->has_token || (token && !token_is_over(token, clock_wall(&clock_system))))
        return true; /* a stale cookie counts as none: the page asks for the token again */
    if (token)
        exchange_error_with(x, 401, "WWW-Authenticate: Bearer realm=\"whirr\", error=\"invalid_token\"\r\n", "token_expired",
                            "The token has expired. `whirr token new` makes another one.");
    else
        refuse_wrong(x, "invalid_token", "The token is not known here. `whirr token list` shows those that are.");
    return false;
}
