/* SPDX-License-Identifier: Apache-2.0
 * POSIX file modes as Windows access control lists. Mode 0600 or 0700 restricts a file or directory to its creator, the system and
 * administrators, whatever its parent allows; other modes inherit the parent's list.
 */
#pragma once

#include "port/windows/internal.h"

#include <sys/stat.h>

/* An elevated administrator or the system itself: the equivalent of root. */
bool user_is_administrator(void);
/* getuid(), and st_uid of the user's own files: 0 for an administrator. */
uid_t user_number(void);
/* For CreateFileW() and CreateDirectoryW(): NULL if the mode restricts nothing. Free with rights_free(). */
SECURITY_ATTRIBUTES *rights_new(mode_t mode, bool folder);
SECURITY_ATTRIBUTES *rights_exactly(mode_t mode, bool folder); /* exactly this mode, whatever the parent allows */
void rights_free(SECURITY_ATTRIBUTES *rights);
/* Like chmod(): 0755 lets all authenticated users read. 0, or -1 with errno. */
int rights_set(const wchar_t *path, mode_t mode);
/* Whether only the system and administrators can change or replace the file. */
bool rights_are_of_system(const wchar_t *path);
int rights_give_to_system(const wchar_t *path); /* makes administrators the owner. 0, or -1 with errno */
/* Owner and mode of a file: whether others can read and write it; S_ISVTX on a directory that others can only add to. */
void rights_read(HANDLE file, struct posix_stat *ret);
