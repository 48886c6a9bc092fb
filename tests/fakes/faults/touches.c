/* SPDX-License-Identifier: Apache-2.0
 * Preloaded: writes down what a program touches outside of itself, a line each in the file that WHIRR_TOUCHES names:
 *
 *   read /proc/stat            opened for reading        write /tmp/x       for writing
 *   connect 127.0.0.1:8080     connect unix:/run/x.sock
 *   run nvidia-smi             signal 15 to 4711
 *
 * What libraries do through their own calls is seen as well; what the dynamic loader opens is not.
 */
/* Each name stands for itself here, open as well as open64. */
#undef _FILE_OFFSET_BITS
#undef _FORTIFY_SOURCE
#include <arpa/inet.h>
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

/* dlsym gives void *, which ISO C does not turn into a function. */
#define REAL(type, name, ...)         \
    static type (*real)(__VA_ARGS__); \
    if (!real)                        \
    *(void **)&real = dlsym(RTLD_NEXT, name)

static int raw_open(const char *path, int flags)
{
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, 0600);
}

static void note(const char *kind, const char *what)
{
    static int out = -2;
    char line[PATH_MAX + 64];
    if (out == -2) {
        const char *path = getenv("WHIRR_TOUCHES");
        out = path ? raw_open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC) : -1;
    }
    int len = snprintf(line, sizeof line, "%s %s\n", kind, what);
    if (out >= 0 && write(out, line, (size_t)len) != len)
        abort();
}

/* Paths below a directory that is open are written whole. A directory on the way, of which nothing can be read, is no touch. */
static void note_open(int dir, const char *path, int flags)
{
    char link[64], whole[PATH_MAX * 2];
    ssize_t len = 0;
    if ((flags & O_PATH) && (flags & O_DIRECTORY))
        return;
    if (path[0] != '/' && dir != AT_FDCWD) {
        snprintf(link, sizeof link, "/proc/self/fd/%d", dir);
        len = readlink(link, whole, PATH_MAX);
    }
    len = len < 0 ? 0 : len;
    snprintf(whole + len, PATH_MAX, "%s%s", len ? "/" : "", path);
    note(flags & (O_WRONLY | O_RDWR | O_CREAT) ? "write" : "read", whole);
}

static mode_t mode_of(int flags, va_list args)
{
    return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(args, mode_t) : 0;
}

#define OPEN(name)                                \
    int name(const char *path, int flags, ...)    \
    {                                             \
        REAL(int, #name, const char *, int, ...); \
        va_list args;                             \
        va_start(args, flags);                    \
        mode_t mode = mode_of(flags, args);       \
        va_end(args);                             \
        note_open(AT_FDCWD, path, flags);         \
        return real(path, flags, mode);           \
    }
OPEN(open)
OPEN(open64)

#define OPENAT(name)                                    \
    int name(int dir, const char *path, int flags, ...) \
    {                                                   \
        REAL(int, #name, int, const char *, int, ...);  \
        va_list args;                                   \
        va_start(args, flags);                          \
        mode_t mode = mode_of(flags, args);             \
        va_end(args);                                   \
        note_open(dir, path, flags);                    \
        return real(dir, path, flags, mode);            \
    }
OPENAT(openat)
OPENAT(openat64)

/* What a fortified program calls. */
int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int dir, const char *path, int flags);
int __openat64_2(int dir, const char *path, int flags);

int __open_2(const char *path, int flags)
{
    return open(path, flags, 0);
}

int __open64_2(const char *path, int flags)
{
    return open(path, flags | O_LARGEFILE, 0);
}

int __openat_2(int dir, const char *path, int flags)
{
    return openat(dir, path, flags, 0);
}

int __openat64_2(int dir, const char *path, int flags)
{
    return openat(dir, path, flags | O_LARGEFILE, 0);
}

#define FOPEN(name)                                                            \
    FILE *name(const char *path, const char *mode)                             \
    {                                                                          \
        REAL(FILE *, #name, const char *, const char *);                       \
        note_open(AT_FDCWD, path, strpbrk(mode, "wa+") ? O_WRONLY : O_RDONLY); \
        return real(path, mode);                                               \
    }
FOPEN(fopen)
FOPEN(fopen64)

DIR *opendir(const char *path)
{
    REAL(DIR *, "opendir", const char *);
    note_open(AT_FDCWD, path, O_RDONLY);
    return real(path);
}

int connect(int fd, const struct sockaddr *to, socklen_t len)
{
    REAL(int, "connect", int, const struct sockaddr *, socklen_t);
    char text[sizeof(struct sockaddr_un) + 16], address[INET6_ADDRSTRLEN];
    if (to->sa_family == AF_UNIX) {
        const struct sockaddr_un *name = (const void *)to;
        snprintf(text, sizeof text, "unix:%s%.*s", name->sun_path[0] ? "" : "@", (int)sizeof name->sun_path - 1,
                 name->sun_path + !name->sun_path[0]);
        note("connect", text);
    } else if (to->sa_family == AF_INET || to->sa_family == AF_INET6) {
        const struct sockaddr_in *four = (const void *)to;
        const struct sockaddr_in6 *six = (const void *)to;
        bool is_four = to->sa_family == AF_INET;
        inet_ntop(to->sa_family, is_four ? (const void *)&four->sin_addr : &six->sin6_addr, address, sizeof address);
        snprintf(text, sizeof text, is_four ? "%s:%u" : "[%s]:%u", address, ntohs(is_four ? four->sin_port : six->sin6_port));
        note("connect", text);
    }
    return real(fd, to, len);
}

int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *files, const posix_spawnattr_t *attributes,
                char *const argv[], char *const envp[])
{
    REAL(int, "posix_spawn", pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *, char *const[],
         char *const[]);
    note("run", path);
    return real(pid, path, files, attributes, argv, envp);
}

int posix_spawnp(pid_t *pid, const char *path, const posix_spawn_file_actions_t *files, const posix_spawnattr_t *attributes,
                 char *const argv[], char *const envp[])
{
    REAL(int, "posix_spawnp", pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *, char *const[],
         char *const[]);
    note("run", path);
    return real(pid, path, files, attributes, argv, envp);
}

int execvp(const char *path, char *const argv[])
{
    REAL(int, "execvp", const char *, char *const[]);
    note("run", path);
    return real(path, argv);
}

int kill(pid_t pid, int number)
{
    REAL(int, "kill", pid_t, int);
    char text[64];
    snprintf(text, sizeof text, "%d to %d", number, (int)pid);
    note("signal", text);
    return real(pid, number);
}
