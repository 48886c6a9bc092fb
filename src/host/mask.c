/* SPDX-License-Identifier: Apache-2.0
 * Finds secrets in command lines by what they are called (--api-key X, PASSWORD=X), by where they stand (user:X@host) and by how
 * they look (hf_..., JWTs, long random texts). In doubt a text is masked; paths, UUIDs and names of models are not in doubt.
 */
#include "host/mask.h"

#include <ctype.h>

#include "base/buf.h"
#include "base/cleanup.h"

enum { COMMAND_MAX = 64 * 1024 };

static const char MASK[] = "***";

static bool is_token_char(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.' || c == '+' || c == '=' || c == '~';
}

/* What is expected of the next word. */
enum expectation {
    EXPECT_NOTHING,
    EXPECT_SECRET,     /* behind --password */
    EXPECT_USER,       /* behind --user: "name:SECRET" */
    EXPECT_SCHEME,     /* behind "Authorization:": "Bearer" and then the secret */
    EXPECT_ALL,        /* behind "Cookie:": everything up to the end of the argument */
    EXPECT_IDENTIFIER, /* behind --revision: a hash is fine */
    EXPECT_EQUAL,      /* behind `password` in a script: "= SECRET" may follow */
};

struct masker {
    struct buf *out;
    enum expectation expect;
    char name[SECRET_NAME_SIZE]; /* of the option that raised the expectation */
    struct str program;          /* without its directory */
    char open_quote;             /* a secret began behind it and goes on until it comes again; 0: none */
};

static void expect(struct masker *m, enum expectation what, struct str name)
{
    m->expect = what;
    str_copy(m->name, sizeof m->name, name);
}

/* The text with what looks like a secret replaced, piece by piece: quotes, commas and the like stay. */
static void write_by_looks(struct masker *m, struct str s, bool may_be_hash)
{
    for (size_t i = 0; i < s.len;) {
        size_t len = 0;
        while (i + len < s.len && (is_token_char(s.at[i + len]) || s.at[i + len] == '/'))
            len++;
        struct str piece = {s.at + i, len}, before = {s.at, i};
        bool digest =
            str_ends(before, "sha256:") || str_ends(before, "sha512:") || str_ends(before, "sha1:") || str_ends(before, "md5:");
        if (len && secret_looks(piece, may_be_hash || digest))
            buf_text(m->out, MASK);
        else
            buf_str(m->out, piece);
        i += len;
        if (i < s.len)
            buf_char(m->out, s.at[i++]);
    }
}

/* A value behind a secret name; quotes and brackets around it stay. */
static void write_secret(struct masker *m, struct str name, struct str value)
{
    static const char around[] = "\"'{}[](),;";
    size_t front = 0;
    while (front < value.len && strchr(around, value.at[front]))
        front++;
    size_t end = value.len;
    while (end > front && strchr(around, value.at[end - 1]))
        end--;
    struct str core = {value.at + front, end - front};
    buf_add(m->out, value.at, front);
    if (secret_worth_masking(name, core))
        buf_text(m->out, MASK);
    else
        buf_str(m->out, core);
    buf_add(m->out, value.at + end, value.len - end);
    char quote = front ? value.at[front - 1] : '\0';
    if ((quote == '"' || quote == '\'') && !memchr(value.at + front, quote, value.len - front))
        m->open_quote = quote; /* "two words", or with a comma in it */
}

/* Inside a quoted secret: nothing is shown up to its closing quote. What follows that one is left in `s`. */
static void skip_quoted(struct masker *m, struct str *s)
{
    const char *end = s->len ? memchr(s->at, m->open_quote, s->len) : NULL;
    size_t hidden = end ? (size_t)(end - s->at) : s->len;
    if (end)
        m->open_quote = '\0';
    *s = (struct str){s->at + hidden, s->len - hidden};
}

/* URLs whose path is the secret: whoever knows it may post. */
static const char *const webhooks[] = {
    "hooks.slack.com/services/",      "hooks.slack.com/workflows/",    "hooks.slack.com/triggers/",   "discord.com/api/webhooks/",
    "discordapp.com/api/webhooks/",   "webhook.office.com/webhookb2/", "outlook.office.com/webhook/", "api.telegram.org/bot",
    "chat.googleapis.com/v1/spaces/", "hooks.zapier.com/hooks/catch/", "maker.ifttt.com/trigger/"};

static bool write_webhook(struct masker *m, struct str s)
{
    for (size_t i = 0; i < ARRAY_LEN(webhooks); i++) {
        const char *at = memmem(s.at, s.len, webhooks[i], strlen(webhooks[i]));
        if (!at)
            continue;
        size_t shown = (size_t)(at - s.at) + strlen(webhooks[i]), end = shown;
        while (end < s.len && !strchr("\"'<>(){}[],;", s.at[end]))
            end++;
        buf_add(m->out, s.at, shown);
        if (end > shown)
            buf_text(m->out, MASK);
        write_by_looks(m, (struct str){s.at + end, s.len - end}, false);
        return true;
    }
    return false;
}

