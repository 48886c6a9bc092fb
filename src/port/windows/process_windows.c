/* SPDX-License-Identifier: Apache-2.0
 * What a program asks the system about itself: its environment in UTF-8, its path, its user, its limits, and the host. getenv()
 * replaces the C library's, which uses the system's code page.
 */
#include <errno.h>
#include <grp.h>
#include <io.h>
#include <pthread.h>
#include <pwd.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <wchar.h>

#include "base/file.h"
#include "base/os/place.h"
#include "port/windows/rights_windows.h"

#include <psapi.h>

/* ---- the environment ---- */

enum { VARIABLES_MAX = 1024, VARIABLE_SIZE = 32768 };

static char **posix_environ;
static pthread_once_t read_once = PTHREAD_ONCE_INIT;
static pthread_mutex_t change = PTHREAD_MUTEX_INITIALIZER;

/* Replaced values are leaked: callers may still hold them. */
static char *variables[VARIABLES_MAX + 1];

/* Windows ignores case in variable names. */
static size_t find_named(const char *name, size_t len)
{
    size_t i = 0;
    for (; variables[i]; i++)
        if (_strnicmp(variables[i], name, len) == 0 && variables[i][len] == '=')
            break;
    return i;
}

static size_t find_variable(const char *name)
{
    return find_named(name, strlen(name));
}

static void forget_variable(size_t at)
{
    for (; variables[at]; at++)
        variables[at] = variables[at + 1];
}

/* Adds the system's "NAME=VALUE" if it is new or changed. */
static void take_variable(const wchar_t *wide)
{
    static char text[VARIABLE_SIZE * 3];
    if (wide[0] == L'=' || !wcschr(wide, L'=') || !utf8_from(wide, text, sizeof text))
        return;
    size_t at = find_named(text, (size_t)(strchr(text, '=') - text));
    if (at == VARIABLES_MAX || (variables[at] && strcmp(variables[at], text) == 0))
        return;
    char *copy = _strdup(text);
    if (copy)
        variables[at] = copy;
}

static void take_all(void)
{
    wchar_t *block = GetEnvironmentStringsW();
    for (const wchar_t *at = block; at && *at; at += wcslen(at) + 1)
        take_variable(at);
    if (block)
        FreeEnvironmentStringsW(block);
}

/* POSIX variables for a user's directories, unless set. System-wide files and those of administrators are below ProgramData. */
static const struct {
    const char *name, *from, *below;
    bool users; /* not set for administrators */
} places[] = {
    {"HOME", "USERPROFILE", "", false},
    {"XDG_CONFIG_HOME", "APPDATA", "", false},
    {"XDG_STATE_HOME", "LOCALAPPDATA", "", true},
    {"XDG_CACHE_HOME", "LOCALAPPDATA", "", false},
    {"XDG_RUNTIME_DIR", "LOCALAPPDATA", "/whirr", true},
    {"WHIRR_SYSTEM_ROOT", "PROGRAMDATA", "/whirr", false},
};

/* From the registry, not the caller's environment: a system service trusts this directory. */
static void take_program_data(void)
{
    wchar_t text[1024] = L"PROGRAMDATA=";
    const size_t len = wcslen(text);
    DWORD size = sizeof text - (DWORD)(len * sizeof *text);
    if (RegGetValueW(HKEY_LOCAL_MACHINE, L"SOFTWARE\\Microsoft\\Windows NT\\CurrentVersion\\ProfileList", L"ProgramData",
                     RRF_RT_REG_SZ, NULL, text + len, &size) == ERROR_SUCCESS)
        take_variable(text);
}

