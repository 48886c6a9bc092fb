/* SPDX-License-Identifier: Apache-2.0
 * Secrets in URLs: the password before the host, parameters, and keys of streams and webhooks in the path.
 */
#include <ctype.h>

#include "base/cleanup.h"
#include "base/secret/internal.h"

/* The rest of the path after these is a secret: knowing it suffices to post there. */
static const char *const secret_places[] = {"hooks.slack.com/services/",
                                            "hooks.slack.com/workflows/",
                                            "hooks.slack.com/triggers/",
                                            "discord.com/api/webhooks/",
                                            "discordapp.com/api/webhooks/",
                                            "webhook.office.com/webhookb2/",
                                            "outlook.office.com/webhook/",
                                            "api.telegram.org/bot",
                                            "chat.googleapis.com/v1/spaces/",
                                            "hooks.zapier.com/hooks/catch/",
                                            "maker.ifttt.com/trigger/",
                                            "maker.ifttt.com/use/",
                                            "hc-ping.com/",
                                            "ntfy.sh/",
                                            "webhook.site/",
                                            "cronitor.link/p/",
                                            "api.pushcut.io/",
                                            "push.statuscake.com/",
                                            "uptime.betterstack.com/api/v1/heartbeat/",
                                            "events.pagerduty.com/integration/"};

/* Path components after which the rest is secret, on any host. */
static const char *const secret_directories[] = {"webhook", "webhooks", "webhookb2", "hook", "hooks", "key", "token", "apikey"};

struct url {
    struct str scheme, user, password, place; /* place: host and port */
    struct str path, query;                   /* including the leading '/', '?' or '#' */
    bool has_user, has_password;
};

static struct str between(const char *from, const char *to)
{
    return (struct str){from, (size_t)(to - from)};
}

static size_t span_until(struct str s, const char *stops)
{
    size_t len = 0;
    while (len < s.len && !strchr(stops, s.at[len]))
        len++;
    return len;
}

/* "host:PORT", "host:${PORT}": placeholders for a port. */
static bool is_port(struct str s)
{
    return s.len == 0 || secret_is_number(s) || strchr("$<{%", s.at[0]) || str_is(s, "PORT") || str_is(s, "*");
}

/* The end of the authority: a password may contain '/', '?' or '#' unencoded. */
static const char *end_of_authority(struct str rest, const char **ret_at)
{
    size_t len = span_until(rest, "/?#");
    const char *at = memrchr(rest.at, '@', len);
    const char *colon = memchr(rest.at, ':', len);
    if (!at && colon && rest.at[0] != '[' && !is_port(between(colon + 1, rest.at + len)) && (at = memrchr(rest.at, '@', rest.len)))
        len = (size_t)(at - rest.at) + span_until(between(at, rest.at + rest.len), "/?#");
    *ret_at = at;
    return rest.at + len;
}

static struct url split(struct str scheme, struct str rest)
{
    struct url u = {.scheme = scheme};
    const char *at, *end = rest.at + rest.len, *path = end_of_authority(rest, &at);
    const char *place = at ? at + 1 : rest.at, *colon = at ? memchr(rest.at, ':', (size_t)(at - rest.at)) : NULL;
    u.has_user = at != NULL;
    u.has_password = colon != NULL;
    u.user = between(rest.at, colon ? colon : place - (at != NULL));
    u.password = colon ? between(colon + 1, at) : (struct str){at, 0};
    u.place = between(place, path);
    const char *query = path + span_until(between(path, end), "?#");
    u.path = between(path, query);
    u.query = between(query, end);
    return u;
}

/* Without a password, the user itself may be a token: https://TOKEN@github.com. Login names on other hosts aren't. */
static bool user_is_secret(const struct url *u)
{
    bool web = str_is_any_case(u->scheme, "http") || str_is_any_case(u->scheme, "https");
    bool empty = u->password.len == 0 || str_is(u->password, "x-oauth-basic");
    return u->user.len && !str_is(u->user, "git") && ((web && empty) || secret_looks(u->user, false));
}

static void write_authority(struct masker *m, const struct url *u)
{
    buf_str(m->out, u->scheme);
    buf_text(m->out, "://");
    if (u->has_user) {
        if (user_is_secret(u))
            buf_text(m->out, MASK);
        else
            buf_str(m->out, u->user);
        if (u->has_password)
            buf_text(m->out, ":" MASK);
        buf_char(m->out, '@');
    }
    /* Truncated before its '@', or not a URL at all: mask it to be safe. */
    const char *colon = u->place.len && u->place.at[0] != '[' ? memchr(u->place.at, ':', u->place.len) : NULL;
    if (colon && memchr(u->place.at, ',', u->place.len) == NULL && !is_port(between(colon + 1, u->place.at + u->place.len))) {
        buf_str(m->out, between(u->place.at, colon + 1));
        buf_text(m->out, MASK);
    } else {
        mask_by_looks(m, u->place, true);
    }
}

