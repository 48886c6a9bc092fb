/* SPDX-License-Identifier: Apache-2.0
 * Sockets, where systems differ. A socket is an int, -1 is none, but not everywhere a descriptor: close it with net_close(). All
 * sockets are non-blocking, not inherited by child processes, and raise no signal. Each call fails with errno: EAGAIN if it would
 * block, EINPROGRESS for a pending connection.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

#ifndef _WIN32
#include "base/os/posix/net_calls.h"
#else
int net_start(void); /* before a library opens its first socket; 0 or -errno */
int net_socket(int family, int type);
int net_accept(int listener, struct sockaddr *from, socklen_t *len); /* from may be NULL */
int net_connect(int fd, const struct sockaddr *to, socklen_t len);
int net_bind(int fd, const struct sockaddr *to, socklen_t len);
int net_listen(int fd, int backlog);
ssize_t net_send(int fd, const void *bytes, size_t len);
ssize_t net_send_parts(int fd, const struct iovec *parts, size_t count);
ssize_t net_recv(int fd, void *to, size_t len);
int net_set_option(int fd, int level, int name, int value);
int net_own_address(int fd); /* exclusive use of an address, without waiting for TIME_WAIT */
int net_failure(int fd);     /* errno of a failed connect; 0: none */
void net_close(int fd);
#endif

/* Connects to a local socket by path; on Windows also "127.0.0.1:PORT". Returns the socket or -errno. */
#ifdef _WIN32
enum { NET_LOCAL_SIZE = 512 };
#else
enum { NET_LOCAL_SIZE = 108 }; /* the kernel's limit */
#endif
int net_local_connect(const char *path);
/* The user at the other end of a local socket. */
bool net_peer_user(int fd, uid_t *user);
int32_t net_peer_pid(int fd); /* and the process; 0: unknown */

static inline void cleanup_net(const int *fd)
{
    if (*fd >= 0)
        net_close(*fd);
}
#define AUTO_NET_CLOSE __attribute__((cleanup(cleanup_net)))
