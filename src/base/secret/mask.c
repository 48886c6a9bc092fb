/* SPDX-License-Identifier: Apache-2.0
 * Finds secrets in command lines by name (--api-key X, PASSWORD=X), by position (user:X@host) and by looks (hf_..., JWTs, long
 * random texts). Masks when in doubt; paths, UUIDs and model names are never in doubt.
 */
#include "base/secret/mask.h"

#include <ctype.h>

#include "base/cleanup.h"
#include "base/secret/internal.h"

/* ---- parts of a word: name=SECRET, "name":"SECRET", user:SECRET@host, login("SECRET"), and what looks like one ---- */

struct masker {
    struct buf *out;
    enum expectation expect;
    unsigned skip, left;         /* words to skip and to mask; left 0: one, an option's value */
    char name[SECRET_NAME_SIZE]; /* name of the option that set `expect` */
    struct str program;          /* without directory */
    struct str words[8];         /* subcommands: words after the program that aren't options */
    size_t word_count;
    char open_quote;   /* the quote that ends the secret begun before; 0: none */
    bool may_be_hash;  /* hashes in this text aren't secrets */
    bool one_line;     /* all whitespace becomes spaces */
    bool piped_secret; /* a script in which `echo SECRET |` feeds a password prompt */
};

/* Each can contain the other: a word is masked part by part, split at ? & ; and commas; false: it has no URL. */
static void mask_parts(struct masker *m, struct str word);
static bool mask_url(struct masker *m, struct str word);

static bool in_words(struct str s, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (str_is_any_case(s, list[i]))
            return true;
    return false;
}

static bool is_token_char(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.' || c == '+' || c == '=' || c == '~';
}

static void mask_expect(struct masker *m, enum expectation what, struct str name)
{
    m->expect = what;
    m->skip = m->left = 0;
    str_copy(m->name, sizeof m->name, name);
}

static void mask_by_looks(struct masker *m, struct str s, bool may_be_hash)
{
    for (size_t i = 0; i < s.len;) {
        size_t len = 0;
        while (i + len < s.len && (is_token_char(s.at[i + len]) || s.at[i + len] == '/'))
            len++;
        struct str piece = {s.at + i, len}, before = {s.at, i};
        bool digest =
            str_ends(before, "sha256:") || str_ends(before, "sha512:") || str_ends(before, "sha1:") || str_ends(before, "md5:");
        if (len && secret_looks(piece, m->may_be_hash || may_be_hash || digest))
            buf_text(m->out, MASK);
        else
            buf_str(m->out, piece);
        i += len;
        if (i < s.len)
            buf_char(m->out, s.at[i++]);
    }
}

static void mask_secret(struct masker *m, struct str name, struct str value)
{
    static const char around[] = "\"'{}[](),;\\";
    size_t front = 0;
    while (front < value.len && strchr(around, value.at[front]))
        front++;
    size_t end = value.len;
    while (end > front && strchr(around, value.at[end - 1]))
        end--;
    struct str core = {value.at + front, end - front};
    buf_add(m->out, value.at, front);
    if (str_starts(core, "pass:")) { /* openssl -passin pass:SECRET */
        buf_text(m->out, "pass:");
        core = (struct str){core.at + 5, core.len - 5};
    }
    if (secret_worth_masking(name, core))
        buf_text(m->out, MASK);
    else
        buf_str(m->out, core);
    buf_add(m->out, value.at + end, value.len - end);
    char quote = front ? value.at[front - 1] : '\0';
    if ((quote == '"' || quote == '\'') && !memchr(value.at + front, quote, value.len - front))
        m->open_quote = quote; /* "two words", or text with a comma */
}

static void mask_skip_quoted(struct masker *m, struct str *s)
{
    const char *end = s->len ? memchr(s->at, m->open_quote, s->len) : NULL;
    size_t hidden = end ? (size_t)(end - s->at) : s->len;
    if (end)
        m->open_quote = '\0';
    *s = (struct str){s->at + hidden, s->len - hidden};
}