static void add_places(void)
{
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        const char *from = variables[find_variable(places[i].from)];
        size_t size = VARIABLE_SIZE, at = find_variable(places[i].name);
        bool wanted = from && !variables[at] && at < VARIABLES_MAX && !(places[i].users && user_is_administrator());
        char *text = wanted ? malloc(size) : NULL;
        if (!text)
            continue;
        snprintf(text, size, "%s=%s%s", places[i].name, strchr(from, '=') + 1, places[i].below);
        for (char *c = text; *c; c++)
            if (*c == '\\')
                *c = '/';
        variables[at] = text;
    }
}

static void read_variables(void)
{
    take_all();
    take_program_data();
    add_places();
    posix_environ = variables;
}

/* Whether the system has the variable, or it is one of `places`. */
static bool is_there(const char *variable)
{
    char name[1024];
    wchar_t wide[1024];
    snprintf(name, sizeof name, "%.*s", (int)(strchr(variable, '=') - variable), variable);
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
        if (_stricmp(places[i].name, name) == 0)
            return true;
    return !wide_from(name, wide, sizeof wide / sizeof wide[0]) || GetEnvironmentVariableW(wide, NULL, 0) > 0;
}

/* A program that embeds this library may have changed its environment since. */
static void read_again(void)
{
    posix_variables();
    pthread_mutex_lock(&change);
    for (size_t i = 0; variables[i];)
        if (is_there(variables[i]))
            i++;
        else
            forget_variable(i);
    take_all();
    pthread_mutex_unlock(&change);
}

char **posix_variables(void)
{
    pthread_once(&read_once, read_variables);
    return posix_environ;
}

char *getenv(const char *name)
{
    posix_variables();
    const char *found = variables[find_variable(name)];
    return found ? (char *)found + strlen(name) + 1 : NULL;
}

int setenv(const char *name, const char *value, int overwrite)
{
    wchar_t wide_name[1024], *wide = malloc(VARIABLE_SIZE * sizeof *wide);
    size_t size = strlen(name) + strlen(value) + 2;
    char *text = malloc(size);
    posix_variables();
    pthread_mutex_lock(&change);
    size_t at = find_variable(name);
    bool good = wide && text && at < VARIABLES_MAX && wide_from(name, wide_name, 1024) && wide_from(value, wide, VARIABLE_SIZE);
    if (good && (overwrite || !variables[at])) {
        snprintf(text, size, "%s=%s", name, value);
        variables[at] = text;
        text = NULL;
        SetEnvironmentVariableW(wide_name, wide);
    }
    pthread_mutex_unlock(&change);
    free(wide);
    free(text);
    return good ? 0 : (errno = ENOMEM, -1);
}

int unsetenv(const char *name)
{
    wchar_t wide_name[1024];
    posix_variables();
    pthread_mutex_lock(&change);
    forget_variable(find_variable(name));
    pthread_mutex_unlock(&change);
    if (wide_from(name, wide_name, 1024))
        SetEnvironmentVariableW(wide_name, NULL);
    return 0;
}

/* ---- the program ---- */

bool place_is_trusted(void)
{
    return true;
}

const char *env_gained(void)
{
    return NULL;
}

int env_handed_over(const char *name)
{
    (void)name;
    return -1;
}

void place_fill(struct env *env)
{
    static char self[WIDE_PATH];
    wchar_t wide[WIDE_PATH];
    read_again();
    DWORD len = GetModuleFileNameW(NULL, wide, WIDE_PATH);
    if (len == 0 || len == WIDE_PATH || !utf8_from(wide, self, sizeof self))
        self[0] = '\0';
    env->nvml_library = "nvml.dll";
    env->cuda_library = "nvcuda.dll";
    env->self_program = self;
}

/* ---- its user: Windows has no numbers for others ---- */

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

/* ---- the system, and what the program uses of it ---- */

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

/* The C library limits files; sockets aren't among them and have no limit. */
size_t descriptors_raise(size_t wanted)
{
    enum { FILES_MAX = 2048 }; /* Windows refuses more */
    (void)_setmaxstdio(FILES_MAX);
    return wanted;
}

void descriptors_close_from(int first)
{
    (void)first;
}
