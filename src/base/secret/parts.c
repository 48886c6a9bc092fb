/* SPDX-License-Identifier: Apache-2.0
 * Secrets inside one word: name=SECRET, "name":"SECRET", user:SECRET@host, login("SECRET"), and texts that look like one.
 */
#include <ctype.h>

#include "base/cleanup.h"
#include "base/secret/internal.h"

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

void mask_expect(struct masker *m, enum expectation what, struct str name)
{
    m->expect = what;
    m->skip = m->left = 0;
    str_copy(m->name, sizeof m->name, name);
}

void mask_by_looks(struct masker *m, struct str s, bool may_be_hash)
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

void mask_secret(struct masker *m, struct str name, struct str value)
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

void mask_skip_quoted(struct masker *m, struct str *s)
{
    const char *end = s->len ? memchr(s->at, m->open_quote, s->len) : NULL;
    size_t hidden = end ? (size_t)(end - s->at) : s->len;
    if (end)
        m->open_quote = '\0';
    *s = (struct str){s->at + hidden, s->len - hidden};
}

bool mask_is_scheme(struct str word)
{
    static const char *const schemes[] = {"bearer", "basic", "token", "digest",  "apikey",   "key",
                                          "oauth",  "bot",   "ntlm",  "api-key", "negotiate"};
    return in_words(word, schemes, ARRAY_LEN(schemes));
}

struct str mask_name_of(struct str s, size_t *ret_cut)
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

bool mask_is_user_option(struct str word)
{
    static const char *const names[] = {"user", "proxy-user", "auth", "userpwd", "creds"};
    char room[SECRET_NAME_SIZE];
    return in_words(secret_normal_name(word, room), names, ARRAY_LEN(names));
}

void mask_user(struct masker *m, struct str word)
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

void mask_parts(struct masker *m, struct str word)
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