static bool mask_is_scheme(struct str word)
{
    static const char *const schemes[] = {"bearer", "basic", "token", "digest",  "apikey",   "key",
                                          "oauth",  "bot",   "ntlm",  "api-key", "negotiate"};
    return in_words(word, schemes, ARRAY_LEN(schemes));
}

static struct str mask_name_of(struct str s, size_t *ret_cut)
{
    size_t cut = 0;
    while (cut < s.len && s.at[cut] != '=' && s.at[cut] != ':')
        cut++;
    *ret_cut = cut;
    struct str name = {s.at, cut};
    while (name.len && strchr("\"'])\\", name.at[name.len - 1]))
        name.len--;
    return name;
}

static void write_named_secret(struct masker *m, struct str name, char sign, struct str value)
{
    char room[SECRET_NAME_SIZE];
    struct str normal = secret_normal_name(name, room);
    bool header = str_is(normal, "authorization") || str_ends(normal, "-authorization");
    if (value.len == 0 && sign == ':') {
        mask_expect(m, header ? EXPECT_SCHEME : str_contains(normal, "cookie") ? EXPECT_ALL : EXPECT_SECRET, name);
    } else if (header && mask_is_scheme(value)) {
        buf_str(m->out, value);
        mask_expect(m, EXPECT_ALL, name);
    } else {
        mask_secret(m, name, value);
    }
}

static bool mask_is_user_option(struct str word)
{
    static const char *const names[] = {"user", "proxy-user", "auth", "userpwd", "creds"};
    char room[SECRET_NAME_SIZE];
    return in_words(secret_normal_name(word, room), names, ARRAY_LEN(names));
}

static void mask_user(struct masker *m, struct str word)
{
    const char *separators = program_user_separators(m->program);
    size_t cut = 0;
    while (cut < word.len && !strchr(separators, word.at[cut]))
        cut++;
    if (cut == word.len || secret_is_number(word) || (word.at[0] == '/' && separators[0] != '/')) {
        mask_parts(m, word);
        return;
    }
    const char *host = separators[0] == '/' ? memrchr(word.at, '@', word.len) : NULL; /* scott/SECRET@host */
    size_t end = host ? (size_t)(host - word.at) : word.len;
    buf_add(m->out, word.at, cut + 1);
    buf_text(m->out, MASK);
    buf_add(m->out, word.at + end, word.len - end);
}

/* The '@' of "user:SECRET@host" without a scheme; NULL: something else. */
static const char *account_host(struct str s)
{
    static const char *const no_users[] = {"mailto", "npm", "pkg", "sip", "docker", "oci", "acct", "image"};
    size_t user = 0;
    while (s.len && strchr("\"'[({<`", s.at[0]))
        s = (struct str){s.at + 1, s.len - 1};
    while (user < s.len && (isalnum((unsigned char)s.at[user]) || strchr("_.+-", s.at[user])))
        user++;
    if (user == 0 || user == s.len || s.at[user] != ':' || in_words((struct str){s.at, user}, no_users, ARRAY_LEN(no_users)))
        return NULL;
    struct str rest = {s.at + user + 1, s.len - user - 1};
    const char *at = memrchr(rest.at, '@', rest.len);
    if (!at || at == rest.at || str_starts((struct str){at + 1, (size_t)(rest.at + rest.len - at - 1)}, "sha"))
        return NULL;
    struct str secret = {rest.at, (size_t)(at - rest.at)};
    return secret_is_number(secret) || memchr(secret.at, '/', secret.len) ? NULL : at;
}

/* A quoted text that could be anything: not a path, a file or words. */
static bool is_bare_text(struct str quoted)
{
    const char *end = quoted.len > 1 ? memchr(quoted.at + 1, quoted.at[0], quoted.len - 1) : NULL;
    size_t len = end ? (size_t)(end - quoted.at) - 1 : 0;
    for (size_t i = 1; i <= len; i++)
        if (!isalnum((unsigned char)quoted.at[i]) && !strchr("-_+=!$", quoted.at[i]))
            return false;
    return len >= 4 && !secret_is_number((struct str){quoted.at + 1, len});
}

