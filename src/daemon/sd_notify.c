/* SPDX-License-Identifier: Apache-2.0
 * Sends one datagram per message to $NOTIFY_SOCKET.
 */
#include "daemon/daemon.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"

void sd_notify_send(const char *format, ...)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    if (!path || (path[0] != '/' && path[0] != '@') || strlen(path) >= sizeof to.sun_path)
        return;
    memcpy(to.sun_path, path, strlen(path));
    socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path));
    if (path[0] == '@') /* an abstract address begins with a zero byte */
        to.sun_path[0] = '\0';
    char text[512];
    va_list args;
    va_start(args, format);
    int text_len = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && text_len > 0)
        sendto(fd, text, MIN_OF((size_t)text_len, sizeof text - 1), MSG_NOSIGNAL | MSG_DONTWAIT, (struct sockaddr *)&to, len);
}

void sd_notify_reloading(void)
{
    sd_notify_send("RELOADING=1\nMONOTONIC_USEC=%lld", (long long)(clock_mono(&clock_system).ns / 1000));
}

int64_t sd_notify_watchdog_ms(void)
{
    const char *limit = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
    int64_t usec, ours;
    if (!limit || !str_to_i64(str_from(limit), &usec) || usec <= 0)
        return 0;
    if (pid && str_to_i64(str_from(pid), &ours) && ours != getpid())
        return 0;
    return MAX_OF(usec / 2000, (int64_t)1);
}
