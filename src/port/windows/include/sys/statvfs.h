/* SPDX-License-Identifier: Apache-2.0
 * Free space of a file system.
 */
#pragma once

#include <stdint.h>

struct statvfs {
    uint64_t f_bsize, f_frsize, f_blocks, f_bfree, f_bavail, f_files, f_ffree;
    unsigned long f_flag;
};
enum { ST_RDONLY = 1 };
int statvfs(const char *path, struct statvfs *ret);
