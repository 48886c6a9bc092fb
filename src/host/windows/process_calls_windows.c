/* SPDX-License-Identifier: Apache-2.0
 * Processes of Windows: by handle or, if that is denied and for lists, from the system's list of all, which needs no privileges.
 * Bytes read include files, pipes and devices: they aren't reported as disk I/O.
 */
#include "host/windows/native.h"

#include <errno.h>
#include <psapi.h>
#include <stdlib.h>
#include <unistd.h>
#include <wchar.h>

#include "base/cleanup.h"
#include "host/windows/facts_windows.h"

enum { NS_PER_FILETIME = 100, PATH_CHARS = 1024, COMMAND_CHARS = 32768, SYSTEM_PID = 4 };

static void close_handle(HANDLE *h)
{
    if (*h)
        CloseHandle(*h);
}
#define AUTO_HANDLE CLEANUP(close_handle)

static int64_t filetime_of(FILETIME t)
{
    return (int64_t)((uint64_t)t.dwHighDateTime << 32 | t.dwLowDateTime);
}

/* ---- the process list ---- */

static const struct native_process *next_of(const struct native_process *p, const char *end)
{
    const struct native_process *next = p->next_offset ? (const void *)((const char *)p + p->next_offset) : NULL;
    return next && (const char *)(next + 1) <= end ? next : NULL;
}

static int list_all(void **room, const struct native_process **first, const char **end)
{
    size_t size = 0;
    int rc = native_query(NATIVE_PROCESSES, room, &size);
    *first = rc == 0 && size >= sizeof **first ? *room : NULL;
    *end = rc == 0 ? (const char *)*room + size : NULL;
    return rc;
}

static void take(const struct native_process *p, struct calls_process *ret)
{
    char name[PROCESS_NAME_SIZE * 4] = "";
    *ret = (struct calls_process){
        .pid = (int32_t)(intptr_t)p->pid,
        .parent = (int32_t)(intptr_t)p->parent,
        .start_key = windows_start_key(p->create_time.QuadPart),
        .started_at = windows_wall(p->create_time.QuadPart),
        .cpu_ns = (p->user_time.QuadPart + p->kernel_time.QuadPart) * NS_PER_FILETIME,
        .system_ns = p->kernel_time.QuadPart * NS_PER_FILETIME,
        .resident_bytes = (int64_t)p->working_set,
        .read_bytes = -1,
        .written_bytes = -1,
    };
    if (p->name.Buffer)
        native_text(p->name.Buffer, p->name.Length / sizeof(wchar_t), name, sizeof name);
    str_copy(ret->name, sizeof ret->name, windows_program_name(str_from(name[0] ? name : ret->pid == SYSTEM_PID ? "System" : "")));
}

int windows_processes(struct calls_process *list, size_t max)
{
    AUTO_FREE void *room = NULL;
    const struct native_process *p;
    const char *end;
    size_t count = 0;
    int rc = list_all(&room, &p, &end);
    if (rc < 0)
        return rc;
    for (; p && count < max; p = next_of(p, end))
        if (p->pid) /* PID 0 is the idle process */
            take(p, &list[count++]);
    windows_drop_false_parents(list, count);
    return (int)count;
}

static const struct native_process *find_in(const struct native_process *p, const char *end, int32_t pid)
{
    while (p && (int32_t)(intptr_t)p->pid != pid)
        p = next_of(p, end);
    return p;
}

static int process_of_list(int32_t pid, struct calls_process *ret)
{
    AUTO_FREE void *room = NULL;
    const struct native_process *first, *p, *parent;
    const char *end;
    int rc = list_all(&room, &first, &end);
    p = pid > 0 ? find_in(first, end, pid) : NULL;
    if (rc < 0 || !p)
        return rc < 0 ? rc : -ESRCH;
    take(p, ret);
    parent = find_in(first, end, ret->parent);
    if (!parent || windows_start_key(parent->create_time.QuadPart) > ret->start_key)
        ret->parent = 0;
    return 0;
}

/* The oldest thread of a process is the main one. */
int windows_threads(int32_t pid, struct calls_thread *list, size_t max)
{
    AUTO_FREE void *room = NULL;
    const struct native_process *p;
    const char *end;
    int rc = list_all(&room, &p, &end);
    p = find_in(p, end, pid);
    if (rc < 0 || !p)
        return rc < 0 ? rc : -ESRCH;
    size_t count = MIN_OF((size_t)p->thread_count, max), first = 0;
    if ((const char *)&p->threads[count] > end)
        return -EIO;
    for (size_t i = 0; i < count; i++) {
        const struct native_thread *t = &p->threads[i];
        list[i] = (struct calls_thread){.id = (int64_t)(intptr_t)t->thread,
                                        .cpu_ns = (t->kernel_time.QuadPart + t->user_time.QuadPart) * NS_PER_FILETIME,
                                        .wait = windows_wait(t->state, t->wait_reason)};
        if (t->create_time.QuadPart < p->threads[first].create_time.QuadPart)
            first = i;
    }
    if (first) {
        struct calls_thread main = list[first];
        list[first] = list[0];
        list[0] = main;
    }
    return (int)count;
}

