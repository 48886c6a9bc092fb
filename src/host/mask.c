/* SPDX-License-Identifier: Apache-2.0
 * Finds secrets in command lines by what they are called (--api-key X, PASSWORD=X), by where they stand (user:X@host) and by how
 * they look (hf_..., JWTs, long random texts). In doubt a text is masked; paths, UUIDs and names of models are not in doubt.
 */
#include "host/mask.h"

#include <ctype.h>
#include <strings.h>

#include "base/buf.h"
#include "base/cleanup.h"

enum { COMMAND_MAX = 64 * 1024, NAME_MAX_LEN = 64 };

static const char MASK[] = "***";

/* Words that make the name of an option or variable that of a secret: the whole name, or its last words. */
static const char *const secret_names[] = {
    "password",
    "passwd",
    "passphrase",
    "pass",
    "pwd",
    "pw",
    "passcode",
    "pin-code",
    "secret",
    "secrets",
    "token",
    "apikey",
    "api-key",
    "api-keys",
    "api-token",
    "auth-tokens",
    "access-key",
    "access-keys",
    "secret-key",
    "private-key",
    "auth-key",
    "authkey",
    "account-key",
    "license-key",
    "encryption-key",
    "master-key",
    "signing-key",
    "session-key",
    "storage-key",
    "shared-key",
    "service-key",
    "admin-key",
    "wandb-key",
    "hf-key",
    "openai-key",
    "client-secret",
    "secret-access-key",
    "credential",
    "credentials",
    "bearer",
    "jwt",
    "authorization",
    "cookie",
    "set-cookie",
    "auth-header",
    "connection-string",
    "conn-str",
    "sas",
    "gradio-auth",
    "basic-auth",
    "http-auth",
    "requirepass",
    "masterauth",
    "ssh-key",
    "deploy-key",
    "webhook-url",
    "keypass",
    "storepass",
    "userpass",
    "dbpass",
    "mysql-pwd",
    "pgpassword",
    "otp",
    "totp",
    "seed-phrase",
    "mnemonic",
};

/* Words before "token" that make it one of language models, and whole names that only sound secret. */
static const char *const harmless_names[] = {
    "pad-token",   "eos-token",   "bos-token",    "unk-token",   "sep-token",
    "cls-token",   "mask-token",  "image-token",  "audio-token", "video-token",
    "start-token", "stop-token",  "end-token",    "max-token",   "special-token",
    "per-token",   "next-token",  "num-token",    "min-token",   "decoder-start-token",
    "single-pass", "two-pass",    "multi-pass",   "first-pass",  "second-pass",
    "one-pass",    "by-pass",     "forward-pass", "render-pass", "multi-token",
    "draft-token", "think-token",
};

/* Values that are never secrets, whatever the name in front of them. */
static const char *const harmless_values[] = {
    "true", "false", "none", "null", "yes", "no", "auto", "on", "off", "env", "stdin", "prompt", "disabled", "enabled", "***",
};

/* Beginnings of tokens that say what they are, and how long the rest must be at least. */
static const struct {
    const char *prefix;
    size_t rest;
} token_prefixes[] = {
    {"hf_", 16},
    {"api_org_", 16},
    {"sk-", 16},
    {"sk_live_", 10},
    {"sk_test_", 10},
    {"rk_live_", 10},
    {"pk_live_", 10},
    {"ghp_", 16},
    {"gho_", 16},
    {"ghu_", 16},
    {"ghs_", 16},
    {"ghr_", 16},
    {"github_pat_", 16},
    {"glpat-", 12},
    {"gldt-", 12},
    {"glrt-", 12},
    {"xoxb-", 10},
    {"xoxp-", 10},
    {"xoxa-", 10},
    {"xoxs-", 10},
    {"xapp-", 10},
    {"AKIA", 16},
    {"ASIA", 16},
    {"AIza", 30},
    {"ya29.", 16},
    {"npm_", 20},
    {"pypi-", 20},
    {"dop_v1_", 20},
    {"SG.", 20},
    {"r8_", 20},
    {"nvapi-", 20},
    {"gsk_", 20},
    {"dckr_pat_", 16},
    {"tskey-", 10},
    {"lsv2_", 20},
    {"pplx-", 20},
    {"xai-", 20},
    {"tvly-", 16},
    {"shpat_", 20},
    {"wandb_v1_", 16},
    {"hvs.", 16},
    {"AGE-SECRET-KEY-", 10},
    {"EAACEdEose0cBA", 10},
    {"cfut_", 16},
    {"figd_", 16},
    {"secret_", 20},
    {"rpa_", 20},
    {"co-", 30},
};