/* "scheme://user:secret@host/...": false when there is nothing of the kind. */
static bool write_url(struct masker *m, struct str s)
{
    if (write_webhook(m, s))
        return true;
    const char *mark = memmem(s.at, s.len, "://", 3);
    if (!mark)
        return false;
    struct str rest = {mark + 3, s.len - (size_t)(mark + 3 - s.at)};
    size_t authority = 0;
    while (authority < rest.len && !strchr("/?#", rest.at[authority]))
        authority++;
    const char *at = memrchr(rest.at, '@', authority);
    const char *colon = memchr(rest.at, ':', authority);
    if (!at && colon && !secret_is_number((struct str){colon + 1, authority - (size_t)(colon + 1 - rest.at)}))
        at = memrchr(rest.at, '@', rest.len); /* a password with a slash in it, not encoded */
    if (!at)
        return false;
    buf_add(m->out, s.at, (size_t)(mark + 3 - s.at));
    struct str user = {rest.at, colon && colon < at ? (size_t)(colon - rest.at) : (size_t)(at - rest.at)};
    write_by_looks(m, user, false);
    if (colon && colon < at) {
        buf_char(m->out, ':');
        buf_text(m->out, MASK);
    }
    struct str host = {at, rest.len - (size_t)(at - rest.at)};
    write_by_looks(m, host, true);
    return true;
}

/* Of an Authorization header: what kind of secret follows. */
static bool is_scheme(struct str word)
{
    static const char *const schemes[] = {"bearer", "basic", "token", "digest", "apikey", "key"};
    for (size_t i = 0; i < ARRAY_LEN(schemes); i++)
        if (str_is_any_case(word, schemes[i]))
            return true;
    return false;
}

/* The name in front of the first '=' or ':', without what scripts put around names: {"password":, environ['TOKEN']=. */
static struct str name_of(struct str s, size_t *ret_cut)
{
    size_t cut = 0;
    while (cut < s.len && s.at[cut] != '=' && s.at[cut] != ':')
        cut++;
    *ret_cut = cut;
    struct str name = {s.at, cut};
    while (name.len && strchr("\"'])", name.at[name.len - 1]))
        name.len--;
    return name;
}

static void write_named_secret(struct masker *m, struct str name, char sign, struct str value)
{
    char room[SECRET_NAME_SIZE];
    struct str normal = secret_normal_name(name, room);
    bool header = sign == ':' && (str_is(normal, "authorization") || str_ends(normal, "-authorization"));
    if (value.len == 0 && sign == ':') {
        expect(m, header ? EXPECT_SCHEME : str_contains(normal, "cookie") ? EXPECT_ALL : EXPECT_SECRET, name);
    } else if (header && is_scheme(value)) {
        buf_str(m->out, value);
        expect(m, EXPECT_ALL, name);
    } else {
        write_secret(m, name, value);
    }
}

/* One part of a word between ? & ; and the like: "name=value", "name:value" or anything. */
static void write_part(struct masker *m, struct str s)
{
    if (m->open_quote)
        skip_quoted(m, &s);
    if (str_starts(s, "-H") && s.len > 2) { /* curl's header, attached */
        buf_add(m->out, s.at, 2);
        s = (struct str){s.at + 2, s.len - 2};
    }
    size_t cut, inner;
    struct str name = name_of(s, &cut);
    if (cut == s.len) {
        write_by_looks(m, s, false);
        return;
    }
    struct str value = {s.at + cut + 1, s.len - cut - 1};
    if (secret_name(name)) {
        buf_add(m->out, s.at, cut + 1);
        write_named_secret(m, name, s.at[cut], value);
        return;
    }
    struct str nested = name_of(value, &inner);
    /* --header=Authorization: ..., --config={"password":...}, {"db":{"password":...}} */
    bool holds_pairs = value.len && inner < value.len && (strchr("{[\"'", value.at[0]) || secret_name(nested));
    bool padding = value.len == 0 || str_is(value, "="); /* the end of a base64 text */
    if (holds_pairs) {
        write_by_looks(m, (struct str){s.at, cut}, true);
        buf_char(m->out, s.at[cut]);
        write_part(m, value);
    } else if (s.at[cut] == '=' && !padding) {
        write_by_looks(m, (struct str){s.at, cut}, true);
        buf_char(m->out, '=');
        if (memchr(value.at, '=', value.len) && !secret_is_random(value, true))
            write_part(m, value); /* -e NAME=VALUE, --env=NAME=VALUE */
        else
            write_by_looks(m, value, secret_identifier_name(name));
    } else {
        write_by_looks(m, s, false);
    }
}

