/* SPDX-License-Identifier: Apache-2.0
 * Sockets with Linux's semantics (include/sys/socket.h) that raise no SIGPIPE.
 */
#include "base/os/net.h"

#include <errno.h>
#include <unistd.h>

int net_start(void)
{
    return 0;
}

int net_socket(int family, int type)
{
    return socket(family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

int net_accept(int listener, struct sockaddr *from, socklen_t *len)
{
    return accept4(listener, from, len, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

int net_connect(int fd, const struct sockaddr *to, socklen_t len)
{
    return connect(fd, to, len);
}

int net_bind(int fd, const struct sockaddr *to, socklen_t len)
{
    return bind(fd, to, len);
}

int net_listen(int fd, int backlog)
{
    return listen(fd, backlog);
}

ssize_t net_send(int fd, const void *bytes, size_t len)
{
    return send(fd, bytes, len, 0);
}

ssize_t net_send_parts(int fd, const struct iovec *parts, size_t count)
{
    const struct msghdr message = {.msg_iov = (struct iovec *)parts, .msg_iovlen = (int)count};
    return sendmsg(fd, &message, 0);
}

ssize_t net_recv(int fd, void *to, size_t len)
{
    return recv(fd, to, len, 0);
}

int net_set_option(int fd, int level, int name, int value)
{
    return setsockopt(fd, level, name, &value, sizeof value);
}

int net_own_address(int fd)
{
    return net_set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1);
}

int net_failure(int fd)
{
    int error = 0;
    socklen_t size = sizeof error;
    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0 ? errno : error;
}

void net_close(int fd)
{
    close(fd);
}

bool net_peer_user(int fd, uid_t *user)
{
    gid_t group;
    return getpeereid(fd, user, &group) == 0;
}

int32_t net_peer_pid(int fd)
{
    (void)fd;
    return 0;
}
