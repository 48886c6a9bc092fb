/* SPDX-License-Identifier: Apache-2.0
 * Directories and their entries, with UTF-8 names.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <wchar.h>

#include "port/windows/internal.h"

struct posix_dir {
    HANDLE search; /* INVALID_HANDLE_VALUE: not started */
    WIN32_FIND_DATAW found;
    struct posix_dirent entry;
    wchar_t pattern[WIDE_PATH];
    int fd; /* from dirfd(); -1: not asked yet */
    char path[WIDE_PATH];
};

struct posix_dir *posix_opendir(const char *path)
{
    struct posix_dir *dir = calloc(1, sizeof *dir);
    if (!dir)
        return NULL;
    dir->search = INVALID_HANDLE_VALUE;
    dir->fd = -1;
    snprintf(dir->path, sizeof dir->path, "%s", path);
    bool named = wide_path(path, dir->pattern) && wcslen(dir->pattern) + 3 < WIDE_PATH;
    DWORD attributes = named ? GetFileAttributesW(dir->pattern) : 0;
    if (!named || attributes == INVALID_FILE_ATTRIBUTES || !(attributes & FILE_ATTRIBUTE_DIRECTORY)) {
        if (named)
            fail_with(attributes == INVALID_FILE_ATTRIBUTES ? GetLastError() : ERROR_DIRECTORY);
        free(dir);
        return NULL;
    }
    wcscat(dir->pattern, L"\\*");
    return dir;
}

struct posix_dirent *posix_readdir(struct posix_dir *dir)
{
    bool more;
    if (dir->search == INVALID_HANDLE_VALUE) {
        dir->search = FindFirstFileW(dir->pattern, &dir->found);
        more = dir->search != INVALID_HANDLE_VALUE;
    } else {
        more = FindNextFileW(dir->search, &dir->found);
    }
    if (!more || !utf8_from(dir->found.cFileName, dir->entry.d_name, sizeof dir->entry.d_name))
        return NULL;
    dir->entry.d_type = dir->found.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY ? DT_DIR : DT_REG;
    return &dir->entry;
}

void posix_rewinddir(struct posix_dir *dir)
{
    if (dir->search != INVALID_HANDLE_VALUE)
        FindClose(dir->search);
    dir->search = INVALID_HANDLE_VALUE;
}

int posix_closedir(struct posix_dir *dir)
{
    posix_rewinddir(dir);
    if (dir->fd >= 0)
        close(dir->fd);
    free(dir);
    return 0;
}

int dirfd(struct posix_dir *dir)
{
    if (dir->fd < 0)
        dir->fd = open(dir->path, O_RDONLY | O_DIRECTORY);
    return dir->fd;
}
