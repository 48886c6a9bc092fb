/* SPDX-License-Identifier: Apache-2.0
 * What a program asks the system about itself and others, by POSIX names.
 */
#include <errno.h>
#include <grp.h>
#include <io.h>
#include <pwd.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "port/windows/rights_windows.h"

#include <psapi.h>

uid_t getuid(void)
{
    return user_number();
}

uid_t geteuid(void)
{
    return user_number();
}

gid_t getgid(void)
{
    return user_number();
}

gid_t getegid(void)
{
    return user_number();
}

pid_t getppid(void)
{
    return 0;
}

struct passwd *getpwuid(uid_t user)
{
    (void)user;
    return NULL;
}

struct passwd *getpwnam(const char *name)
{
    (void)name;
    return NULL;
}

struct group *getgrnam(const char *name)
{
    (void)name;
    return NULL;
}

struct group *getgrgid(gid_t group)
{
    (void)group;
    return NULL;
}

int getgroups(int size, gid_t *list)
{
    (void)size;
    (void)list;
    return 0;
}

long sysconf(int name)
{
    SYSTEM_INFO info;
    MEMORYSTATUSEX memory = {.dwLength = sizeof memory};
    GetSystemInfo(&info);
    switch (name) {
    case _SC_PAGESIZE: return (long)info.dwPageSize;
    case _SC_NPROCESSORS_ONLN:
    case _SC_NPROCESSORS_CONF: return (long)GetActiveProcessorCount(ALL_PROCESSOR_GROUPS);
    case _SC_CLK_TCK: return 100;
    case _SC_OPEN_MAX: return 8192;
    case _SC_PHYS_PAGES: return GlobalMemoryStatusEx(&memory) ? (long)(memory.ullTotalPhys / info.dwPageSize) : -1;
    default: errno = EINVAL; return -1;
    }
}

int posix_gethostname(char *name, size_t size)
{
    wchar_t wide[256];
    DWORD len = 256;
    if (!GetComputerNameExW(ComputerNameDnsHostname, wide, &len))
        return fail_with(GetLastError());
    return utf8_from(wide, name, size) ? 0 : (errno = ENAMETOOLONG, -1);
}

int uname(struct utsname *ret)
{
    *ret = (struct utsname){.sysname = "Windows", .machine = "x86_64"};
    OSVERSIONINFOW version = {.dwOSVersionInfoSize = sizeof version};
    /* GetVersionEx() reports 6.2 to programs whose manifest doesn't name later versions. */
    LONG(WINAPI * read_version)(OSVERSIONINFOW *) = (void *)GetProcAddress(GetModuleHandleW(L"ntdll.dll"), "RtlGetVersion");
    if (read_version && read_version(&version) == 0)
        snprintf(ret->release, sizeof ret->release, "%lu.%lu.%lu", version.dwMajorVersion, version.dwMinorVersion,
                 version.dwBuildNumber);
    return posix_gethostname(ret->nodename, sizeof ret->nodename);
}

static struct timeval time_of(FILETIME t)
{
    uint64_t us = ((uint64_t)t.dwHighDateTime << 32 | t.dwLowDateTime) / 10;
    return (struct timeval){.tv_sec = (long)(us / 1000000), .tv_usec = (long)(us % 1000000)};
}

int getrusage(int who, struct rusage *ret)
{
    FILETIME made, ended, kernel, user;
    PROCESS_MEMORY_COUNTERS memory = {.cb = sizeof memory};
    (void)who;
    if (!GetProcessTimes(GetCurrentProcess(), &made, &ended, &kernel, &user))
        return fail_with(GetLastError());
    *ret = (struct rusage){.ru_utime = time_of(user), .ru_stime = time_of(kernel)};
    if (K32GetProcessMemoryInfo(GetCurrentProcess(), &memory, sizeof memory))
        ret->ru_maxrss = (long)(memory.PeakWorkingSetSize / 1024);
    return 0;
}

/* Signal 0 checks for existence; all others end the process at once. Negative: with its children, if it is our child. */
int kill(pid_t pid, int number)
{
    DWORD code = 0;
    bool ends = number == SIGTERM || number == SIGKILL || number == SIGINT;
    if (pid < -1 && ends)
        return end_child(-pid, 128 + (UINT)number) ? 0 : (errno = ESRCH, -1);
    if (pid <= 0 || (number && !ends)) {
        errno = EINVAL;
        return -1;
    }
    HANDLE process = OpenProcess(number ? PROCESS_TERMINATE : PROCESS_QUERY_LIMITED_INFORMATION, FALSE, (DWORD)pid);
    if (!process) {
        errno = GetLastError() == ERROR_INVALID_PARAMETER ? ESRCH : EPERM;
        return -1;
    }
    bool good = number ? TerminateProcess(process, 128 + (UINT)number) : GetExitCodeProcess(process, &code) && code == STILL_ACTIVE;
    CloseHandle(process);
    return good ? 0 : (errno = ESRCH, -1);
}