/* putenv("TOKEN", : the next argument of the call is the secret. */
static bool calls_with_secret_name(struct str part)
{
    struct str name = part;
    const char *bracket = part.len ? memrchr(part.at, '(', part.len) : NULL;
    if (!bracket || !strchr("\"'", part.at[part.len - 1]))
        return false;
    name = (struct str){bracket + 1, part.len - (size_t)(bracket + 1 - part.at) - 1};
    return secret_name(name);
}

static void write_parts(struct masker *m, struct str word)
{
    if (m->open_quote)
        skip_quoted(m, &word);
    if (write_url(m, word))
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
                write_secret(m, STR("secret"), rest);
            else
                expect(m, EXPECT_SECRET, STR("secret"));
            return;
        }
        if (!m->open_quote)
            buf_char(m->out, word.at[i]);
        i++;
    }
}

/* "name:secret" of curl -u; numbers are those of docker --user 1000:1000. */
static void write_user(struct masker *m, struct str word)
{
    const char *colon = memchr(word.at, ':', word.len);
    if (!colon || secret_is_number(word)) {
        write_parts(m, word);
        return;
    }
    buf_add(m->out, word.at, (size_t)(colon + 1 - word.at));
    buf_text(m->out, MASK);
}

/* Short options mean what the program wants: -p is a password for mysql, a port for ssh, a prompt for llama-cli. */
static const struct {
    const char *program; /* beginning of its name; "" any */
    char option;
    bool attached, apart; /* "-pX", "-p X" */
    enum expectation means;
} short_options[] = {{"mysql", 'p', true, false, EXPECT_SECRET},    {"mariadb", 'p', true, false, EXPECT_SECRET},
                     {"sshpass", 'p', true, true, EXPECT_SECRET},   {"redis-cli", 'a', true, true, EXPECT_SECRET},
                     {"ldap", 'w', true, true, EXPECT_SECRET},      {"mosquitto", 'P', true, true, EXPECT_SECRET},
                     {"mongo", 'p', true, true, EXPECT_SECRET},     {"sqlcmd", 'P', true, true, EXPECT_SECRET},
                     {"smbclient", 'U', true, true, EXPECT_USER},   {"curl", 'u', true, true, EXPECT_USER},
                     {"curl", 'U', true, true, EXPECT_USER},        {"openssl", 'k', true, true, EXPECT_SECRET},
                     {"zip", 'P', true, true, EXPECT_SECRET},       {"unzip", 'P', true, true, EXPECT_SECRET},
                     {"7z", 'p', true, false, EXPECT_SECRET},       {"mkdir", 'p', false, false, EXPECT_NOTHING},
                     {"llama", 'p', false, false, EXPECT_NOTHING},  {"ssh", 'p', false, false, EXPECT_NOTHING},
                     {"docker", 'p', false, false, EXPECT_NOTHING}, {"podman", 'p', false, false, EXPECT_NOTHING},
                     {"", 'u', false, true, EXPECT_USER},           {"", 'p', true, true, EXPECT_SECRET}};

/* Outside the programs we know, -pX and -p X hide something only if X is neither a number, a path nor a word of several. */
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

/* `in_script`: a word of a whole command line in one argument, where only programs that we know are trusted to mean it. */
static bool write_short_option(struct masker *m, struct str word, struct str next, bool in_script)
{
    if (word.len < 2 || word.at[0] != '-' || word.at[1] == '-')
        return false;
    for (size_t i = 0; i < ARRAY_LEN(short_options); i++) {
        if (word.at[1] != short_options[i].option || !str_starts(m->program, short_options[i].program))
            continue;
        bool known = short_options[i].program[0];
        if (in_script && !known)
            return false;
        struct str value = {word.at + 2, word.len - 2};
        if (value.len == 0) {
            if (short_options[i].apart && (known || short_options[i].means == EXPECT_USER || may_be_password(next, false)))
                expect(m, short_options[i].means, STR("password"));
            buf_str(m->out, word);
            return true;
        }
        if (!short_options[i].attached || memchr(value.at, '=', value.len) || !(known || may_be_password(value, true)))
            return false;
        buf_add(m->out, word.at, 2);
        if (short_options[i].means == EXPECT_USER)
            write_user(m, value);
        else
            buf_text(m->out, MASK);
        return true;
    }
    return false;
}

/* Options without "=": they speak about the next word. */
static bool write_long_option(struct masker *m, struct str word)
{
    if (word.len < 3 || word.at[0] != '-' || memchr(word.at, '=', word.len))
        return false;
    char room[SECRET_NAME_SIZE];
    struct str name = secret_normal_name(word, room);
    if (str_is(name, "user") || str_is(name, "proxy-user") || str_is(name, "auth"))
        expect(m, EXPECT_USER, word);
    else if (secret_name(word))
        expect(m, EXPECT_SECRET, word);
    else if (secret_identifier_name(word))
        expect(m, EXPECT_IDENTIFIER, word);
    else
        return false;
    buf_str(m->out, word);
    return true;
}

