/* SPDX-License-Identifier: Apache-2.0
 * Unix sockets. The kernel knows the peer's user.
 */
#include "base/os/net.h"

#include <assert.h>
#include <sys/un.h>

static_assert(NET_LOCAL_SIZE == sizeof((struct sockaddr_un){0}.sun_path), "a path that fits is one that is kept");

bool net_peer_user(int fd, uid_t *user)
{
    struct ucred who = {.uid = (uid_t)-1};
    socklen_t len = sizeof who;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) < 0)
        return false;
    *user = who.uid;
    return true;
}
