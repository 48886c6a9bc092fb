/* SPDX-License-Identifier: Apache-2.0
 * Sends one datagram per entry: lines of NAME=value.
 */
#include "base/log.h"

#include <ctype.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"

static const char *socket_path = JOURNAL_SOCKET;

void log_journal_socket(const char *path)
{
    socket_path = path ? path : JOURNAL_SOCKET;
}

static void add_value(struct buf *entry, const char *value)
{
    for (const char *c = value; *c; c++)
        buf_char(entry, *c == '\n' || *c == '\r' ? ' ' : *c); /* a newline would start another field */
    buf_char(entry, '\n');
}

static void add_name(struct buf *entry, const char *key)
{
    buf_text(entry, "WHIRR_");
    for (const char *c = key; *c; c++)
        buf_char(entry, isalnum((unsigned char)*c) ? (char)toupper((unsigned char)*c) : '_');
    buf_char(entry, '=');
}

bool log_journal(enum log_level level, const char *text, const char *message, const struct log_field *fields)
{
    static const char priorities[] = {'7', '6', '4', '3'};
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    if (strlen(socket_path) >= sizeof to.sun_path)
        return false;
    memcpy(to.sun_path, socket_path, strlen(socket_path));
    AUTO_BUF struct buf entry = BUF(65536);
    buf_printf(&entry, "PRIORITY=%c\nSYSLOG_IDENTIFIER=whirr\nMESSAGE=", priorities[level]);
    add_value(&entry, text);
    buf_text(&entry, "WHIRR_MESSAGE=");
    add_value(&entry, message);
    for (const struct log_field *f = fields; f->key; f++) {
        add_name(&entry, f->key);
        if (f->text)
            add_value(&entry, f->text);
        else
            buf_printf(&entry, "%lld\n", (long long)f->number);
    }
    AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    return fd >= 0 && !entry.failed &&
           sendto(fd, entry.at, entry.len, MSG_NOSIGNAL | MSG_DONTWAIT, (struct sockaddr *)&to, sizeof to) == (ssize_t)entry.len;
}
