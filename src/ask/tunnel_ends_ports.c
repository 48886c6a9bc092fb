/* SPDX-License-Identifier: Apache-2.0
 * Loopback ports, for systems where ssh has no Unix sockets. They leave no files behind, but other users of this host can reach
 * them while ssh runs.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "ask/tunnel.h"
#include "base/clock.h"
#include "base/env.h"
#include "base/os/net.h"
#include "base/str.h"
#include "host/listens.h"

/* A port that is free now; ssh complains if another program takes it first. */
static int free_port(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof at;
    AUTO_NET_CLOSE int fd = net_socket(AF_INET, SOCK_STREAM);
    bool good = fd >= 0 && net_bind(fd, (struct sockaddr *)&at, len) == 0 && getsockname(fd, (struct sockaddr *)&at, &len) == 0;
    return good ? ntohs(at.sin_port) : -EADDRNOTAVAIL;
}

int tunnel_ends_make(struct tunnel_ends *e, struct error *err)
{
    for (int i = 0; i < e->count; i++) {
        int port = free_port();
        if (port < 0)
            return error_set(err, port, "no port of this host is free: %s", strerror(-port));
        snprintf(e->place[i], sizeof e->place[i], "127.0.0.1:%d", port);
    }
    return 0;
}

/* Checks that ssh listens, not a program that took the port first; any listener counts where the system does not name the owner.
 * Does not try to connect: Windows takes two seconds to refuse. */
bool tunnel_ends_there(const struct tunnel_ends *e, pid_t ssh)
{
    const char *place = e->place[e->count - 1];
    struct env env;
    struct listening found;
    struct listeners all = {0};
    int64_t port = 0;
    env_init_system(&env);
    str_to_i64(str_from(strchr(place, ':') + 1), &port);
    if (process_listens(&env, (int32_t)ssh, (uint16_t)port, &found))
        return true;
    process_is_server(&env, (int32_t)ssh, clock_mono(&clock_system), &all);
    AUTO_NET_CLOSE int fd = all.network[0] ? -1 : net_local_connect(place);
    return fd >= 0;
}

void tunnel_ends_remove(struct tunnel_ends *e)
{
    (void)e;
}

void tunnel_abandon(void)
{
}
