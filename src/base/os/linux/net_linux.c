/* SPDX-License-Identifier: Apache-2.0
 * Unix sockets. The kernel knows the peer's user.
 */
#include "base/os/net.h"

#include <assert.h>
#include <sys/un.h>

static_assert(NET_LOCAL_SIZE == sizeof((struct sockaddr_un){0}.sun_path), "a path that fits is one that is kept");

static bool peer_of(int fd, struct ucred *ret)
{
    socklen_t len = sizeof *ret;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, ret, &len) == 0;
}

bool net_peer_user(int fd, uid_t *user)
{
    struct ucred who;
    bool known = peer_of(fd, &who);
    *user = known ? who.uid : *user;
    return known;
}

int32_t net_peer_pid(int fd)
{
    struct ucred who;
    return peer_of(fd, &who) ? who.pid : 0;
}
