/* SPDX-License-Identifier: Apache-2.0
 * Lazily loads ntdll, and common helpers: errors, texts, handles.
 */
#include "host/windows/native.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"

enum { QUERY_FIRST = 256 << 10, QUERY_MAX = 64 << 20, TEXT_CHARS = 1024 };

typedef LONG(WINAPI *query_system)(int class, void *to, ULONG size, ULONG *needed);
typedef LONG(WINAPI *query_process)(HANDLE process, int class, void *to, ULONG size, ULONG *needed);

#define STATUS_TOO_SHORT ((LONG)0xC0000004)
#define STATUS_BUFFER_SMALL ((LONG)0xC0000023)
#define STATUS_DENIED ((LONG)0xC0000022)

static void *native_function(const char *name)
{
    HMODULE ntdll = GetModuleHandleW(L"ntdll.dll");
    return ntdll ? (void *)(uintptr_t)GetProcAddress(ntdll, name) : NULL;
}

static int native_status(LONG status)
{
    return status == 0 ? 0 : status == STATUS_DENIED ? -EACCES : -ENOSYS;
}

int native_query(int class, void **ret, size_t *ret_size)
{
    query_system query = (query_system)(uintptr_t)native_function("NtQuerySystemInformation");
    if (!query)
        return -ENOSYS;
    for (ULONG size = QUERY_FIRST; size <= QUERY_MAX; size *= 2) {
        AUTO_FREE void *room = malloc(size);
        ULONG needed = 0;
        if (!room)
            return -ENOMEM;
        LONG status = query(class, room, size, &needed);
        if (status == STATUS_TOO_SHORT || status == STATUS_BUFFER_SMALL)
            continue;
        if (status != 0)
            return native_status(status);
        *ret = TAKE(room);
        *ret_size = MIN_OF(needed, size);
        return 0;
    }
    return -ENOMEM;
}

int native_process_query(HANDLE process, int class, void *to, ULONG size)
{
    query_process query = (query_process)(uintptr_t)native_function("NtQueryInformationProcess");
    ULONG needed = 0;
    return query ? native_status(query(process, class, to, size, &needed)) : -ENOSYS;
}

int native_error(void)
{
    switch (GetLastError()) {
    case ERROR_ACCESS_DENIED:
    case ERROR_PRIVILEGE_NOT_HELD: return -EACCES;
    case ERROR_INVALID_PARAMETER: /* OpenProcess's error for an unused PID */
    case ERROR_NOT_FOUND: return -ESRCH;
    case ERROR_NOT_ENOUGH_MEMORY:
    case ERROR_OUTOFMEMORY: return -ENOMEM;
    case ERROR_CALL_NOT_IMPLEMENTED:
    case ERROR_NOT_SUPPORTED:
    case ERROR_INVALID_FUNCTION: return -ENOSYS;
    case ERROR_FILE_NOT_FOUND:
    case ERROR_PATH_NOT_FOUND: return -ENODEV;
    default: return -EIO;
    }
}

HANDLE native_open(int32_t pid, int *rc)
{
    HANDLE process = pid > 0 ? OpenProcess(PROCESS_QUERY_LIMITED_INFORMATION, FALSE, (DWORD)pid) : NULL;
    *rc = process ? 0 : pid > 0 ? native_error() : -ESRCH;
    return process;
}

void native_text(const wchar_t *text, size_t count, char *to, size_t size)
{
    char room[4 * TEXT_CHARS];
    int len = WideCharToMultiByte(CP_UTF8, 0, text, (int)MIN_OF(count, (size_t)TEXT_CHARS), room, sizeof room, NULL, NULL);
    str_copy_clean(to, size, (struct str){room, len > 0 ? (size_t)len : 0});
}
