/* SPDX-License-Identifier: Apache-2.0
 * Sockets, as far as systems differ in them. A socket is an int and -1 is none, but it is not everywhere a descriptor: what is made
 * here is closed by net_close(). All of them are non-blocking, are not inherited by programs that are started, and raise no signal.
 * Each call fails with errno set: EAGAIN where it would wait, EINPROGRESS for a connection that is being made.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

#ifdef __linux__
#include "base/os/linux/net_calls.h"
#else
int net_start(void); /* before the first socket of a library; 0, or -errno */
int net_socket(int family, int type);
int net_accept(int listener, struct sockaddr *from, socklen_t *len); /* from NULL: who it is does not matter */
int net_connect(int fd, const struct sockaddr *to, socklen_t len);
int net_bind(int fd, const struct sockaddr *to, socklen_t len);
int net_listen(int fd, int backlog);
ssize_t net_send(int fd, const void *bytes, size_t len);
ssize_t net_send_parts(int fd, const struct iovec *parts, size_t count);
ssize_t net_recv(int fd, void *to, size_t len);
int net_set_option(int fd, int level, int name, int value);
int net_own_address(int fd); /* no other program listens there, but one that ended is not waited for */
int net_failure(int fd);     /* errno of a connection that was being made; 0: none */
void net_close(int fd);
#endif

/* A local place: a path that programs of this host connect to; on Windows also "127.0.0.1:PORT". The socket, or -errno. */
#ifdef _WIN32
enum { NET_LOCAL_SIZE = 512 };
#else
enum { NET_LOCAL_SIZE = 108 }; /* of a path, as the kernel has it */
#endif
int net_local_connect(const char *path);
/* Who is at the other end of one. */
bool net_peer_user(int fd, uid_t *user);

static inline void cleanup_net(const int *fd)
{
    if (*fd >= 0)
        net_close(*fd);
}
#define AUTO_NET_CLOSE __attribute__((cleanup(cleanup_net)))