/* login("SECRET"), db.auth("user","SECRET"): where the arguments start; 0: no such call. Arguments of any other function may be
 * secret as well, unless it is known to take names. */
static size_t secret_call(struct str part)
{
    static const char *const calls[] = {"login", "auth", "authenticate", "setPassword", "set_password", "changeUserPassword"};
    static const char *const harmless[] = {
        "print",  "open",   "import_module", "__import__",       "require",   "getenv",  "get",   "device", "to",  "load",
        "join",   "split",  "format",        "set_start_method", "find_spec", "getattr", "exec",  "echo",   "log", "run",
        "system", "import", "dtype",         "version",          "puts",      "putenv",  "setenv"};
    const char *bracket = part.len ? memchr(part.at, '(', part.len) : NULL;
    size_t begin = bracket ? (size_t)(bracket - part.at) : 0;
    if (!bracket || begin + 1 >= part.len || !strchr("\"'", bracket[1]))
        return 0;
    size_t end = begin;
    while (begin && (isalnum((unsigned char)part.at[begin - 1]) || part.at[begin - 1] == '_'))
        begin--;
    struct str function = {part.at + begin, end - begin}, quoted = {bracket + 1, part.len - end - 1};
    bool hides = in_words(function, calls, ARRAY_LEN(calls)) ||
                 (function.len && is_bare_text(quoted) && !in_words(function, harmless, ARRAY_LEN(harmless)));
    return hides ? end + 1 : 0;
}

/* One part of a word, split at ? & ; and the like: "name=value", "name:value" or anything. */
static void write_part(struct masker *m, struct str s);

static void write_pair(struct masker *m, struct str s, size_t cut, struct str name, struct str value)
{
    size_t inner;
    struct str nested = mask_name_of(value, &inner);
    /* --header=Authorization: ..., --config={"password":...}, {"db":{"password":...}} */
    bool holds_pairs = value.len && inner < value.len && (strchr("{[\"'", value.at[0]) || secret_name(nested));
    bool padding = value.len == 0 || str_is(value, "="); /* padding of base64 */
    if (holds_pairs) {
        mask_by_looks(m, (struct str){s.at, cut}, true);
        buf_char(m->out, s.at[cut]);
        write_part(m, value);
    } else if (s.at[cut] == '=' && !padding) {
        mask_by_looks(m, (struct str){s.at, cut}, true);
        buf_char(m->out, '=');
        bool pair = memchr(value.at, '=', value.len) && !secret_is_random(value, true); /* --env=NAME=VALUE */
        if (pair || account_host(value))
            write_part(m, value);
        else
            mask_by_looks(m, value, secret_identifier_name(name));
    } else {
        mask_by_looks(m, s, false);
    }
}

static void write_part(struct masker *m, struct str s)
{
    if (m->open_quote)
        mask_skip_quoted(m, &s);
    if (str_starts(s, "-H") && s.len > 2) { /* curl's joined header option */
        buf_add(m->out, s.at, 2);
        s = (struct str){s.at + 2, s.len - 2};
    }
    size_t cut, call = secret_call(s);
    struct str name = mask_name_of(s, &cut);
    struct str value = {s.at + MIN_OF(cut + 1, s.len), s.len - MIN_OF(cut + 1, s.len)};
    const char *host = account_host(s);
    if (call) {
        buf_add(m->out, s.at, call);
        mask_secret(m, STR("password"), (struct str){s.at + call, s.len - call});
    } else if (cut == s.len) {
        mask_by_looks(m, s, false);
    } else if (secret_name(name)) {
        buf_add(m->out, s.at, cut + 1);
        write_named_secret(m, name, s.at[cut], value);
    } else if (host) {
        buf_add(m->out, s.at, cut + 1);
        buf_text(m->out, MASK);
        mask_by_looks(m, (struct str){host, s.len - (size_t)(host - s.at)}, true);
    } else if (s.at[0] == '-' && s.at[cut] == '=' && value.len && mask_is_user_option(name)) {
        buf_add(m->out, s.at, cut + 1);
        mask_user(m, value);
    } else {
        write_pair(m, s, cut, name, value);
    }
}