/* How much of host and path to show; (size_t)-1: all. */
static size_t shown_of_path(const struct url *u)
{
    struct str all = between(u->place.at, u->path.at + u->path.len);
    for (size_t i = 0; i < ARRAY_LEN(secret_places); i++) {
        const char *at = memmem(all.at, all.len, secret_places[i], strlen(secret_places[i]));
        if (at)
            return (size_t)(at + strlen(secret_places[i]) - u->path.at);
    }
    bool stream = str_starts(u->scheme, "rtmp"); /* rtmp://host/app/KEY */
    size_t at = 1;
    while (at < u->path.len) {
        size_t len = span_until(between(u->path.at + at, u->path.at + u->path.len), "/");
        struct str name = {u->path.at + at, len};
        at += len + 1;
        if (stream)
            return at;
        for (size_t i = 0; i < ARRAY_LEN(secret_directories); i++)
            if (str_is_any_case(name, secret_directories[i]))
                return at;
    }
    return (size_t)-1;
}

static void write_path(struct masker *m, const struct url *u)
{
    size_t shown = shown_of_path(u);
    struct str before = {0};
    for (size_t at = 0; at < u->path.len;) {
        size_t len = u->path.at[at] == '/' ? 1 : span_until(between(u->path.at + at, u->path.at + u->path.len), "/");
        struct str name = {u->path.at + at, len};
        if (at >= shown) {
            buf_text(m->out, MASK);
            return;
        }
        if (u->path.at[at] == '/') {
            buf_char(m->out, '/');
        } else if (at + len > shown) { /* bot123:SECRET */
            buf_add(m->out, name.at, shown - at);
            buf_text(m->out, MASK);
            return;
        } else {
            mask_by_looks(m, name, m->may_be_hash || secret_hash_directory(before));
            before = name;
        }
        at += len;
    }
}

static void write_query(struct masker *m, struct str query)
{
    while (query.len) {
        buf_char(m->out, query.at[0]);
        query = (struct str){query.at + 1, query.len - 1};
        size_t len = span_until(query, "&;?#"), cut;
        struct str part = {query.at, len}, name = mask_name_of(part, &cut);
        struct str value = {part.at + MIN_OF(cut + 1, len), len - MIN_OF(cut + 1, len)};
        if (cut < len && secret_query_name(name)) {
            buf_add(m->out, part.at, cut + 1);
            buf_text(m->out, value.len && secret_worth_masking(name, value) ? MASK : "");
            if (!secret_worth_masking(name, value))
                buf_str(m->out, value);
        } else {
            mask_by_looks(m, part, m->may_be_hash || secret_identifier_name(name));
        }
        query = (struct str){query.at + len, query.len - len};
    }
}

/* Where the URL ends inside a script or document. Commas and brackets end it only after the host, because passwords contain
 * them, too. */
static size_t length_of(struct str rest)
{
    size_t whole = span_until(rest, "\"'<>`"), at_path;
    struct str url = {rest.at, whole};
    const char *at;
    at_path = (size_t)(end_of_authority(url, &at) - url.at);
    size_t len = at_path + span_until((struct str){url.at + at_path, url.len - at_path}, ",)]}|");
    if (!at && len == whole) /* no path: `http://host,next` */
        len = MIN_OF(len, span_until(url, ",)}|"));
    return len;
}

bool mask_url(struct masker *m, struct str word)
{
    const char *mark = word.len ? memmem(word.at, word.len, "://", 3) : NULL;
    if (!mark)
        return false;
    const char *begin = mark;
    while (begin > word.at && (isalnum((unsigned char)begin[-1]) || strchr("+.-", begin[-1])))
        begin--;
    struct str before = between(word.at, begin), rest = between(mark + 3, word.at + word.len);
    mask_parts(m, before);
    if (m->open_quote) { /* {"password":"https://... */
        mask_parts(m, between(begin, word.at + word.len));
        return true;
    }
    size_t len = length_of(rest), part = before.len, cut;
    while (part && !strchr("?&;,", before.at[part - 1]))
        part--;
    struct str name = mask_name_of((struct str){before.at + part, before.len - part}, &cut);
    if (cut < before.len - part && secret_name(name)) { /* --webhook-url=https://... */
        m->expect = EXPECT_NOTHING;
        buf_text(m->out, MASK);
        mask_parts(m, (struct str){rest.at + len, rest.len - len});
        return true;
    }
    struct url u = split(between(begin, mark), (struct str){rest.at, len});
    write_authority(m, &u);
    write_path(m, &u);
    write_query(m, u.query);
    mask_parts(m, (struct str){rest.at + len, rest.len - len});
    return true;
}
