/* SPDX-License-Identifier: Apache-2.0
 * From a request to its rights: the checks in front of every route, credentials, and rights that last longer than their request.
 */
#include "http/access.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "http/site.h"
#include "http/tls/tls.h"

enum { CHECK_MS = 1000 };

/* ---- credentials of a request ---- */

/* A proxy forwards others' requests: its own address and process say nothing about them. */
static bool is_forwarded(const struct http_message *request)
{
    static const char *const names[] = {"forwarded",           "via",
                                        "x-real-ip",           "x-client-ip",
                                        "client-ip",           "true-client-ip",
                                        "x-cluster-client-ip", "x-original-forwarded-for",
                                        "x-proxy-for",         "cf-connecting-ip"};
    for (size_t i = 0; i < request->field_count; i++) {
        struct str name = request->fields[i].name;
        if (name.len >= 11 && strncasecmp(name.at, "x-forwarded", 11) == 0)
            return true;
        for (size_t k = 0; k < ARRAY_LEN(names); k++)
            if (str_is_any_case(name, names[k]))
                return true;
    }
    return false;
}

/* The only field of this name; sets `ret_twice` if there are two, one of which the client may have slipped past the proxy. */
static struct str only_field(const struct http_message *request, const char *name, bool *ret_twice)
{
    struct str found = {0};
    for (size_t i = 0; name && name[0] && i < request->field_count; i++) {
        if (!str_is_any_case(request->fields[i].name, name))
            continue;
        *ret_twice |= found.at != NULL;
        found = str_trim(request->fields[i].value);
    }
    return found;
}

static struct str bearer(const struct http_message *request)
{
    struct str field = http_field(request, "authorization"), scheme;
    if (!field.at || !str_word(&field, &scheme) || !str_is_any_case(scheme, "bearer"))
        return (struct str){0};
    return str_trim(field);
}

/* Either all user fields count, or none. */
static bool read_user(const struct exchange *x, struct credential *id)
{
    const struct site_options *o = &x->site->options;
    bool twice = false;
    struct str user = only_field(x->request, o->proxy_user, &twice), groups = only_field(x->request, o->proxy_groups, &twice),
               secret = only_field(x->request, PROXY_SECRET_FIELD, &twice);
    if (!twice && user.len) {
        id->user = user;
        id->groups = groups;
    }
    id->has_secret = !twice && secret.at;
    if (id->has_secret)
        sha256(secret, id->secret);
    return user.at || groups.at || secret.at;
}

static void credential_read(const struct exchange *x, struct credential *ret)
{
    const struct conn *c = x->conn;
    struct str token = bearer(x->request), cookie = http_cookie(x->request, SESSION_COOKIE);
    *ret = (struct credential){.is_unix = c->listener->is_unix,
                               .is_owner = c->listener->is_unix && c->peer_trusted,
                               .uid = c->peer_uid,
                               .has_token = token.at,
                               .has_session = !token.at && cookie.at,
                               .certificate = c->tls ? str_from(tls_client(c->tls)) : (struct str){0}};
    bool names_user = read_user(x, ret);
    ret->is_local = c->listener->is_loopback && !names_user && !is_forwarded(x->request);
    if (ret->has_token)
        sha256(token, ret->token);
    if (ret->has_session)
        sha256(cookie, ret->session);
}

/* ---- their rights ---- */

static bool is_in(const struct site_names *names, struct str name)
{
    for (size_t i = 0; i < names->count; i++)
        if (str_is(name, names->list[i]) || strcmp(names->list[i], "*") == 0)
            return true;
    return false;
}

static bool is_in_group(const struct site_names *names, struct str groups)
{
    struct str group;
    while (str_cut(&groups, ',', &group))
        if (str_trim(group).len && is_in(names, str_trim(group)))
            return true;
    return false;
}

static bool shows_secret(const struct site *s, const struct credential *id)
{
    uint8_t ours[SHA256_SIZE];
    if (!id->has_secret || !s->options.proxies.secret)
        return false;
    sha256(str_from(s->options.proxies.secret), ours);
    return digest_equal(ours, id->secret, sizeof ours);
}

static bool is_proxy(const struct site *s, const struct credential *id)
{
    const struct site_proxies *p = &s->options.proxies;
    for (size_t i = 0; id->is_unix && i < p->user_count; i++)
        if (id->uid == p->users[i])
            return true;
    for (size_t i = 0; id->certificate.len && i < p->certificate_count; i++)
        if (str_is(id->certificate, p->certificates[i]))
            return true;
    return shows_secret(s, id);
}

static bool credential_lies(const struct site *s, const struct credential *id)
{
    return id->has_secret && !shows_secret(s, id);
}

static void name_who(char who[TOKEN_NAME_SIZE], const char *how, struct str name)
{
    char text[TOKEN_NAME_SIZE];
    str_copy_clean(text, sizeof text, name);
    snprintf(who, TOKEN_NAME_SIZE, "%s %.*s", how, TOKEN_NAME_SIZE - 16, text);
}

