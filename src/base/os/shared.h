/* SPDX-License-Identifier: Apache-2.0
 * Paths that several users can reach: open first, check through the descriptor, and only then change through it. A path proves
 * nothing: a user who may write the directory can swap in another file or link between two calls.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/error.h"

/* Owned by root or this user; in a user namespace that maps only some users, also files from outside. */
bool shared_owner_trusted(uid_t owner);

/* Opens a directory for reading, following only links of root and this user. -EPERM, naming the owner, if another user made it
 * or its parent. `make`: the mode to create missing directories with, parents included; 0: -ENOENT. Existing ones keep their
 * mode. */
int shared_dir_open(const char *path, mode_t make, struct error *err);
/* The same for a directory that root may have given to a service's user: any owner is fine if only root can have put it there. */
int shared_dir_open_given(const char *path, struct error *err);
/* Creates it if missing; an existing one may have any owner, as a service's state does for root. */
int shared_dir_make(const char *path, mode_t mode, struct error *err);

/* Opens a regular file below an open directory, or -errno: never a link, pipe, device or directory. */
int shared_file_open(int dir, const char *name, int flags, mode_t mode, struct stat *ret);
/* Removes permissions from a file of this user. Keeps this process's locks on it. */
void shared_file_limit(const char *path, mode_t most);

/* Binds a Unix socket whose file has this mode from the start. 0 or -errno. */
int shared_socket_bind(int fd, const char *path, mode_t mode);

/* ---- files marked as in use ---- */

/* Marks an open file as in use, for as long as any process has this descriptor or inherited it. Needs write access to the file. */
int file_hold(int fd);
/* Whether a process does. */
bool file_is_held(int fd);
/* The same for a descriptor that can only read, to be passed on to others, on a file that no one else can open. */
int file_hold_reading(int fd);
bool file_is_held_at_all(int fd);
/* PID of the process that holds a flock() on the file, from the kernel; 0: unknown. */
int32_t file_locker(int fd);