/* putenv("TOKEN", : the call's next argument is the secret. */
static bool calls_with_secret_name(struct str part)
{
    const char *bracket = part.len ? memrchr(part.at, '(', part.len) : NULL;
    if (!bracket || !strchr("\"'", part.at[part.len - 1]))
        return false;
    return secret_call(part) || secret_name((struct str){bracket + 1, part.len - (size_t)(bracket + 1 - part.at) - 1});
}

static void mask_parts(struct masker *m, struct str word)
{
    if (m->open_quote)
        mask_skip_quoted(m, &word);
    if (mask_url(m, word))
        return;
    for (size_t i = 0; i < word.len;) {
        size_t len = 0;
        while (i + len < word.len && !strchr("?&;,", word.at[i + len]))
            len++;
        struct str part = {word.at + i, len};
        write_part(m, part);
        i += len;
        if (i == word.len)
            break;
        if (word.at[i] == ',' && calls_with_secret_name(part)) {
            buf_char(m->out, ',');
            struct str rest = {word.at + i + 1, word.len - i - 1};
            if (rest.len)
                mask_secret(m, STR("secret"), rest);
            else
                mask_expect(m, EXPECT_SECRET, STR("secret"));
            return;
        }
        if (!m->open_quote)
            buf_char(m->out, word.at[i]);
        i++;
    }
}

/* ---- URLs ---- */

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

static bool mask_url(struct masker *m, struct str word)
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

/* ---- words of a command line, one after the other ---- */

enum { COMMAND_MAX = 64 * 1024 };

/* For unknown programs, -pX and -p X are secret only if X is not a number, a path or several words. */
static bool may_be_password(struct str value, bool attached)
{
    if (value.len == 0 || secret_is_number(value) || memchr(value.at, '/', value.len) || value.at[0] == '-' ||
        memchr(value.at, ' ', value.len))
        return false;
    if (!attached)
        return true;
    for (size_t i = 0; i < value.len; i++) /* -parallel and -print are options */
        if (!isalpha((unsigned char)value.at[i]))
            return true;
    return false;
}

static void write_meant(struct masker *m, enum expectation means, struct str value)
{
    if (means == EXPECT_USER)
        mask_user(m, value);
    else if (means == EXPECT_COOKIE && !memchr(value.at, '=', value.len)) /* a file name */
        mask_parts(m, value);
    else
        mask_secret(m, STR("password"), value);
}

static void expect_behind(struct masker *m, const struct program_option *o)
{
    mask_expect(m, o->means, STR("password"));
    m->skip = o->skip;
    m->left = o->count;
}

/* `in_script`: the word is part of a command line inside one argument, where only options of known programs count. */
static bool write_program_option(struct masker *m, struct str word, struct str next, bool in_script)
{
    struct str value;
    const struct program_option *o = program_option_find(m->program, word, m->words, m->word_count, &value);
    if (!o || (in_script && !o->programs[0]))
        return false;
    bool known = o->programs[0];
    if (value.len == 0) {
        bool script = str_is(word, "-c") && memchr(next.at ? next.at : "", ' ', next.len); /* a shell's or interpreter's */
        if (strchr(o->form, 'a') && (known || (o->means == EXPECT_USER && !script) || may_be_password(next, false)))
            expect_behind(m, o);
        buf_str(m->out, word);
        return true;
    }
    if (!o->form[0] || !(known || (may_be_password(value, true) && !memchr(value.at, '=', value.len))))
        return false;
    buf_add(m->out, word.at, word.len - value.len);
    write_meant(m, o->means, value);
    return true;
}

