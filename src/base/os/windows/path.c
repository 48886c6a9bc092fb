/* SPDX-License-Identifier: Apache-2.0
 * Paths and errors between the program, which knows UTF-8 and errno, and Windows.
 */
#include "base/os/windows/internal.h"

#include <errno.h>
#include <string.h>

bool wide_from(const char *text, wchar_t *to, size_t size)
{
    return MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text, -1, to, (int)size) > 0;
}

bool utf8_from(const wchar_t *wide, char *to, size_t size)
{
    return WideCharToMultiByte(CP_UTF8, 0, wide, -1, to, (int)size, NULL, NULL) > 0;
}

/* Windows has no such folders, and what reads them on Linux must find nothing. */
static bool is_of_linux(const char *path)
{
    static const char *const roots[] = {"/proc", "/sys", "/etc", "/dev", "/run", "/var", "/usr"};
    for (size_t i = 0; i < sizeof roots / sizeof roots[0]; i++) {
        size_t len = strlen(roots[i]);
        if (strncmp(path, roots[i], len) == 0 && (path[len] == '/' || path[len] == '\0'))
            return true;
    }
    return false;
}

bool wide_path(const char *path, wchar_t to[WIDE_PATH])
{
    if (strcmp(path, "/dev/null") == 0)
        path = "NUL";
    errno = is_of_linux(path) || !path[0] ? ENOENT : wide_from(path, to, WIDE_PATH) ? 0 : ENAMETOOLONG;
    return errno == 0;
}

int fail_with(DWORD error)
{
    static const struct {
        DWORD error;
        int code;
    } codes[] = {
        {ERROR_FILE_NOT_FOUND, ENOENT},
        {ERROR_PATH_NOT_FOUND, ENOENT},
        {ERROR_INVALID_NAME, ENOENT},
        {ERROR_BAD_NETPATH, ENOENT},
        {ERROR_ACCESS_DENIED, EACCES},
        {ERROR_SHARING_VIOLATION, EBUSY},
        {ERROR_LOCK_VIOLATION, EWOULDBLOCK},
        {ERROR_FILE_EXISTS, EEXIST},
        {ERROR_ALREADY_EXISTS, EEXIST},
        {ERROR_DIR_NOT_EMPTY, ENOTEMPTY},
        {ERROR_DIRECTORY, ENOTDIR},
        {ERROR_DISK_FULL, ENOSPC},
        {ERROR_HANDLE_DISK_FULL, ENOSPC},
        {ERROR_NOT_ENOUGH_MEMORY, ENOMEM},
        {ERROR_INVALID_HANDLE, EBADF},
        {ERROR_BROKEN_PIPE, EPIPE},
        {ERROR_NO_DATA, EPIPE},
        {ERROR_INVALID_PARAMETER, EINVAL},
        {ERROR_BAD_EXE_FORMAT, ENOEXEC},
        {ERROR_FILENAME_EXCED_RANGE, ENAMETOOLONG},
        {ERROR_PRIVILEGE_NOT_HELD, EPERM},
    };
    errno = EIO;
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++)
        if (codes[i].error == error)
            errno = codes[i].code;
    return -1;
}
