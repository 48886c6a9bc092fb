/* SPDX-License-Identifier: Apache-2.0
 * Addresses from the system's socket headers, without their macros of common words.
 */
#pragma once

#include <winsock2.h>
#include <ws2tcpip.h>

typedef unsigned short in_port_t;
typedef unsigned in_addr_t;
#define SHUT_RD SD_RECEIVE
#define SHUT_WR SD_SEND
#define SHUT_RDWR SD_BOTH
#define MSG_NOSIGNAL 0
#define MSG_DONTWAIT 0
#define SOCK_CLOEXEC 0
#define SOCK_NONBLOCK 0
