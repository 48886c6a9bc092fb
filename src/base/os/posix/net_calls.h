/* SPDX-License-Identifier: Apache-2.0
 * The calls of net.h, which map directly to those of the system; macOS gets what it lacks from port/macos/include.
 */
#pragma once

#include <errno.h>
#include <unistd.h>

static inline int net_start(void)
{
    return 0;
}

static inline int net_socket(int family, int type)
{
    return socket(family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

static inline int net_accept(int listener, struct sockaddr *from, socklen_t *len)
{
    return accept4(listener, from, len, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

static inline int net_connect(int fd, const struct sockaddr *to, socklen_t len)
{
    return connect(fd, to, len);
}

static inline int net_bind(int fd, const struct sockaddr *to, socklen_t len)
{
    return bind(fd, to, len);
}

static inline int net_listen(int fd, int backlog)
{
    return listen(fd, backlog);
}

static inline ssize_t net_send(int fd, const void *bytes, size_t len)
{
    return send(fd, bytes, len, MSG_NOSIGNAL);
}

static inline ssize_t net_send_parts(int fd, const struct iovec *parts, size_t count)
{
    const struct msghdr message = {.msg_iov = (struct iovec *)parts, .msg_iovlen = count};
    return sendmsg(fd, &message, MSG_NOSIGNAL);
}

static inline ssize_t net_recv(int fd, void *to, size_t len)
{
    return recv(fd, to, len, 0);
}

static inline int net_set_option(int fd, int level, int name, int value)
{
    return setsockopt(fd, level, name, &value, sizeof value);
}

static inline int net_own_address(int fd)
{
    return net_set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1);
}

static inline int net_failure(int fd)
{
    int error = 0;
    socklen_t size = sizeof error;
    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0 ? errno : error;
}

static inline void net_close(int fd)
{
    close(fd);
}
