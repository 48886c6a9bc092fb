/* SPDX-License-Identifier: Apache-2.0
 * Names and looks of secrets: tables, and the texture of random text.
 */
#include "base/secret/internal.h"

#include <ctype.h>

#include "base/cleanup.h"

/* clang-format off */
/* Names of options and variables that hold a secret: the whole name, or its last words. */
static const char *const secret_names[] = {
    "pass", "pwd", "pw", "passcode", "pin-code", "secrets", "api-key", "api-keys", "apikeys", "auth-tokens", "access-key",
    "access-keys", "access-key-id", "secret-key", "secret-id", "private-key", "auth-key", "account-key", "license-key",
    "encryption-key", "decryption-key", "master-key", "signing-key", "session-key", "storage-key", "shared-key", "shared-access-key",
    "service-key", "admin-key", "wandb-key", "hf-key", "openai-key", "routing-key", "integration-key", "stream-key", "streamkey",
    "unseal-key", "recovery-key", "preshared-key", "pre-shared-key", "psk", "bearer", "oauth2-bearer", "jwt", "authorization",
    "cookie", "cookies", "set-cookie", "auth-header", "connection-string", "conn-str", "sas", "gradio-auth", "api-auth",
    "basic-auth", "http-auth", "server-auth", "requirepass", "masterauth", "ssh-key", "deploy-key", "webhook", "webhook-url",
    "hook-url", "keypass", "storepass", "userpass", "dbpass", "otp", "totp", "seed-phrase", "mnemonic", "passin", "passout",
    "community", "shared-access-signature", "password-hash", "password-command", "password-cmd", "passcommand", "from-literal",
    "auth-string", "rcon-pass", "smtp-pass", "bindpw", "rootpw", "pat",
};

/* A name whose last word ends like this holds a secret: tlspassword, authtoken, PGPASSWORD. */
static const char *const secret_endings[] = {
    "password", "passwd", "passphrase", "secret", "token", "apikey", "authkey", "credential", "credentials", "accesskey",
    "secretkey", "privatekey", "passwort",
};

/* Words before "token" that refer to language models, and whole names that only sound secret. */
static const char *const harmless_names[] = {
    "pad-token", "eos-token", "bos-token", "unk-token", "sep-token", "cls-token", "mask-token", "image-token",
    "audio-token", "video-token", "start-token", "stop-token", "end-token", "max-token", "special-token", "per-token",
    "next-token", "num-token", "min-token", "decoder-start-token", "single-pass", "two-pass", "multi-pass", "first-pass",
    "second-pass", "one-pass", "by-pass", "forward-pass", "render-pass", "multi-token", "draft-token", "think-token",
    "tiktoken", "first-token", "last-token", "prompt-token", "no-cookie", "no-cookies", "no-password", "use-token",
};

/* URL parameters that hold secrets, under names that are harmless elsewhere. */
static const char *const query_names[] = {
    "key", "sig", "signature", "amz-signature", "amz-credential", "goog-signature", "goog-credential", "code", "auth", "streamid",
    "sid", "session", "sessionid", "k", "hmac", "ticket", "invite", "nonce", "assertion",
};

/* Values that are never secret, whatever their name. */
static const char *const harmless_values[] = {
    "true", "false", "none", "null", "yes", "no", "auto", "on", "off", "env", "stdin", "prompt", "disabled", "enabled",
    "***", "-", "fd:0",
};

/* Prefixes of values that refer to a secret instead of containing it. */
static const char *const harmless_beginnings[] = {
    "file:", "env:", "fd:", "keyring:", "op://", "vault:", "ref+", "<(", "@/", "@-", "@./",
};

/* Prefixes of recognizable tokens, and the minimum length of the rest. */
static const struct {
    const char *prefix;
    size_t rest;
} token_prefixes[] = {
    {"hf_", 16}, {"api_org_", 16}, {"sk-", 16}, {"sk_live_", 10}, {"sk_test_", 10}, {"rk_live_", 10}, {"pk_live_", 10},
    {"whsec_", 16}, {"ghp_", 16}, {"gho_", 16}, {"ghu_", 16}, {"ghs_", 16}, {"ghr_", 16}, {"github_pat_", 16}, {"glpat-", 12},
    {"gldt-", 12}, {"glrt-", 12}, {"glptt-", 12}, {"glsoat-", 12}, {"glcbt-", 12}, {"glsa_", 16}, {"glc_", 16}, {"xoxb-", 10},
    {"xoxp-", 10}, {"xoxa-", 10}, {"xoxs-", 10}, {"xoxr-", 10}, {"xoxe", 10}, {"xapp-", 10}, {"AKIA", 16}, {"ASIA", 16},
    {"AIza", 30}, {"ya29.", 16}, {"GOCSPX-", 16}, {"npm_", 20}, {"pypi-", 20}, {"rubygems_", 20}, {"dop_v1_", 20},
    {"doo_v1_", 20}, {"SG.", 20}, {"r8_", 20}, {"nvapi-", 20}, {"gsk_", 20}, {"dckr_pat_", 16}, {"dckr_oat_", 16},
    {"tskey-", 10}, {"lsv2_", 20}, {"pplx-", 20}, {"xai-", 20}, {"tvly-", 16}, {"shpat_", 20}, {"shpss_", 20}, {"wandb_v1_", 16},
    {"hvs.", 16}, {"hvb.", 16}, {"AGE-SECRET-KEY-", 10}, {"EAACEdEose0cBA", 10}, {"cfut_", 16}, {"figd_", 16}, {"secret_", 20},
    {"rpa_", 20}, {"co-", 30}, {"dapi", 32}, {"dp.pt.", 20}, {"pscale_tkn_", 16}, {"pscale_pw_", 16}, {"sbp_", 20},
    {"sb_secret_", 12}, {"tgp_v1_", 16}, {"fw_", 20}, {"pcsk_", 20}, {"ntn_", 20}, {"lin_api_", 20}, {"NRAK-", 20},
    {"sntrys_", 16}, {"sntryu_", 16}, {"PMAK-", 20}, {"ATATT3", 20}, {"ATBB", 20}, {"CCIPAT_", 16}, {"pul-", 20}, {"whirr_", 20},
    {"tk_", 29}, {"live_", 20}, {"fo1_", 20}, {"fm2_", 20}, {"key-", 32},
};

