/* SPDX-License-Identifier: Apache-2.0
 * Sockets that child processes don't inherit: macOS has no flag for it.
 */
#pragma once

#include_next <sys/socket.h>

#define SOCK_CLOEXEC 0x10000000
#define SOCK_NONBLOCK 0x20000000
#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0 /* our sockets set SO_NOSIGPIPE instead */
#endif
int gnu_socket(int family, int type, int protocol);
#define socket(family, type, protocol) gnu_socket(family, type, protocol)
int accept4(int listener, struct sockaddr *from, socklen_t *len, int flags);