/* By rule: for a proxy, the user it names, not the proxy itself; else the certificate's owner. */
static unsigned rights_by_rule(const struct site *s, const struct credential *id, bool proxied, char who[TOKEN_NAME_SIZE])
{
    const struct site_options *o = &s->options;
    struct str name = proxied ? id->user : id->certificate;
    unsigned rights = 0;
    for (size_t i = 0; name.len && i < o->rule_count; i++) {
        const struct site_rule *r = &o->rules[i];
        if (proxied ? is_in(&r->users, name) || is_in_group(&r->groups, id->groups) : is_in(&r->certificates, name))
            rights |= r->rights;
    }
    if (rights)
        name_who(who, proxied ? "user" : "certificate", name);
    return rights;
}

static const struct access_token *credential_token(const struct site *s, const struct credential *id)
{
    const uint8_t *digest = id->has_token     ? id->token
                            : id->has_session ? sessions_find(&s->sessions, id->session, loop_now_ms())
                                              : NULL;
    return digest ? token_file_find(&s->tokens, digest) : NULL;
}

static unsigned credential_rights(const struct site *s, const struct credential *id, char who[TOKEN_NAME_SIZE])
{
    const struct site_options *o = &s->options;
    bool proxied = is_proxy(s, id), local = id->is_local && !proxied;
    who[0] = '\0';
    if (local && id->is_owner) {
        snprintf(who, TOKEN_NAME_SIZE, "uid %u", (unsigned)id->uid);
        return RIGHTS_ALL;
    }
    unsigned rights = o->insecure || (local && !o->require_token) ? RIGHT_READ : 0;
    rights |= rights_by_rule(s, id, proxied, who);
    const struct access_token *token = credential_token(s, id);
    if (token && !token_is_over(token, clock_wall(&clock_system))) {
        rights |= token->rights;
        str_copy(who, TOKEN_NAME_SIZE, str_from(token->name));
    }
    return rights;
}

/* Why its rights shrank, for people. */
static const char *credential_loss(const struct site *s, const struct credential *id)
{
    const struct access_token *token = credential_token(s, id);
    if (id->has_session && !sessions_find(&s->sessions, id->session, loop_now_ms()))
        return "the session has ended";
    if (!id->has_token && !id->has_session)
        return "the settings of this server have changed";
    if (!token)
        return "the token was removed";
    return token_is_over(token, clock_wall(&clock_system)) ? "the token has expired" : "the role of the token was changed";
}

/* ---- checks in front of every route ---- */

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
static bool origin_is_ours(const struct exchange *x, struct str origin)
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
    return !origin.at || origin_is_ours(x, origin) || access_cors_origin(x).at || refuse_other_site(x);
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

/* ---- lasting rights ---- */

static struct str keep_text(char **at, struct str text)
{
    struct str kept = {*at, text.len};
    if (text.len)
        memcpy(*at, text.at, text.len);
    *at += text.len;
    return kept;
}

/* Copies the credentials: the request's bytes are gone after the answer. */
static bool keep_shown(struct tenure *t, const struct credential *shown)
{
    char *at = malloc(shown->certificate.len + shown->user.len + shown->groups.len + 1);
    if (!at)
        return false;
    t->texts = at;
    t->shown = *shown;
    t->shown.certificate = keep_text(&at, shown->certificate);
    t->shown.user = keep_text(&at, shown->user);
    t->shown.groups = keep_text(&at, shown->groups);
    return true;
}

bool tenure_begin(struct tenure *t, const struct exchange *x, void *owner, void (*over)(void *owner, const char *why))
{
    struct site *s = x->site;
    *t = (struct tenure){.rights = x->rights, .owner = owner, .over = over};
    if (!keep_shown(t, &x->shown) || (!s->tenures && !watch_on(s->tenures_ticker, CHECK_MS))) {
        free(TAKE(t->texts));
        return false;
    }
    t->site = s;
    t->next = s->tenures;
    if (s->tenures)
        s->tenures->prev = t;
    s->tenures = t;
    return true;
}

void tenure_end(struct tenure *t)
{
    struct site *s = t->site;
    if (!s)
        return;
    *(t->prev ? &t->prev->next : &s->tenures) = t->next;
    if (t->next)
        t->next->prev = t->prev;
    free(TAKE(t->texts));
    t->site = NULL;
    if (!s->tenures)
        watch_off(s->tenures_ticker);
}

void tenures_check(struct site *s)
{
    char who[TOKEN_NAME_SIZE];
    if (s->tenures)
        site_refresh_tokens(s);
    for (struct tenure *t = s->tenures, *next; t; t = next) {
        next = t->next;
        if ((credential_rights(s, &t->shown, who) & t->rights) == t->rights)
            continue;
        const char *why = credential_loss(s, &t->shown);
        tenure_end(t);
        t->over(t->owner, why);
    }
}
