/* SPDX-License-Identifier: Apache-2.0
 * Modes of files as Windows has them: lists of who may do what. A file or folder of mode 0600 or 0700 is for who makes it, the
 * system and its administrators, whatever its folder allows; other modes inherit what the folder says.
 */
#pragma once

#include "port/windows/internal.h"

#include <sys/stat.h>

/* An administrator whose rights are in force, or the system itself: what root is elsewhere. */
bool user_is_administrator(void);
/* What getuid() says, and st_uid of files of one's own: 0 for an administrator. */
uid_t user_number(void);
/* For CreateFileW() and CreateDirectoryW(): NULL where the mode asks for nothing. rights_free() takes it back. */
SECURITY_ATTRIBUTES *rights_new(mode_t mode, bool folder);
SECURITY_ATTRIBUTES *rights_exactly(mode_t mode, bool folder); /* whatever the mode, and whatever the folder allows */
void rights_free(SECURITY_ATTRIBUTES *rights);
/* As chmod() does: of 0755 all who have logged in may read. 0, or -1 and errno. */
int rights_set(const wchar_t *path, mode_t mode);
/* Whether only the system and its administrators can change the file, or put another in its place. */
bool rights_are_of_system(const wchar_t *path);
int rights_give_to_system(const wchar_t *path); /* its owner: administrators. 0, or -1 and errno */
/* Owner and mode of a file: who else may read and write it, and of a folder with S_ISVTX, only add to it. */
void rights_read(HANDLE file, struct posix_stat *ret);
