/* SPDX-License-Identifier: Apache-2.0
 * Flags of open(). Descriptors are always binary and never inherited.
 */
#pragma once

#include_next <fcntl.h>
#include <sys/types.h>

#define O_CLOEXEC O_NOINHERIT
#define O_NONBLOCK 0
#define O_NOCTTY 0
#define O_NOFOLLOW 0x10000000
#define O_DIRECTORY 0x20000000
#define O_PATH 0
#define AT_FDCWD (-100)
#define AT_SYMLINK_NOFOLLOW 0x100
#define AT_REMOVEDIR 0x200
#define AT_EACCESS 0x200
#define FD_CLOEXEC 1
#define F_GETFD 1
#define F_SETFD 2
#define F_GETFL 3
#define F_SETFL 4

int openat(int dir, const char *path, int flags, ...);
int fcntl(int fd, int command, ...);
