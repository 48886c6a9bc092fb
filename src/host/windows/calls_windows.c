/* SPDX-License-Identifier: Apache-2.0
 * The table for Windows: CPU time, memory, network, disks and mains; processes, by handle or, if that is denied and for lists, from
 * the system's list of all, which needs no privileges; listening ports. Bytes read include files, pipes and devices: they aren't
 * reported as disk I/O. There is no load average, and a program's environment and directory are only in its own memory, which is
 * not read.
 */
/* The network headers need all system headers. */
#undef NOGDI
#undef NOUSER
#include <winsock2.h>

#include <windows.h>
#include <winternl.h>

#include <errno.h>
#include <psapi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <wchar.h>
#include <winioctl.h>
#include <ws2tcpip.h>

#include <iphlpapi.h>

#include "base/cleanup.h"
#include "host/calls/calls.h"
#include "host/windows/facts_windows.h"

enum { DISKS_MAX = 32, FILETIMES_PER_MS = 10000, IF_LOOPBACK = 24 };

/* ---- calls of ntdll that its headers don't describe, loaded lazily; the layouts are those of 64-bit Windows 8.1 and later ---- */

/* Classes of NtQuerySystemInformation and NtQueryInformationProcess. */
enum { NATIVE_PROCESSES = 5, NATIVE_CPU_TIMES = 8, NATIVE_PAGE_FILES = 18, NATIVE_COMMAND_LINE = 60 };

struct native_cpu_times {
    LARGE_INTEGER idle, kernel, user, dpc, interrupt; /* kernel includes idle */
    ULONG interrupts;
};

struct native_page_file {
    ULONG next_offset, total_pages, used_pages, peak_pages;
    UNICODE_STRING name;
};

struct native_thread {
    LARGE_INTEGER kernel_time, user_time, create_time;
    ULONG wait_time;
    PVOID start_address;
    HANDLE process, thread;
    LONG priority, base_priority;
    ULONG context_switches, state, wait_reason;
};

struct native_process {
    ULONG next_offset, thread_count;
    LARGE_INTEGER private_working_set;
    ULONG hard_faults, threads_most;
    ULONGLONG cycles;
    LARGE_INTEGER create_time, user_time, kernel_time;
    UNICODE_STRING name;
    LONG base_priority;
    HANDLE pid, parent;
    ULONG handles, session;
    ULONG_PTR key;
    SIZE_T virtual_most, virtual_size;
    ULONG page_faults;
    SIZE_T working_set_most, working_set, pools[4], page_file, page_file_most, private_pages;
    LARGE_INTEGER operations[3], transferred[3];
    struct native_thread threads[];
};

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

/* 0 or -errno: -ENOSYS if the system lacks the class. The caller frees the result. */
static int native_query(int class, void **ret, size_t *ret_size)
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

static int native_process_query(HANDLE process, int class, void *to, ULONG size)
{
    query_process query = (query_process)(uintptr_t)native_function("NtQueryInformationProcess");
    ULONG needed = 0;
    return query ? native_status(query(process, class, to, size, &needed)) : -ENOSYS;
}

/* Of the last call: -errno. */
static int native_error(void)
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

/* Opens a process for queries; NULL with *rc. */
static HANDLE native_open(int32_t pid, int *rc)
{
    HANDLE process = pid > 0 ? OpenProcess(PROCESS_QUERY_LIMITED_INFORMATION, FALSE, (DWORD)pid) : NULL;
    *rc = process ? 0 : pid > 0 ? native_error() : -ESRCH;
    return process;
}

/* To UTF-8, truncated to the size. */
static void native_text(const wchar_t *text, size_t count, char *to, size_t size)
{
    char room[4 * TEXT_CHARS];
    int len = WideCharToMultiByte(CP_UTF8, 0, text, (int)MIN_OF(count, (size_t)TEXT_CHARS), room, sizeof room, NULL, NULL);
    str_copy_clean(to, size, (struct str){room, len > 0 ? (size_t)len : 0});
}

/* ---- CPU ---- */

static uint64_t number_of(FILETIME t)
{
    return (uint64_t)t.dwHighDateTime << 32 | t.dwLowDateTime;
}

/* Cores of our processor group: up to 64. */
static int read_cores(struct calls_cpu *cores, size_t max)
{
    AUTO_FREE void *room = NULL;
    size_t size = 0;
    int rc = native_query(NATIVE_CPU_TIMES, &room, &size);
    if (rc < 0)
        return rc;
    const struct native_cpu_times *times = room;
    size_t count = MIN_OF(size / sizeof *times, max);
    for (size_t i = 0; i < count; i++) {
        uint64_t total = (uint64_t)(times[i].kernel.QuadPart + times[i].user.QuadPart);
        cores[i] = (struct calls_cpu){total, total - (uint64_t)times[i].idle.QuadPart};
    }
    return (int)count;
}