/* Options without "=": the next word is their value. */
static bool write_long_option(struct masker *m, struct str word)
{
    if (word.len < 3 || word.at[0] != '-' || memchr(word.at, '=', word.len))
        return false;
    if (mask_is_user_option(word))
        mask_expect(m, EXPECT_USER, word);
    else if (secret_name(word))
        mask_expect(m, EXPECT_SECRET, word);
    else if (secret_identifier_name(word))
        mask_expect(m, EXPECT_IDENTIFIER, word);
    else
        return false;
    buf_str(m->out, word);
    return true;
}

/* A positional secret: skip the words before it; several may follow. */
static bool write_positional(struct masker *m, struct str word)
{
    if (word.at[0] == '-' && word.len > 1)
        return false;
    if (m->skip) {
        m->skip--;
        return false;
    }
    enum expectation what = m->expect;
    if (--m->left == 0)
        m->expect = EXPECT_NOTHING;
    write_meant(m, what, word);
    return true;
}

/* NAME=SECRET, whatever the name. */
static bool write_assignment(struct masker *m, struct str word)
{
    const char *equal = memchr(word.at, '=', word.len);
    if (!equal || word.at[0] == '-')
        return false;
    size_t front = (size_t)(equal + 1 - word.at);
    buf_add(m->out, word.at, front);
    mask_secret(m, STR("password"), (struct str){word.at + front, word.len - front});
    return true;
}

/* The link between a name and its secret in a script: password = SECRET, PASSWORD 'SECRET', IDENTIFIED BY 'SECRET'. */
static bool write_linked(struct masker *m, enum expectation what, struct str word)
{
    bool link = what == EXPECT_BY ? str_is_any_case(word, "by") : str_is(word, "=") || str_is(word, ":") || str_is(word, ":=");
    if (link) {
        buf_str(m->out, word);
        m->expect = EXPECT_SECRET;
        return true;
    }
    if (what == EXPECT_EQUAL && word.len > 1 && strchr("'\"", word.at[0])) {
        mask_secret(m, str_from(m->name), word);
        return true;
    }
    return false;
}

/* Returns whether the word matched the expectation. */
static bool write_expected(struct masker *m, struct str word)
{
    enum expectation what = m->expect;
    if (what == EXPECT_NOTHING)
        return false;
    if (what == EXPECT_ALL) {
        buf_text(m->out, MASK);
        return true;
    }
    if (what == EXPECT_VALUES)
        return write_assignment(m, word);
    if (m->left)
        return write_positional(m, word);
    m->expect = EXPECT_NOTHING;
    if (what == EXPECT_EQUAL || what == EXPECT_BY)
        return write_linked(m, what, word);
    if (str_starts(word, "--") && what != EXPECT_SCHEME)
        return false; /* the option has no value */
    switch (what) {
    case EXPECT_SECRET: mask_secret(m, str_from(m->name), word); return true;
    case EXPECT_USER:
    case EXPECT_COOKIE: write_meant(m, what, word); return true;
    case EXPECT_IDENTIFIER: mask_by_looks(m, word, true); return true;
    case EXPECT_SCHEME: {
        if (mask_is_scheme(word)) {
            buf_str(m->out, word);
            m->expect = EXPECT_ALL;
        } else {
            buf_text(m->out, MASK);
        }
        return true;
    }
    default: return false;
    }
}

static struct str base_name(struct str path)
{
    const char *slash = path.len ? memrchr(path.at, '/', path.len) : NULL;
    size_t directory = slash ? (size_t)(slash + 1 - path.at) : 0;
    return (struct str){path.at + directory, path.len - directory};
}

static void begin_program(struct masker *m, struct str word)
{
    struct str nothing;
    m->program = base_name(word);
    m->word_count = 0;
    const struct program_option *o = program_option_find(m->program, STR(""), NULL, 0, &nothing);
    if (o)
        expect_behind(m, o);
    else if (m->left || m->expect == EXPECT_VALUES) /* left over from the program before */
        mask_expect(m, EXPECT_NOTHING, STR(""));
}