/* Names of long random values that are identifiers, not secrets. */
static const char *const identifier_names[] = {
    "revision", "commit", "sha", "sha1", "sha256", "md5", "digest", "hash", "checksum", "rev", "ref", "tag", "uuid", "id",
    "branch", "version", "image", "etag", "gpu", "gpus", "device", "devices", "fingerprint", "guid", "job", "run", "trace",
};

/* Directories in URL paths whose files are named by their hash. */
static const char *const hash_directories[] = {
    "commit", "commits", "resolve", "blob", "blobs", "tree", "raw", "snapshots", "archive", "sha256", "sha512", "sha1", "md5",
    "objects", "layers", "manifests", "revision", "revisions", "rev", "cid", "ipfs", "packages", "releases", "builds", "artifacts",
    "download", "files", "jobs", "runs", "traces", "api-server", "cache",
};
/* clang-format on */

static bool in_list(struct str s, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (str_is_any_case(s, list[i]))
            return true;
    return false;
}

/* "--HF_Token" -> "hf-token", "environ['TOKEN" -> "environ--token", in the caller's buffer. */
struct str secret_normal_name(struct str name, char room[SECRET_NAME_SIZE])
{
    while (name.len && !isalnum((unsigned char)name.at[0]))
        name = (struct str){name.at + 1, name.len - 1};
    size_t len = 0;
    for (size_t i = 0; i < name.len && len < SECRET_NAME_SIZE; i++) {
        char c = name.at[i];
        /* camelCase, as in Java and JSON */
        if (isupper((unsigned char)c) && i && islower((unsigned char)name.at[i - 1]) && len < SECRET_NAME_SIZE - 1)
            room[len++] = '-';
        room[len++] = (unsigned char)c < 0x80 && !isalnum((unsigned char)c) ? '-' : (char)tolower((unsigned char)c);
    }
    return (struct str){room, len};
}

/* True if `name` is in the list or ends with "-" and an entry. */
static bool ends_in_list(struct str name, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t len = strlen(list[i]);
        if (str_ends(name, list[i]) && (name.len == len || name.at[name.len - len - 1] == '-'))
            return true;
    }
    return false;
}

/* True if the last word of `name` ends with a secret ending. */
static bool ends_like_secret(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(secret_endings); i++)
        if (str_ends(name, secret_endings[i]))
            return true;
    return false;
}

bool secret_name(struct str given)
{
    char room[SECRET_NAME_SIZE];
    struct str name = secret_normal_name(given, room);
    while (name.len && (isdigit((unsigned char)name.at[name.len - 1]) || name.at[name.len - 1] == '-')) /* TOKEN_2 */
        name.len--;
    if (name.len == 0 || ends_in_list(name, harmless_names, ARRAY_LEN(harmless_names)))
        return false;
    return ends_in_list(name, secret_names, ARRAY_LEN(secret_names)) || ends_like_secret(name);
}

bool secret_query_name(struct str given)
{
    char room[SECRET_NAME_SIZE];
    return secret_name(given) || ends_in_list(secret_normal_name(given, room), query_names, ARRAY_LEN(query_names));
}

bool secret_hash_directory(struct str name)
{
    return in_list(name, hash_directories, ARRAY_LEN(hash_directories));
}

bool secret_identifier_name(struct str given)
{
    char room[SECRET_NAME_SIZE];
    return ends_in_list(secret_normal_name(given, room), identifier_names, ARRAY_LEN(identifier_names));
}

bool secret_is_number(struct str s)
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

bool secret_worth_masking(struct str name, struct str value)
{
    if (value.len == 0 || in_list(value, harmless_values, ARRAY_LEN(harmless_values)))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(harmless_beginnings); i++)
        if (str_starts(value, harmless_beginnings[i]))
            return false;
    char room[SECRET_NAME_SIZE];
    struct str normal = secret_normal_name(name, room);
    /* ffmpeg -pass 1; token limits of language models */
    if (secret_is_number(value) && ((str_ends(normal, "pass") && value.len <= 2) || (str_ends(normal, "token") && value.len <= 7)))
        return false;
    /* --ssl-private-key /etc/x.pem names a file */
    return !(is_path(value) && (str_ends(normal, "-key") || str_ends(normal, "credentials") || str_contains(normal, "cookie")));
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

/* Long and unlike words: mixed letters of both cases and digits, or many hexadecimal digits. */
bool secret_is_random(struct str run, bool may_be_hash)
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

/* Whether the text contains a random run. */
static bool has_random_run(struct str s, bool may_be_hash)
{
    if (is_path(s))
        return false;
    bool hash = may_be_hash || memchr(s.at, '/', s.len) || str_contains(s, "sha256") || str_contains(s, "sha1");
    for (size_t i = 0; i < s.len;) {
        size_t len = 0;
        while (i + len < s.len && is_run_char(s.at[i + len]))
            len++;
        if (secret_is_random((struct str){s.at + i, len}, hash))
            return true;
        i += len + 1;
    }
    return false;
}

bool secret_looks(struct str s, bool may_be_hash)
{
    return has_known_prefix(s) || is_jwt(s) || has_random_run(s, may_be_hash);
}
