/* SPDX-License-Identifier: Apache-2.0
 * Converts paths and errors between the program (UTF-8, errno) and Windows.
 */
#include "port/windows/internal.h"

#include <errno.h>
#include <string.h>
#include <wchar.h>

bool wide_from(const char *text, wchar_t *to, size_t size)
{
    return MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text, -1, to, (int)size) > 0;
}

bool utf8_from(const wchar_t *wide, char *to, size_t size)
{
    return WideCharToMultiByte(CP_UTF8, 0, wide, -1, to, (int)size, NULL, NULL) > 0;
}

/* Windows lacks these directories, and code that reads them on Linux must find nothing. */
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

/* Gives paths beyond the classic limit the "\\?\" prefix. */
static bool lengthen(wchar_t path[WIDE_PATH])
{
    enum { PLAIN_MOST = 240, PREFIX_MOST = 8 }; /* the limit for directories; files may have twelve more */
    wchar_t whole[WIDE_PATH];
    DWORD len = GetFullPathNameW(path, WIDE_PATH, whole, NULL);
    if (len < PLAIN_MOST || wcsncmp(whole, L"\\\\?\\", 4) == 0 || wcsncmp(whole, L"\\\\.\\", 4) == 0)
        return true;
    if (len >= WIDE_PATH - PREFIX_MOST)
        return false;
    bool server = wcsncmp(whole, L"\\\\", 2) == 0;
    wcscpy(path, server ? L"\\\\?\\UNC\\" : L"\\\\?\\");
    wcscat(path, server ? whole + 2 : whole);
    return true;
}

bool wide_path(const char *path, wchar_t to[WIDE_PATH])
{
    if (strcmp(path, "/dev/null") == 0)
        path = "NUL";
    errno = is_of_linux(path) || !path[0] ? ENOENT : wide_from(path, to, WIDE_PATH) && lengthen(to) ? 0 : ENAMETOOLONG;
    return errno == 0;
}

void path_make_plain(char *path)
{
    bool server = strncmp(path, "\\\\?\\UNC\\", 8) == 0;
    if (server)
        path[6] = '\\';
    if (server || strncmp(path, "\\\\?\\", 4) == 0)
        memmove(path, path + (server ? 6 : 4), strlen(path + (server ? 6 : 4)) + 1);
}

static bool is_slash(char c)
{
    return c == '\\' || c == '/';
}

bool path_next(struct str *rest, struct str *folder)
{
    while (str_cut(rest, ';', folder)) {
        if (folder->len > 1 && folder->at[0] == '"' && folder->at[folder->len - 1] == '"')
            *folder = (struct str){folder->at + 1, folder->len - 2};
        if (folder->len > 2 &&
            (folder->at[1] == ':' ? is_slash(folder->at[2]) : is_slash(folder->at[0]) && is_slash(folder->at[1])))
            return true;
    }
    return false;
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