/* sudo, env and the like: the real program follows. */
static bool is_in_front(struct str word)
{
    static const char *const in_front[] = {"sudo", "exec", "env",     "nohup",  "time",   "nice",   "then",    "do",
                                           "else", "doas", "runuser", "setsid", "stdbuf", "ionice", "timeout", "!"};
    return NAME_IN(in_front, base_name(word));
}

/* sh -c "mysql -pSECRET": a script runs programs of its own. True: this word is one. */
static bool note_program(struct masker *m, bool *at_command, struct str word)
{
    static const char *const between[] = {"&&", "||", "|", "&", ";"};
    if (NAME_IN(between, word)) {
        *at_command = true;
        return false;
    }
    bool shell = str_ends(m->program, "sh") || str_is(m->program, "su"); /* sh -c "mysql -pSECRET" inside another script */
    if ((shell && str_is(word, "-c")) || str_is(word, "--"))
        *at_command = true;
    bool skipped = memchr(word.at, '=', word.len) || word.at[0] == '-' || is_in_front(word) || secret_is_number(word);
    bool begins = *at_command && !skipped && m->expect == EXPECT_NOTHING;
    if (begins) {
        struct str name = word;
        while (name.len && strchr("\"'(`$", name.at[0]))
            name = (struct str){name.at + 1, name.len - 1};
        begin_program(m, name);
        *at_command = false;
    }
    if (word.len && word.at[word.len - 1] == ';')
        *at_command = true;
    return begins;
}

/* In a script, a word may announce the secret: Bearer SECRET, IDENTIFIED BY 'SECRET', password = SECRET. */
static void note_announcement(struct masker *m, struct str word)
{
    size_t cut;
    struct str name = mask_name_of(word, &cut);
    if (m->expect != EXPECT_NOTHING)
        return;
    if (str_is_any_case(word, "bearer"))
        m->expect = EXPECT_SECRET;
    else if (str_is_any_case(word, "identified"))
        m->expect = EXPECT_BY;
    else if (cut == word.len && word.at[0] != '-' && secret_name(name))
        mask_expect(m, EXPECT_EQUAL, name);
}

static void write_word(struct masker *m, struct str word, struct str next, bool in_script)
{
    if (m->open_quote) {
        mask_skip_quoted(m, &word);
        if (m->open_quote || word.len == 0)
            return;
    } else if (write_expected(m, word) || write_program_option(m, word, next, in_script) || write_long_option(m, word)) {
        return;
    }
    mask_parts(m, word);
    if (in_script)
        note_announcement(m, word);
}

static void remember_word(struct masker *m, struct str word)
{
    if (word.at[0] != '-' && m->word_count < ARRAY_LEN(m->words))
        m->words[m->word_count++] = word;
}

/* echo SECRET | sudo -S: a script's program that reads a secret from stdin. */
static bool reads_secret(struct str script)
{
    static const char *const readers[] = {"sudo -S",      "-stdin",     "--stdin",       "chpasswd",      "kinit",
                                          "--with-token", "cryptsetup", "passphrase-fd", "vault login -", "pass insert"};
    for (size_t i = 0; i < ARRAY_LEN(readers); i++)
        if (str_contains(script, readers[i]))
            return true;
    return false;
}

static bool is_piped_secret(const struct masker *m, struct str word, bool is_program)
{
    bool printer = str_is(m->program, "echo") || str_is(m->program, "printf");
    return m->piped_secret && printer && !is_program && word.at[0] != '-' && !strchr("|;&", word.at[0]);
}

static void write_script_word(struct masker *m, struct str word, struct str next, bool *at_command)
{
    bool is_program = note_program(m, at_command, word);
    if (is_piped_secret(m, word, is_program)) {
        buf_text(m->out, MASK);
    } else if (is_program && !m->open_quote) {
        mask_parts(m, word);
        note_announcement(m, word);
    } else {
        write_word(m, word, next, true);
        remember_word(m, word);
    }
    if (m->piped_secret && str_is(word, "<<<"))
        mask_expect(m, EXPECT_SECRET, STR("password"));
}

static bool has_space(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (isspace((unsigned char)s.at[i]))
            return true;
    return false;
}

