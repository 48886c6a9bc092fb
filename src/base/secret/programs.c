/* SPDX-License-Identifier: Apache-2.0
 * How programs take secrets: the meaning of short options depends on the program (-p is a password for mysql, a port for ssh, a
 * prompt for llama-cli), and some programs take secrets without an option. The first matching row wins.
 */

#include "base/cleanup.h"
#include "base/secret/internal.h"

/* clang-format off */
static const struct program_option options[] = {
    /* databases */
    {"mysqladmin|mariadb-admin", "password", "a", EXPECT_SECRET, NULL, 0, 1},
    {"mysql|mariadb", "-p", "j", EXPECT_SECRET, NULL, 0, 0},
    {"redis-cli|valkey-cli|keydb-cli", "-a", "aj", EXPECT_SECRET, NULL, 0, 0},
    {"redis-cli|valkey-cli|keydb-cli", "auth", "a", EXPECT_SECRET, NULL, 0, 2},
    {"redis-cli|valkey-cli|keydb-cli", "requirepass", "a", EXPECT_SECRET, NULL, 0, 1},
    {"redis-cli|valkey-cli|keydb-cli", "masterauth", "a", EXPECT_SECRET, NULL, 0, 1},
    {"mongo|cqlsh|cypher-shell|rabbitmqadmin|ncftp|couchbase|yt-dlp|youtube-dl|twine", "-p", "aj", EXPECT_SECRET, NULL, 0, 0},
    {"sqlcmd|isql|tsql|bcp$|osql", "-P", "aj", EXPECT_SECRET, NULL, 0, 0},
    {"sqlplus|expdp|impdp|sqlldr|rman$", "", "a", EXPECT_USER, NULL, 0, 1},
    {"rabbitmqctl", "add_user", "a", EXPECT_SECRET, NULL, 1, 1},
    {"rabbitmqctl", "change_password", "a", EXPECT_SECRET, NULL, 1, 1},
    {"ldappasswd", "-s", "aj", EXPECT_SECRET, NULL, 0, 0},
    {"ldappasswd", "-a", "aj", EXPECT_SECRET, NULL, 0, 0},
    {"ldap", "-w", "aj", EXPECT_SECRET, NULL, 0, 0},
    /* the web */
    {"curl", "-u", "aj", EXPECT_USER, NULL, 0, 0},
    {"curl", "-U", "aj", EXPECT_USER, NULL, 0, 0},
    {"curl", "-E", "aj", EXPECT_USER, NULL, 0, 0},
    {"curl", "--cert", "a", EXPECT_USER, NULL, 0, 0},
    {"curl", "-b", "aj", EXPECT_COOKIE, NULL, 0, 0},
    {"curl|wget", "--cookie", "a", EXPECT_COOKIE, NULL, 0, 0},
    {"http$|https$|xh$|xhs$", "-a", "aj", EXPECT_SECRET, NULL, 0, 0},
    {"http$|https$|xh$|xhs$", "--auth", "a", EXPECT_SECRET, NULL, 0, 0},
    {"ab$|wrk$|hey$|siege$", "-A", "aj", EXPECT_USER, NULL, 0, 0},
    {"ab$", "-C", "aj", EXPECT_COOKIE, NULL, 0, 0},
    {"lftp", "-u", "aj", EXPECT_USER, NULL, 0, 0},
    {"htpasswd", "-b", "a", EXPECT_SECRET, NULL, 2, 1},
    {"htpasswd", "-cb", "a", EXPECT_SECRET, NULL, 2, 1},
    {"htpasswd", "-bc", "a", EXPECT_SECRET, NULL, 2, 1},
    {"htpasswd", "-nb", "a", EXPECT_SECRET, NULL, 1, 1},
    {"htpasswd", "-nbB", "a", EXPECT_SECRET, NULL, 1, 1},
    {"htpasswd", "-bnB", "a", EXPECT_SECRET, NULL, 1, 1},
    /* other hosts */
    {"sshpass", "-p", "aj", EXPECT_SECRET, NULL, 0, 0},
    {"smb|rpcclient|net$|wmic|winexe|cifsdd|nmblookup", "-U", "aj", EXPECT_USER, NULL, 0, 0},
    {"impacket|crackmapexec|nxc$|evil-winrm|netexec", "-p", "aj", EXPECT_SECRET, NULL, 0, 0},
    {"xfreerdp|wlfreerdp|sdl-freerdp", "/p:", "j", EXPECT_SECRET, NULL, 0, 0},
    {"xfreerdp|wlfreerdp|sdl-freerdp", "/gp:", "j", EXPECT_SECRET, NULL, 0, 0},
    {"xfreerdp|wlfreerdp|sdl-freerdp", "/pth:", "j", EXPECT_SECRET, NULL, 0, 0},
    {"rdesktop", "-p", "aj", EXPECT_SECRET, NULL, 0, 0},
    {"ipmi", "-P", "aj", EXPECT_SECRET, NULL, 0, 0},
    {"ipmi", "-k", "aj", EXPECT_SECRET, NULL, 0, 0},
    {"ipmi", "-y", "aj", EXPECT_SECRET, NULL, 0, 0},
    {"ipmi", "password", "a", EXPECT_SECRET, "set", 1, 1},
    {"snmp", "-c", "aj", EXPECT_SECRET, NULL, 0, 0},
    {"snmp", "-A", "aj", EXPECT_SECRET, NULL, 0, 0},
    {"snmp", "-X", "aj", EXPECT_SECRET, NULL, 0, 0},
    {"racadm", "-p", "aj", EXPECT_SECRET, NULL, 0, 0},
    {"mosquitto", "-P", "aj", EXPECT_SECRET, NULL, 0, 0},
    {"nmcli", "password", "a", EXPECT_SECRET, NULL, 0, 1},
    {"nmcli", "wifi-sec.psk", "a", EXPECT_SECRET, NULL, 0, 1},
    {"nmcli", "802-11-wireless-security.psk", "a", EXPECT_SECRET, NULL, 0, 1},
    {"wpa_passphrase", "", "a", EXPECT_SECRET, NULL, 1, 1},
    {"iwconfig|iw$", "key", "a", EXPECT_SECRET, NULL, 0, 1},
    {"openconnect", "--form-entry", "a", EXPECT_COOKIE, NULL, 0, 0},
    /* keys and archives */
    {"openssl", "-k", "aj", EXPECT_SECRET, NULL, 0, 0},
    {"openssl", "-K", "aj", EXPECT_SECRET, NULL, 0, 0},
    {"openssl", "passwd", "a", EXPECT_SECRET, NULL, 0, 1},
    {"zip$|unzip|zipcloak|fcrackzip", "-P", "aj", EXPECT_SECRET, NULL, 0, 0},
    {"7z|rar$|unrar", "-p", "j", EXPECT_SECRET, NULL, 0, 0},
    {"rar$|unrar", "-hp", "j", EXPECT_SECRET, NULL, 0, 0},
    {"qpdf", "--encrypt", "a", EXPECT_SECRET, NULL, 0, 2},
    {"pdftk", "input_pw", "a", EXPECT_SECRET, NULL, 0, 1},
    {"pdftk", "user_pw", "a", EXPECT_SECRET, NULL, 0, 1},
    {"pdftk", "owner_pw", "a", EXPECT_SECRET, NULL, 0, 1},
    {"pdftotext|pdfimages|pdfinfo", "-upw", "a", EXPECT_SECRET, NULL, 0, 0},
    {"pdftotext|pdfimages|pdfinfo", "-opw", "a", EXPECT_SECRET, NULL, 0, 0},
    {"ssh-keygen", "-N", "aj", EXPECT_SECRET, NULL, 0, 0},
    {"ssh-keygen", "-P", "aj", EXPECT_SECRET, NULL, 0, 0},
    {"useradd|usermod|groupadd|groupmod", "-p", "aj", EXPECT_SECRET, NULL, 0, 0},
    {"smbpasswd", "-w", "aj", EXPECT_SECRET, NULL, 0, 0},
    {"rclone", "obscure", "a", EXPECT_SECRET, NULL, 0, 1},
    {"rclone", "pass", "a", EXPECT_SECRET, NULL, 0, 1},
    {"rclone", "secret_access_key", "a", EXPECT_SECRET, NULL, 0, 1},
    {"rclone", "access_key_id", "a", EXPECT_SECRET, NULL, 0, 1},
    {"rclone", "client_secret", "a", EXPECT_SECRET, NULL, 0, 1},
    {"rclone", "token", "a", EXPECT_SECRET, NULL, 0, 1},
    /* clouds and services */
    {"aws$", "set", "a", EXPECT_SECRET, "configure", 1, 1},
    {"mc$|mcli", "set", "a", EXPECT_SECRET, "alias", 2, 2},
    {"mc$|mcli", "add", "a", EXPECT_SECRET, "host", 2, 2},
    {"docker|podman|nerdctl|buildah|skopeo|helm|oras|crane|az$|regctl", "-p", "aj", EXPECT_SECRET, "login", 0, 0},
    {"docker|podman|nerdctl|mkdir|llama|ssh|scp|cp$|az$|install$", "-p", "", EXPECT_NOTHING, NULL, 0, 0},
    {"ngrok", "authtoken", "a", EXPECT_SECRET, NULL, 0, 1},
    {"ngrok", "add-authtoken", "a", EXPECT_SECRET, NULL, 0, 1},
    {"ngrok", "add-api-key", "a", EXPECT_SECRET, NULL, 0, 1},
    {"ngrok", "--basic-auth", "a", EXPECT_USER, NULL, 0, 0},
    {"wandb", "login", "a", EXPECT_SECRET, NULL, 0, 1},
    {"vault|bao$", "login", "a", EXPECT_SECRET, NULL, 0, 1},
    {"vault|bao$", "unseal", "a", EXPECT_SECRET, NULL, 0, 1},
    {"vault|bao$", "put", "a", EXPECT_VALUES, "kv", 0, 0},
    {"heroku|dokku", "config:set", "a", EXPECT_VALUES, NULL, 0, 0},
    {"fly$|flyctl", "set", "a", EXPECT_VALUES, "secrets", 0, 0},
    {"fly$|flyctl|doctl", "-t", "aj", EXPECT_SECRET, NULL, 0, 0},
    {"pulumi", "set", "a", EXPECT_SECRET, "config", 1, 1},
    {"poetry", "config", "a", EXPECT_SECRET, NULL, 1, 2},
    {"gh$", "--body", "a", EXPECT_SECRET, "secret", 0, 0},
    {"gh$", "-b", "aj", EXPECT_SECRET, "secret", 0, 0},
    {"xdotool|ydotool|wtype", "type", "a", EXPECT_SECRET, NULL, 0, 9},
    {"send$", "", "a", EXPECT_SECRET, NULL, 0, 1}, /* in expect -c */
    {"gunicorn|hypercorn|celery|git$", "-c", "", EXPECT_NOTHING, NULL, 0, 0}, /* a module or a setting */
    /* any program */
    {"", "-u", "a", EXPECT_USER, NULL, 0, 0},
    {"", "-c", "a", EXPECT_USER, NULL, 0, 0},
    {"", "-p", "aj", EXPECT_SECRET, NULL, 0, 0},
};
/* clang-format on */

