/* SPDX-License-Identifier: Apache-2.0
 * Unix sockets. The kernel says who is at the other end.
 */
#include "base/os/net.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/un.h>

static_assert(NET_LOCAL_SIZE == sizeof((struct sockaddr_un){0}.sun_path), "a path that fits is one that is kept");

int net_local_connect(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path)
        return -ENAMETOOLONG;
    memcpy(address.sun_path, path, strlen(path));
    int fd = net_socket(AF_UNIX, SOCK_STREAM);
    if (fd < 0)
        return -errno;
    /* EAGAIN: its queue is full. It will not be quicker than doing without it. */
    if (net_connect(fd, (struct sockaddr *)&address, sizeof address) == 0)
        return fd;
    int error = errno;
    net_close(fd);
    return -error;
}

bool net_peer_user(int fd, uid_t *user)
{
    struct ucred who = {.uid = (uid_t)-1};
    socklen_t len = sizeof who;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) < 0)
        return false;
    *user = who.uid;
    return true;
}