static int windows_cpu(struct calls_cpu *all, struct calls_cpu *cores, size_t max)
{
    FILETIME idle, kernel, user;
    if (!GetSystemTimes(&idle, &kernel, &user))
        return native_error();
    uint64_t total = number_of(kernel) + number_of(user); /* kernel time includes idle */
    *all = (struct calls_cpu){total, total - number_of(idle)};
    read_cores(cores, max);
    return (int)GetActiveProcessorCount(ALL_PROCESSOR_GROUPS);
}

/* ---- memory ---- */

/* Bytes in page files, not memory committed to programs. */
static void read_page_files(struct calls_memory *ret)
{
    AUTO_FREE void *room = NULL;
    size_t size = 0;
    SYSTEM_INFO system;
    if (native_query(NATIVE_PAGE_FILES, &room, &size) < 0)
        return;
    GetSystemInfo(&system);
    ret->swap_total_bytes = ret->swap_used_bytes = 0;
    for (size_t at = 0; at + sizeof(struct native_page_file) <= size;) {
        const struct native_page_file *file = (const void *)((const char *)room + at);
        ret->swap_total_bytes += (int64_t)file->total_pages * system.dwPageSize;
        ret->swap_used_bytes += (int64_t)file->used_pages * system.dwPageSize;
        if (!file->next_offset)
            break;
        at += file->next_offset;
    }
}

static int windows_memory(struct calls_memory *ret)
{
    MEMORYSTATUSEX status = {.dwLength = sizeof status};
    if (!GlobalMemoryStatusEx(&status))
        return native_error();
    *ret = (struct calls_memory){(int64_t)status.ullTotalPhys, (int64_t)status.ullAvailPhys, -1, -1};
    read_page_files(ret);
    return 0;
}

/* ---- network and disks ---- */

static bool is_card(const MIB_IF_ROW2 *row)
{
    return row->InterfaceAndOperStatusFlags.HardwareInterface && !row->InterfaceAndOperStatusFlags.FilterInterface;
}

/* Physical interfaces; without any, as in a container, all but loopback. */
static int windows_networks(struct calls_flow *list, size_t max)
{
    MIB_IF_TABLE2 *table = NULL;
    if (GetIfTable2(&table) != NO_ERROR || !table)
        return -ENOSYS;
    bool hardware = false;
    size_t count = 0;
    for (ULONG i = 0; i < table->NumEntries; i++)
        hardware = hardware || (is_card(&table->Table[i]) && table->Table[i].Type != IF_LOOPBACK);
    for (ULONG i = 0; i < table->NumEntries && count < max; i++) {
        const MIB_IF_ROW2 *row = &table->Table[i];
        if (row->Type == IF_LOOPBACK || (hardware && !is_card(row)))
            continue;
        list[count] = (struct calls_flow){.in_bytes = row->InOctets, .out_bytes = row->OutOctets, .busy_ms = -1};
        snprintf(list[count].name, sizeof list[count].name, "%llx", (unsigned long long)row->InterfaceLuid.Value);
        count++;
    }
    FreeMibTable(table);
    return (int)count;
}

static bool read_disk(int number, struct calls_flow *ret)
{
    wchar_t path[32];
    DISK_PERFORMANCE p;
    DWORD size = 0;
    _snwprintf(path, ARRAY_LEN(path), L"\\\\.\\PhysicalDrive%d", number);
    HANDLE disk = CreateFileW(path, 0, FILE_SHARE_READ | FILE_SHARE_WRITE, NULL, OPEN_EXISTING, 0, NULL);
    if (disk == INVALID_HANDLE_VALUE)
        return false;
    bool good = DeviceIoControl(disk, IOCTL_DISK_PERFORMANCE, NULL, 0, &p, sizeof p, &size, NULL) && size == sizeof p;
    CloseHandle(disk);
    if (!good)
        return false;
    *ret = (struct calls_flow){.in_bytes = (uint64_t)p.BytesRead.QuadPart,
                               .out_bytes = (uint64_t)p.BytesWritten.QuadPart,
                               .busy_ms = MAX_OF(p.QueryTime.QuadPart - p.IdleTime.QuadPart, 0) / FILETIMES_PER_MS};
    snprintf(ret->name, sizeof ret->name, "disk%d", number);
    return true;
}

