/* SPDX-License-Identifier: Apache-2.0
 * What more than one user of a host can reach: opened first, looked at through the descriptor, and only then changed through it. A
 * name says nothing: a user who may write the directory can put another file or a link there between two calls.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/error.h"

/* Root's or this user's own; in a container that maps only some users, also files from outside of it. */
bool shared_owner_trusted(uid_t owner);

/* A directory, opened for reading; of links only root's and this user's own are followed. -EPERM, and whose it is: another user
 * made it, or the directory that it is in. `make`: the mode of one that is missing, which is made with those above it; 0: -ENOENT.
 * One that is there keeps its mode. */
int shared_dir_open(const char *path, mode_t make, struct error *err);
/* The same of one that root may have given to the user of a service: any owner is fine where only root can have put it. */
int shared_dir_open_given(const char *path, struct error *err);
/* Makes one where it is missing; one that is there may be anyone's, as the state of a service is for root. */
int shared_dir_make(const char *path, mode_t mode, struct error *err);

/* A plain file below an open directory, or -errno: neither a link nor a pipe, a device or a directory is opened. */
int shared_file_open(int dir, const char *name, int flags, mode_t mode, struct stat *ret);
/* Takes rights from a file of this user's own. Locks of this process on it stay. */
void shared_file_limit(const char *path, mode_t most);

/* Binds a Unix socket whose file has this mode from its first moment on. 0 or -errno. */
int shared_socket_bind(int fd, const char *path, mode_t mode);

/* ---- a file that is open somewhere ---- */

/* Marks an open file, for as long as any process has this descriptor or one inherited from it. Only who may write the file can. */
int file_hold(int fd);
/* Whether one does. */
bool file_is_held(int fd);
/* The process that has flock()ed the file, as the kernel tells it; 0: not known. */
int32_t file_locker(int fd);
