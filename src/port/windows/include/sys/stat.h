/* SPDX-License-Identifier: Apache-2.0
 * File attributes, with POSIX's fields.
 */
#pragma once

#include <stdint.h>
#include_next <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define S_IFLNK 0xA000
#define S_IFSOCK 0xC000
#define S_ISLNK(mode) (((mode)&S_IFMT) == S_IFLNK)
#define S_ISSOCK(mode) (((mode)&S_IFMT) == S_IFSOCK)
#define S_ISVTX 01000

#undef st_atime
#undef st_mtime
#undef st_ctime
struct posix_stat {
    uint64_t st_dev, st_ino, st_rdev;
    unsigned st_mode;
    uid_t st_uid;
    gid_t st_gid;
    uint64_t st_nlink;
    int64_t st_size, st_blocks;
    struct timespec st_atim, st_mtim, st_ctim;
};
#define st_atime st_atim.tv_sec
#define st_mtime st_mtim.tv_sec
#define st_ctime st_ctim.tv_sec

#undef stat
#undef fstat
#define stat posix_stat
#define fstat posix_fstat
#define lstat posix_lstat
int posix_stat(const char *path, struct posix_stat *ret);
int posix_lstat(const char *path, struct posix_stat *ret);
int posix_fstat(int fd, struct posix_stat *ret);
int posix_mkdir(const char *path, mode_t mode);
int mkdirat(int dir, const char *name, mode_t mode);
int fstatat(int dir, const char *name, struct posix_stat *ret, int flags);
int fchmod(int fd, mode_t mode);
#define mkdir posix_mkdir