/* ---- by handle ---- */

static bool times_of(HANDLE process, int64_t *started, int64_t *user, int64_t *kernel)
{
    FILETIME created, ended, in_kernel, in_user;
    if (!GetProcessTimes(process, &created, &ended, &in_kernel, &in_user) || filetime_of(ended))
        return false; /* an ended process exists while a handle to it is open */
    *started = filetime_of(created);
    *user = filetime_of(in_user);
    *kernel = filetime_of(in_kernel);
    return true;
}

static int32_t parent_of(HANDLE process, int64_t started)
{
    PROCESS_BASIC_INFORMATION info = {0};
    int64_t before, user, kernel;
    int rc = native_process_query(process, ProcessBasicInformation, &info, sizeof info);
    int32_t pid = rc == 0 ? (int32_t)(intptr_t)info.InheritedFromUniqueProcessId : 0;
    AUTO_HANDLE HANDLE parent = native_open(pid, &rc);
    return parent && times_of(parent, &before, &user, &kernel) && before <= started ? pid : 0;
}

int windows_process(int32_t pid, struct calls_process *ret)
{
    int rc;
    AUTO_HANDLE HANDLE process = native_open(pid, &rc);
    if (!process)
        return rc == -EACCES ? process_of_list(pid, ret) : rc;
    int64_t started, user, kernel;
    if (!times_of(process, &started, &user, &kernel))
        return -ESRCH;
    PROCESS_MEMORY_COUNTERS memory = {.cb = sizeof memory};
    bool has_memory = K32GetProcessMemoryInfo(process, &memory, sizeof memory);
    *ret = (struct calls_process){.pid = pid,
                                  .parent = parent_of(process, started),
                                  .start_key = windows_start_key(started),
                                  .started_at = windows_wall(started),
                                  .cpu_ns = (user + kernel) * NS_PER_FILETIME,
                                  .system_ns = kernel * NS_PER_FILETIME,
                                  .resident_bytes = has_memory ? (int64_t)memory.WorkingSetSize : -1,
                                  .read_bytes = -1,
                                  .written_bytes = -1};
    wchar_t path[PATH_CHARS];
    char name[4 * PATH_CHARS];
    DWORD len = ARRAY_LEN(path);
    if (!QueryFullProcessImageNameW(process, 0, path, &len))
        len = 0;
    native_text(path, len, name, sizeof name);
    str_copy(ret->name, sizeof ret->name, windows_program_name(str_from(name)));
    return 0;
}

static int arguments_of_line(const wchar_t *text, size_t count, char *line, char *to, size_t size)
{
    int len = WideCharToMultiByte(CP_UTF8, 0, text, (int)count, line, 4 * COMMAND_CHARS, NULL, NULL);
    return (int)windows_arguments((struct str){line, len > 0 ? (size_t)len : 0}, to, size);
}

int windows_command(int32_t pid, char *text, size_t size)
{
    struct {
        UNICODE_STRING line;
        wchar_t room[COMMAND_CHARS];
    } *told = malloc(sizeof *told);
    AUTO_FREE void *owner = told;
    AUTO_FREE char *line = malloc(4 * COMMAND_CHARS);
    int rc;
    AUTO_HANDLE HANDLE process = native_open(pid, &rc);
    if (!process || !told || !line)
        return process ? -ENOMEM : rc;
    rc = native_process_query(process, NATIVE_COMMAND_LINE, told, sizeof *told);
    if (rc == -ENOSYS && (DWORD)pid == GetCurrentProcessId()) /* Windows before 8.1, and Wine 8 */
        return arguments_of_line(GetCommandLineW(), wcslen(GetCommandLineW()), line, text, size);
    return rc < 0 ? rc : arguments_of_line(told->line.Buffer, told->line.Length / sizeof(wchar_t), line, text, size);
}

int windows_user(int32_t pid, char *name, size_t size)
{
    int rc;
    AUTO_HANDLE HANDLE process = native_open(pid, &rc);
    AUTO_HANDLE HANDLE token = NULL;
    if (!process)
        return rc;
    if (!OpenProcessToken(process, TOKEN_QUERY, &token)) {
        token = NULL;
        return native_error();
    }
    union {
        TOKEN_USER user;
        char room[256];
    } who;
    wchar_t account[256], domain[256];
    DWORD used = 0, account_len = ARRAY_LEN(account), domain_len = ARRAY_LEN(domain);
    SID_NAME_USE kind;
    if (!GetTokenInformation(token, TokenUser, &who, sizeof who, &used) ||
        !LookupAccountSidW(NULL, who.user.User.Sid, account, &account_len, domain, &domain_len, &kind))
        return native_error();
    native_text(account, account_len, name, size);
    return 0;
}

/* Numbers of base/os: 0 for all administrators, else the user's own. */
int windows_user_name(int64_t uid, char *name, size_t size)
{
    if (uid == 0) {
        str_copy(name, size, str_from("administrator"));
        return 0;
    }
    return uid == (int64_t)getuid() ? windows_user((int32_t)getpid(), name, size) : -ENOENT;
}