static bool names_program(const char *list, struct str program)
{
    struct str rest = str_from(list), name;
    if (!rest.len)
        return true;
    while (str_cut(&rest, '|', &name)) {
        bool whole = name.at[name.len - 1] == '$';
        name.len -= whole;
        if (program.len >= name.len && memcmp(program.at, name.at, name.len) == 0 && (!whole || program.len == name.len))
            return true;
    }
    return false;
}

static bool was_seen(const struct str *words, size_t count, const char *word)
{
    for (size_t i = 0; i < count; i++)
        if (str_is(words[i], word))
            return true;
    return false;
}

/* Options are case-sensitive, words aren't: redis-cli AUTH. */
static bool same_word(struct str word, const char *known, size_t len)
{
    struct str front = {word.at, len};
    return known[0] == '-' || known[0] == '/' ? str_is(front, known) : str_is_any_case(front, known);
}

const struct program_option *program_option_find(struct str program, struct str word, const struct str *before, size_t count,
                                                 struct str *ret_joined)
{
    for (size_t i = 0; i < ARRAY_LEN(options); i++) {
        const struct program_option *o = &options[i];
        size_t len = strlen(o->word);
        bool joined = word.len > len && len > 1 && (!o->form[0] || strchr(o->form, 'j'));
        if (!(word.len == len || joined) || !same_word(word, o->word, len) || !names_program(o->programs, program) ||
            (o->behind && !was_seen(before, count, o->behind)))
            continue;
        *ret_joined = (struct str){word.at + len, word.len - len};
        return o;
    }
    return NULL;
}

const char *program_user_separators(struct str program)
{
    static const struct {
        const char *programs, *separators;
    } others[] = {
        {"smb|rpcclient|net$|wmic|winexe|cifsdd|nmblookup", "%"}, {"lftp", ",:"}, {"sqlplus|expdp|impdp|sqlldr|rman$", "/"}};
    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        if (names_program(others[i].programs, program))
            return others[i].separators;
    return ":";
}