/* Names in front of a long random text that is an identifier, not a secret. */
static const char *const identifier_names[] = {
    "revision", "commit", "sha",    "sha1",    "sha256", "md5",  "digest", "hash", "checksum", "rev",     "ref",         "tag",
    "uuid",     "id",     "branch", "version", "image",  "etag", "gpu",    "gpus", "device",   "devices", "fingerprint",
};

static bool in_list(struct str s, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (s.len == strlen(list[i]) && strncasecmp(s.at, list[i], s.len) == 0)
            return true;
    return false;
}
#define IN_LIST(s, list) in_list(s, list, ARRAY_LEN(list))

static bool is_token_char(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.' || c == '+' || c == '=' || c == '~';
}

/* "--HF_Token" -> "hf-token", into the caller's room. */
static struct str normal_name(struct str name, char room[NAME_MAX_LEN])
{
    while (name.len && !isalnum((unsigned char)name.at[0]))
        name = (struct str){name.at + 1, name.len - 1};
    size_t len = 0;
    for (size_t i = 0; i < name.len && len < NAME_MAX_LEN; i++) {
        char c = name.at[i];
        /* camelCase, as Java and JSON have it */
        if (isupper((unsigned char)c) && i && islower((unsigned char)name.at[i - 1]) && len < NAME_MAX_LEN - 1)
            room[len++] = '-';
        room[len++] = c == '_' || c == '.' ? '-' : (char)tolower((unsigned char)c);
    }
    return (struct str){room, len};
}

/* True when `name` is one of the list or ends with "-" and one of it. */
static bool ends_in_list(struct str name, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t len = strlen(list[i]);
        if (str_ends(name, list[i]) && (name.len == len || name.at[name.len - len - 1] == '-'))
            return true;
    }
    return false;
}

static bool is_secret_name(struct str given)
{
    char room[NAME_MAX_LEN];
    struct str name = normal_name(given, room);
    /* -DPASSWORD=x and the like */
    if (name.len == 0 || ends_in_list(name, harmless_names, ARRAY_LEN(harmless_names)))
        return false;
    return ends_in_list(name, secret_names, ARRAY_LEN(secret_names));
}

static bool is_identifier_name(struct str given)
{
    char room[NAME_MAX_LEN];
    return ends_in_list(normal_name(given, room), identifier_names, ARRAY_LEN(identifier_names));
}

static bool is_number(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (!isdigit((unsigned char)s.at[i]) && !strchr(".:,/-", s.at[i]))
            return false;
    return s.len > 0;
}

static bool is_path(struct str s)
{
    return s.len && (s.at[0] == '/' || s.at[0] == '~' || str_starts(s, "./") || str_starts(s, "../"));
}

/* Whether the value of a secret name hides something. */
static bool is_worth_masking(struct str name, struct str value)
{
    if (value.len == 0 || IN_LIST(value, harmless_values))
        return false;
    char room[NAME_MAX_LEN];
    struct str normal = normal_name(name, room);
    /* ffmpeg -pass 1; token limits of language models */
    if (is_number(value) && ((str_ends(normal, "pass") && value.len <= 2) || (str_ends(normal, "token") && value.len <= 7)))
        return false;
    /* --ssl-private-key /etc/x.pem names a file */
    return !(is_path(value) && (str_ends(normal, "-key") || str_ends(normal, "credentials") || str_ends(normal, "cookie")));
}