static int windows_disks(struct calls_flow *list, size_t max)
{
    size_t count = 0;
    for (int i = 0; i < DISKS_MAX && count < max; i++)
        count += read_disk(i, &list[count]);
    return count ? (int)count : -ENODEV;
}

static int windows_on_battery(bool *ret)
{
    enum { NO_BATTERY = 128, UNKNOWN = 255 };
    SYSTEM_POWER_STATUS status;
    if (!GetSystemPowerStatus(&status))
        return native_error();
    if ((status.BatteryFlag & NO_BATTERY) || status.ACLineStatus == UNKNOWN)
        return -ENODEV;
    *ret = status.ACLineStatus == 0;
    return 0;
}

/* ---- processes ---- */

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

static int windows_processes(struct calls_process *list, size_t max)
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
static int windows_threads(int32_t pid, struct calls_thread *list, size_t max)
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

static int windows_process(int32_t pid, struct calls_process *ret)
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

static int windows_command(int32_t pid, char *text, size_t size)
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

static int windows_user(int32_t pid, char *name, size_t size)
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
static int windows_user_name(int64_t uid, char *name, size_t size)
{
    if (uid == 0) {
        str_copy(name, size, str_from("administrator"));
        return 0;
    }
    return uid == (int64_t)getuid() ? windows_user((int32_t)getpid(), name, size) : -ENOENT;
}

/* ---- TCP ports on which processes listen ---- */

enum { TRIES = 4, INET6 = 23 };

/* The table may grow between two calls. */
static int read_table(ULONG family, void **ret)
{
    ULONG size = 64 << 10;
    for (int i = 0; i < TRIES; i++) {
        AUTO_FREE void *room = malloc(size);
        if (!room)
            return -ENOMEM;
        DWORD rc = GetExtendedTcpTable(room, &size, FALSE, family, TCP_TABLE_OWNER_PID_LISTENER, 0);
        if (rc == NO_ERROR) {
            *ret = TAKE(room);
            return 0;
        }
        if (rc != ERROR_INSUFFICIENT_BUFFER)
            return -ENOSYS;
    }
    return -EIO;
}

static uint16_t port_of(DWORD port)
{
    return (uint16_t)((port & 0xff) << 8 | (port >> 8 & 0xff));
}

/* Wine doesn't report the owner of a socket: the listener is unknown then. */
static int with_owner(struct calls_listener *list, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (list[i].pid)
            list[kept++] = list[i];
    return kept || !count ? (int)kept : -ENOSYS;
}

static int windows_listeners(struct calls_listener *list, size_t max)
{
    AUTO_FREE void *four = NULL;
    AUTO_FREE void *six = NULL;
    size_t count = 0;
    int rc = read_table(AF_INET, &four), rc6 = read_table(INET6, &six);
    if (rc < 0 && rc6 < 0)
        return rc;
    const MIB_TCPTABLE_OWNER_PID *table = four;
    for (DWORD i = 0; table && i < table->dwNumEntries && count < max; i++) {
        const MIB_TCPROW_OWNER_PID *row = &table->table[i];
        list[count] = (struct calls_listener){.pid = (int32_t)row->dwOwningPid, .port = port_of(row->dwLocalPort)};
        windows_loopback((const uint8_t *)&row->dwLocalAddr, 4, list[count++].address);
    }
    const MIB_TCP6TABLE_OWNER_PID *table6 = six;
    for (DWORD i = 0; table6 && i < table6->dwNumEntries && count < max; i++) {
        const MIB_TCP6ROW_OWNER_PID *row = &table6->table[i];
        list[count] = (struct calls_listener){.pid = (int32_t)row->dwOwningPid, .port = port_of(row->dwLocalPort)};
        windows_loopback(row->ucLocalAddr, 16, list[count++].address);
    }
    return with_owner(list, count);
}

/* ---- the table ---- */

/* A disk wait other than a page fault looks like a wait for any object. */
static bool windows_waits_told(enum calls_wait wait)
{
    return wait == CALLS_WAIT_LOCK || wait == CALLS_WAIT_SLEEP || wait == CALLS_WAIT_STOPPED || wait == CALLS_WAIT_OTHER;
}

const struct system_calls host_calls = {
    .name = "Windows",
    .cpu = windows_cpu,
    .memory = windows_memory,
    .networks = windows_networks,
    .disks = windows_disks,
    .on_battery = windows_on_battery,
    .process = windows_process,
    .processes = windows_processes,
    .arguments = windows_command,
    .user = windows_user,
    .user_name = windows_user_name,
    .threads = windows_threads,
    .waits_told = windows_waits_told,
    .listeners = windows_listeners,
};