/* Returns whether the word was what was expected. */
static bool write_expected(struct masker *m, struct str word)
{
    enum expectation what = m->expect;
    if (what == EXPECT_NOTHING)
        return false;
    if (what == EXPECT_ALL) {
        buf_text(m->out, MASK);
        return true;
    }
    m->expect = EXPECT_NOTHING;
    if (what == EXPECT_EQUAL) {
        if (!str_is(word, "=") && !str_is(word, ":") && !str_is(word, ":="))
            return false;
        buf_str(m->out, word);
        m->expect = EXPECT_SECRET;
        return true;
    }
    if (str_starts(word, "--") && what != EXPECT_SCHEME)
        return false; /* the option had no value */
    switch (what) {
    case EXPECT_SECRET: write_secret(m, str_from(m->name), word); return true;
    case EXPECT_USER: write_user(m, word); return true;
    case EXPECT_IDENTIFIER: write_by_looks(m, word, true); return true;
    case EXPECT_SCHEME: {
        if (is_scheme(word)) {
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

/* sh -c "mysql -pSECRET": the words of a script have programs of their own. */
struct script {
    bool at_command; /* the next word names a program */
};

static void note_program(struct masker *m, struct script *script, struct str word)
{
    static const char *const in_front[] = {"sudo", "exec", "env", "nohup", "time", "nice", "then", "do", "else"};
    static const char *const between[] = {"&&", "||", "|", "&", ";"};
    for (size_t i = 0; i < ARRAY_LEN(between); i++)
        if (str_is(word, between[i])) {
            script->at_command = true;
            return;
        }
    bool skipped = memchr(word.at, '=', word.len) || word.at[0] == '-';
    for (size_t i = 0; i < ARRAY_LEN(in_front); i++)
        skipped |= str_is(word, in_front[i]);
    if (script->at_command && !skipped) {
        while (word.len && strchr("\"'(`$", word.at[0]))
            word = (struct str){word.at + 1, word.len - 1};
        m->program = base_name(word);
        script->at_command = false;
    }
    if (word.len && word.at[word.len - 1] == ';')
        script->at_command = true;
}

static void write_word(struct masker *m, struct str word, struct str next, bool in_script)
{
    if (m->open_quote) {
        skip_quoted(m, &word);
        if (m->open_quote || word.len == 0)
            return;
    } else if (write_expected(m, word) || write_short_option(m, word, next, in_script) || write_long_option(m, word)) {
        return;
    }
    write_parts(m, word);
    if (!in_script || m->expect != EXPECT_NOTHING)
        return;
    size_t cut;
    struct str name = name_of(word, &cut);
    if (str_is_any_case(word, "bearer"))
        m->expect = EXPECT_SECRET;
    else if (cut == word.len && word.at[0] != '-' && secret_name(name))
        expect(m, EXPECT_EQUAL, name);
}

static void write_argument(struct masker *m, struct str arg, struct str next)
{
    bool alone = !memchr(arg.at, ' ', arg.len);
    if (m->expect == EXPECT_SECRET && !alone && arg.at[0] != '-') { /* a passphrase is one argument with blanks */
        m->expect = EXPECT_NOTHING;
        buf_text(m->out, MASK);
        return;
    }
    if (str_contains(arg, "-----BEGIN")) {
        buf_text(m->out, MASK);
        return;
    }
    struct str program = m->program;
    struct script script = {.at_command = true};
    while (arg.len) {
        size_t len = 0;
        while (len < arg.len && !isspace((unsigned char)arg.at[len]))
            len++;
        struct str word = {arg.at, len};
        if (len && !alone)
            note_program(m, &script, word);
        if (len)
            write_word(m, word, next, !alone);
        if (len < arg.len && !m->open_quote)
            buf_char(m->out, ' ');
        len = MIN_OF(len + 1, arg.len);
        arg = (struct str){arg.at + len, arg.len - len};
    }
    m->program = program;
    m->open_quote = '\0';
    if (m->expect == EXPECT_ALL || m->expect == EXPECT_EQUAL)
        m->expect = EXPECT_NOTHING;
}

void mask_arguments(const struct str *args, size_t count, char *to, size_t size)
{
    AUTO_BUF struct buf out = BUF(COMMAND_MAX);
    struct masker m = {.out = &out};
    if (count)
        m.program = base_name(args[0]);
    for (size_t i = 0; i < count; i++) {
        if (i)
            buf_char(&out, ' ');
        write_argument(&m, args[i], i + 1 < count ? args[i + 1] : (struct str){"", 0});
    }
    /* Out of room or memory: what is there was masked already. */
    str_copy_clean(to, size, buf_view(&out));
}
