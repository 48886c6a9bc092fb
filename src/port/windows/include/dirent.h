/* SPDX-License-Identifier: Apache-2.0
 * Directories with UTF-8 names.
 */
#pragma once

#include_next <dirent.h>
#include <stdint.h>

/* The system's own uses names in its code page only. */
struct posix_dirent {
    uint64_t d_ino;
    unsigned char d_type;
    char d_name[1024];
};
struct posix_dir;
enum { DT_UNKNOWN, DT_DIR = 4, DT_REG = 8, DT_LNK = 10 };

struct posix_dir *posix_opendir(const char *path);
struct posix_dirent *posix_readdir(struct posix_dir *dir);
int posix_closedir(struct posix_dir *dir);
void posix_rewinddir(struct posix_dir *dir);
#define dirent posix_dirent
#define DIR struct posix_dir
#define opendir posix_opendir
#define readdir posix_readdir
#define closedir posix_closedir
#define rewinddir posix_rewinddir
struct posix_dir *fdopendir(int fd);
int dirfd(struct posix_dir *dir);