/* --- How secrets look ------------------------------------------------------------------------------------------------------- */

static bool has_known_prefix(struct str s)
{
    for (size_t i = 0; i < ARRAY_LEN(token_prefixes); i++) {
        size_t len = strlen(token_prefixes[i].prefix);
        if (s.len < len + token_prefixes[i].rest || !str_starts(s, token_prefixes[i].prefix))
            continue;
        /* sk-learn-something is a name: keys have digits */
        for (size_t k = len; k < s.len; k++)
            if (isdigit((unsigned char)s.at[k]))
                return true;
    }
    return false;
}

/* header.payload.signature, the first two of them JSON in base64 */
static bool is_jwt(struct str s)
{
    const char *dot = str_starts(s, "eyJ") ? memchr(s.at, '.', s.len) : NULL;
    return dot && s.len >= 30 && str_starts((struct str){dot + 1, s.len - (size_t)(dot + 1 - s.at)}, "eyJ");
}

struct texture {
    size_t upper, lower, digits, hex, longest_word; /* longest run of letters in one case */
};

static struct texture texture_of(struct str s)
{
    struct texture t = {0};
    size_t run = 0;
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.at[i];
        t.upper += isupper(c) != 0;
        t.lower += islower(c) != 0;
        t.digits += isdigit(c) != 0;
        t.hex += isdigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
        bool goes_on = i && isalpha(c) && isalpha((unsigned char)s.at[i - 1]) &&
                       (isupper(c) != 0) == (isupper((unsigned char)s.at[i - 1]) != 0);
        run = goes_on ? run + 1 : isalpha(c) ? 1 : 0;
        t.longest_word = MAX_OF(t.longest_word, run);
    }
    return t;
}

/* Long and without the rhythm of words: letters of both cases and digits in turn, or many hexadecimal digits. */
static bool is_random(struct str run, bool may_be_hash)
{
    struct texture t = texture_of(run);
    if (run.len >= 32 && t.hex == run.len && t.digits && t.digits < run.len)
        return !may_be_hash;
    if (run.len >= 20 && t.upper && t.lower && t.digits)
        return t.longest_word <= MAX_OF((size_t)5, run.len / 6);
    return run.len >= 32 && t.digits >= run.len / 6 && t.digits < run.len && t.longest_word <= 6;
}

static bool is_run_char(char c)
{
    return isalnum((unsigned char)c) || c == '+';
}

/* Whether a random run hides somewhere in the text. */
static bool has_random_run(struct str s, bool may_be_hash)
{
    if (is_path(s))
        return false;
    bool hash = may_be_hash || memchr(s.at, '/', s.len) || str_contains(s, "sha256") || str_contains(s, "sha1");
    for (size_t i = 0; i < s.len;) {
        size_t len = 0;
        while (i + len < s.len && is_run_char(s.at[i + len]))
            len++;
        if (is_random((struct str){s.at + i, len}, hash))
            return true;
        i += len + 1;
    }
    return false;
}

static bool looks_secret(struct str s, bool may_be_hash)
{
    return has_known_prefix(s) || is_jwt(s) || has_random_run(s, may_be_hash);
}

/* --- Writing ------------------------------------------------------------------------------------------------------------------ */

/* What is expected of the next word. */
enum expectation {
    EXPECT_NOTHING,
    EXPECT_SECRET,     /* behind --password */
    EXPECT_USER,       /* behind --user: "name:SECRET" */
    EXPECT_SCHEME,     /* behind "Authorization:": "Bearer" and then the secret */
    EXPECT_ALL,        /* behind "Cookie:": everything up to the end of the argument */
    EXPECT_IDENTIFIER, /* behind --revision: a hash is fine */
};

