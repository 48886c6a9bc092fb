/* SPDX-License-Identifier: Apache-2.0
 * Parses the address of another host.
 */
#include "ask/hosts.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/os/words.h"
#include "base/str.h"

#define ADDRESS_SYNTAX "NAME[:PORT], https://NAME[:PORT], http://NAME[:PORT], or ssh://[USER@]NAME[:PORT]"

/* Characters of a host or user name. It must not begin with a dash: ssh would take it for an option. */
static bool is_name(struct str text, const char *more)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.at[i], low = (char)(c | 0x20);
        if (!((low >= 'a' && low <= 'z') || (c >= '0' && c <= '9') || (c && strchr(more, c)) || (c == '-' && i)))
            return false;
    }
    return text.len > 0;
}

/* "name", "name:port", "[::1]:port" */
static bool read_name_and_port(struct str rest, struct host_place *p)
{
    struct str_place place;
    if (!str_to_place(rest, &place) || place.host.at[0] == '-' || place.host.len >= sizeof p->address || place.port == 0 ||
        (place.port < 0 && rest.at[rest.len - 1] == ':'))
        return false;
    str_copy(p->address, sizeof p->address, place.host);
    if (place.port > 0)
        p->port = place.port;
    return true;
}

static bool read_ssh(struct str rest, struct host_place *p)
{
    const char *slash = memchr(rest.at, '/', rest.len);
    if (slash) {
        struct str path = {slash, rest.len - (size_t)(slash - rest.at)};
        if (path.len >= sizeof p->socket || memchr(path.at, ':', path.len)) /* ssh uses it as a separator */
            return false;
        if (path.len > 1)
            str_copy(p->socket, sizeof p->socket, path);
        rest.len = (size_t)(slash - rest.at);
    }
    const char *at = memchr(rest.at, '@', rest.len);
    if (at) {
        struct str user = {rest.at, (size_t)(at - rest.at)};
        if (!is_name(user, "._+") || user.len >= sizeof p->user)
            return false;
        str_copy(p->user, sizeof p->user, user);
        rest = (struct str){at + 1, rest.len - user.len - 1};
    }
    return read_name_and_port(rest, p);
}

static bool read_address(const char *text, struct host_place *p)
{
    struct str rest = str_from(text);
    static const struct {
        const char *scheme;
        enum host_transport by;
    } schemes[] = {{"https://", HOST_BY_HTTPS}, {"http://", HOST_BY_HTTP}, {"ssh://", HOST_BY_SSH}};
    bool named = false;
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0] && !named; i++) {
        size_t len = strlen(schemes[i].scheme);
        named = str_starts(rest, schemes[i].scheme);
        p->by = schemes[i].by;
        if (named)
            rest = (struct str){rest.at + len, rest.len - len};
    }
    if (named && p->by == HOST_BY_SSH)
        return read_ssh(rest, p);
    if (named && rest.len && rest.at[rest.len - 1] == '/')
        rest.len--;
    p->port = HOST_PORT;
    if (!read_name_and_port(rest, p))
        return false;
    if (!named)
        p->by = str_is_loopback(str_from(p->address)) ? HOST_BY_HTTP : HOST_BY_HTTPS;
    return true;
}

/* A token is as sensitive as a key: like ssh, refuse a file that others can read. */
static int check_secrecy(const struct config_hosts *h, struct error *err)
{
    const struct config_origin *origin = config_origin_of(&h->entry, "hosts", "token");
    struct stat info;
    if (!origin || origin->kind != CONFIG_FROM_FILE)
        return 0;
    /* The daemon reads the system's file, too: as another user, through its group. */
    bool shared = strcmp(origin->where, CONFIG_SYSTEM_FILE) == 0;
    if (stat(origin->where, &info) < 0 || !(info.st_mode & (shared ? 07 : 077)))
        return 0;
    if (shared)
        return error_set(err, -EPERM, "cannot use the token of [hosts.%s]: others can read %s\nRun: " WORD_SHARE("%s", "whirr"),
                         h->entry.name, origin->where, origin->where, origin->where);
    return error_set(err, -EPERM, "cannot use the token of [hosts.%s]: others can read %s\nRun: " WORD_HIDE("%s"), h->entry.name,
                     origin->where, origin->where);
}

int host_place_read(const char *given, const struct config *config, struct host_place *ret, struct error *err)
{
    struct host_place p = {.token = "", .ca = "", .timeout_ms = 5000};
    const struct config_hosts *table = NULL;
    for (size_t i = 0; config && i < config->hosts_count && !table; i++)
        if (strcmp(config->hosts[i].entry.name, given) == 0 || strcmp(config->hosts[i].address, given) == 0)
            table = &config->hosts[i];
    const char *address = table && table->address[0] ? table->address : given;
    str_copy_clean(p.name, sizeof p.name, str_from(given));
    if (!read_address(address, &p))
        return error_set(err, -EINVAL, "invalid %s '%s'; expected " ADDRESS_SYNTAX,
                         table ? "address of a host" : "value for --host", address);
    p.configured = table != NULL;
    if (table) {
        p.token = table->token;
        p.ca = table->ca;
        p.timeout_ms = table->timeout_ms;
    }
    int rc = p.token[0] ? check_secrecy(table, err) : 0;
    if (rc == 0)
        *ret = p;
    return rc;
}

void host_place_text(const struct host_place *p, char *text, size_t size)
{
    static const char *const schemes[] = {"http", "https", "ssh"};
    bool number = strchr(p->address, ':') != NULL;
    char port[16] = "";
    if (p->port)
        snprintf(port, sizeof port, ":%d", p->port);
    snprintf(text, size, "%s://%s%s%s%s%s%s%s", schemes[p->by], p->user, p->user[0] ? "@" : "", number ? "[" : "", p->address,
             number ? "]" : "", port, p->socket);
}