/* An argument with spaces: a script, a document, a sentence. */
static void write_script(struct masker *m, struct str arg, struct str next)
{
    struct str program = m->program;
    bool at_command = true;
    m->piped_secret = reads_secret(arg);
    while (arg.len) {
        size_t len = 0;
        while (len < arg.len && !isspace((unsigned char)arg.at[len]))
            len++;
        if (len)
            write_script_word(m, (struct str){arg.at, len}, next, &at_command);
        if (len < arg.len && !m->open_quote)
            buf_char(m->out, m->one_line ? ' ' : arg.at[len]);
        at_command |= len < arg.len && arg.at[len] == '\n';
        len = MIN_OF(len + 1, arg.len);
        arg = (struct str){arg.at + len, arg.len - len};
    }
    m->program = program;
    m->piped_secret = false;
}

static void write_argument(struct masker *m, struct str arg, struct str next)
{
    bool script = has_space(arg);
    bool passphrase = m->expect == EXPECT_SECRET && !m->skip && script && arg.at[0] != '-'; /* an argument with spaces */
    if (passphrase || str_contains(arg, "-----BEGIN")) {
        if (!m->left || --m->left == 0)
            m->expect = EXPECT_NOTHING;
        buf_text(m->out, MASK);
        return;
    }
    if (script) {
        write_script(m, arg, next);
    } else if (arg.len) {
        write_word(m, arg, next, false);
        remember_word(m, arg);
    }
    m->open_quote = '\0';
    if (m->expect == EXPECT_ALL || m->expect == EXPECT_EQUAL || m->expect == EXPECT_BY)
        m->expect = EXPECT_NOTHING;
}

static void write_arguments(struct masker *m, const struct str *args, size_t count, char separator)
{
    bool at_program = true;
    for (size_t i = 0; i < count; i++) {
        struct str next = i + 1 < count ? args[i + 1] : STR("");
        if (i && separator)
            buf_char(m->out, separator);
        /* sudo -u bob mysql -pX, env A=B mysql -pX: the program is not the first word. */
        bool here = at_program && args[i].len && args[i].at[0] != '-' && !memchr(args[i].at, '=', args[i].len) &&
                    !has_space(args[i]) && m->expect == EXPECT_NOTHING && !secret_is_number(args[i]);
        at_program |= i && str_is(args[i], "--"); /* kubectl exec pod -- mysql -pX */
        if (here) {
            at_program = is_in_front(args[i]);
            mask_parts(m, args[i]);
            begin_program(m, args[i]);
        } else {
            write_argument(m, args[i], next);
        }
        if (!separator)
            buf_char(m->out, '\0');
    }
}

void mask_arguments(const struct str *args, size_t count, char *to, size_t size)
{
    AUTO_BUF struct buf out = BUF(COMMAND_MAX);
    struct masker m = {.out = &out, .one_line = true};
    write_arguments(&m, args, count, ' ');
    /* Out of space or memory: the part so far is already masked. */
    str_copy_clean(to, size, buf_view(&out));
}

void mask_each(const struct str *args, size_t count, struct buf *out)
{
    struct masker m = {.out = out};
    write_arguments(&m, args, count, '\0');
}

void mask_value(struct str name, struct str value, struct buf *out)
{
    struct masker m = {.out = out};
    if (secret_name(name))
        buf_text(out, value.len && secret_worth_masking(name, value) ? MASK : "");
    else
        write_argument(&m, value, STR(""));
}

void mask_text(struct str text, struct buf *out)
{
    struct masker m = {.out = out, .may_be_hash = true};
    write_argument(&m, text, STR(""));
}

void mask_here(char *text, size_t size)
{
    /* Every secret follows a mark, has its own prefix or is long; a plain sentence has none of these. */
    if (!strpbrk(text, "=:@") && strlen(text) < 20)
        return;
    AUTO_BUF struct buf out = BUF(COMMAND_MAX);
    mask_text(str_from(text), &out);
    if (out.at && !out.failed)
        str_copy(text, size, buf_view(&out));
}