struct masker {
    struct buf *out;
    enum expectation expect;
    char name[NAME_MAX_LEN]; /* of the option that raised the expectation */
    struct str program;      /* without its folder */
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
        struct str piece = {s.at + i, len};
        if (len && looks_secret(piece, may_be_hash))
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
    if (is_worth_masking(name, core))
        buf_text(m->out, MASK);
    else
        buf_str(m->out, core);
    buf_add(m->out, value.at + end, value.len - end);
}

/* "scheme://user:secret@host/...": false when there is nothing of the kind. */
static bool write_url(struct masker *m, struct str s)
{
    const char *mark = memmem(s.at, s.len, "://", 3);
    if (!mark)
        return false;
    struct str rest = {mark + 3, s.len - (size_t)(mark + 3 - s.at)};
    size_t authority = 0;
    while (authority < rest.len && !strchr("/?#", rest.at[authority]))
        authority++;
    const char *at = memrchr(rest.at, '@', authority);
    const char *colon = memchr(rest.at, ':', authority);
    if (!at && colon && !is_number((struct str){colon + 1, authority - (size_t)(colon + 1 - rest.at)}))
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

/* One part of a word between ? & ; and the like: "name=value", "name:value" or anything. */
static void write_part(struct masker *m, struct str s)
{
    size_t cut = 0;
    while (cut < s.len && s.at[cut] != '=' && s.at[cut] != ':')
        cut++;
    struct str name = {s.at, cut};
    while (name.len && strchr("\"'", name.at[name.len - 1])) /* {"password":"x"} */
        name.len--;
    if (cut < s.len && is_secret_name(name)) {
        buf_add(m->out, s.at, cut + 1);
        struct str value = {s.at + cut + 1, s.len - cut - 1};
        char room[NAME_MAX_LEN];
        bool header = s.at[cut] == ':' && str_is(normal_name(name, room), "authorization");
        if (value.len == 0 && s.at[cut] == ':')
            expect(m, header ? EXPECT_SCHEME : str_contains(normal_name(name, room), "cookie") ? EXPECT_ALL : EXPECT_SECRET, name);
        else
            write_secret(m, name, value);
        return;
    }
    if (cut < s.len && s.at[cut] == '=') {
        struct str value = {s.at + cut + 1, s.len - cut - 1};
        buf_add(m->out, s.at, cut + 1);
        if (value.len && memchr(value.at, '=', value.len) && !is_random(value, true))
            write_part(m, value); /* -e NAME=VALUE, --env=NAME=VALUE */
        else
            write_by_looks(m, value, is_identifier_name(name));
        return;
    }
    write_by_looks(m, s, false);
}

static void write_parts(struct masker *m, struct str word)
{
    if (write_url(m, word))
        return;
    for (size_t i = 0; i < word.len;) {
        size_t len = 0;
        while (i + len < word.len && !strchr("?&;,", word.at[i + len]))
            len++;
        write_part(m, (struct str){word.at + i, len});
        i += len;
        if (i < word.len)
            buf_char(m->out, word.at[i++]);
    }
}

/* "name:secret" of curl -u; numbers are those of docker --user 1000:1000. */
static void write_user(struct masker *m, struct str word)
{
    const char *colon = memchr(word.at, ':', word.len);
    if (!colon || is_number(word)) {
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
} short_options[] = {
    {"mysql", 'p', true, false, EXPECT_SECRET},    {"mariadb", 'p', true, false, EXPECT_SECRET},
    {"sshpass", 'p', true, true, EXPECT_SECRET},   {"redis-cli", 'a', true, true, EXPECT_SECRET},
    {"ldap", 'w', true, true, EXPECT_SECRET},      {"mosquitto", 'P', true, true, EXPECT_SECRET},
    {"mongo", 'p', true, true, EXPECT_SECRET},     {"sqlcmd", 'P', true, true, EXPECT_SECRET},
    {"smbclient", 'U', true, true, EXPECT_USER},   {"curl", 'u', true, true, EXPECT_USER},
    {"curl", 'U', true, true, EXPECT_USER},        {"openssl", 'k', true, true, EXPECT_SECRET},
    {"zip", 'P', true, true, EXPECT_SECRET},       {"unzip", 'P', true, true, EXPECT_SECRET},
    {"7z", 'p', true, false, EXPECT_SECRET},       {"mkdir", 'p', false, false, EXPECT_NOTHING},
    {"llama", 'p', false, false, EXPECT_NOTHING},  {"ssh", 'p', false, false, EXPECT_NOTHING},
    {"docker", 'p', false, false, EXPECT_NOTHING}, {"podman", 'p', false, false, EXPECT_NOTHING},
    {"", 'u', false, true, EXPECT_USER},           {"", 'p', true, true, EXPECT_SECRET},
};

/* Outside the programs we know, -pX and -p X hide something only if X is neither a number, a path nor a word of several. */
static bool may_be_password(struct str value, bool attached)
{
    if (value.len == 0 || is_number(value) || memchr(value.at, '/', value.len) || value.at[0] == '-' ||
        memchr(value.at, ' ', value.len))
        return false;
    if (!attached)
        return true;
    struct texture t = texture_of(value); /* -parallel and -print are options */
    return t.digits || t.upper + t.lower + t.digits < value.len;
}

static bool write_short_option(struct masker *m, struct str word, struct str next)
{
    if (word.len < 2 || word.at[0] != '-' || word.at[1] == '-')
        return false;
    for (size_t i = 0; i < ARRAY_LEN(short_options); i++) {
        if (word.at[1] != short_options[i].option || !str_starts(m->program, short_options[i].program))
            continue;
        bool known = short_options[i].program[0];
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
    char room[NAME_MAX_LEN];
    struct str name = normal_name(word, room);
    if (str_is(name, "user") || str_is(name, "proxy-user") || str_is(name, "auth"))
        expect(m, EXPECT_USER, word);
    else if (is_secret_name(word))
        expect(m, EXPECT_SECRET, word);
    else if (is_identifier_name(word))
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
    if (str_starts(word, "--") && what != EXPECT_SCHEME)
        return false; /* the option had no value */
    switch (what) {
    case EXPECT_SECRET: write_secret(m, str_from(m->name), word); return true;
    case EXPECT_USER: write_user(m, word); return true;
    case EXPECT_IDENTIFIER: write_by_looks(m, word, true); return true;
    case EXPECT_SCHEME: {
        static const char *const schemes[] = {"bearer", "basic", "token", "digest", "apikey", "key"};
        if (IN_LIST(word, schemes)) {
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
    while (arg.len) {
        size_t len = 0;
        while (len < arg.len && !isspace((unsigned char)arg.at[len]))
            len++;
        struct str word = {arg.at, len};
        static const char *const bearer[] = {"bearer"};
        if (len && !write_expected(m, word) && !(alone && write_short_option(m, word, next)) && !write_long_option(m, word)) {
            write_parts(m, word);
            if (!alone && IN_LIST(word, bearer))
                m->expect = EXPECT_SECRET;
        }
        if (len < arg.len)
            buf_char(m->out, ' ');
        len = MIN_OF(len + 1, arg.len);
        arg = (struct str){arg.at + len, arg.len - len};
    }
    if (m->expect == EXPECT_ALL)
        m->expect = EXPECT_NOTHING;
}

void mask_arguments(const struct str *args, size_t count, char *to, size_t size)
{
    AUTO_BUF struct buf out = BUF(COMMAND_MAX);
    struct masker m = {.out = &out};
    if (count) {
        const char *slash = args[0].len ? memrchr(args[0].at, '/', args[0].len) : NULL;
        size_t folder = slash ? (size_t)(slash + 1 - args[0].at) : 0;
        m.program = (struct str){args[0].at + folder, args[0].len - folder};
    }
    for (size_t i = 0; i < count; i++) {
        if (i)
            buf_char(&out, ' ');
        write_argument(&m, args[i], i + 1 < count ? args[i + 1] : (struct str){"", 0});
    }
    /* Out of room or memory: what is there was masked already. */
    str_copy_clean(to, size, buf_view(&out));
}
