/* SPDX-License-Identifier: Apache-2.0
 * The program whose n-th call fails. Linked around the whole program (--wrap, see meson.build), it runs the given command once for
 * each n, in a child of its own: the n-th allocation or system call that the command makes fails as it could in life. A command may
 * end with a message or go on; a crash, a hang or an end without a word is reported.
 *
 *   whirr-failing FROM-TO[/MAX] ALIVE_MS COMMAND...   MAX: no more than so many of them, spread evenly; ALIVE_MS: a command that
 * does not end by itself is told to after so long, 0: it ends. WHIRR_FAILING_IN_A_ROW=N: of N calls from there on, all allocations.
 *
 *   WHIRR_FAILING_READS=FILE whirr-failing COMMAND...   while FILE begins with a number (an errno, 4 bytes), every opening and
 * reading of files fails with it.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <event2/buffer.h>
#include <event2/event.h>
#include <fcntl.h>
#include <ftw.h>
#include <jansson.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "store/db/libraries.h"

struct seen {
    atomic_long calls; /* so far in this child */
    atomic_long at;    /* the one that fails; 0: none */
    char name[32];     /* what failed */
};

static struct seen *seen;

/* Memory that is out for a while: so many calls from the n-th on, those of them that are allocations. */
static long in_a_row = 1;

/* What every opening and reading of a file fails with now; NULL or 0: none does. */
static const int *reads_fail;

static bool reads_are_to_fail(void)
{
    if (reads_fail && *reads_fail)
        errno = *reads_fail;
    return reads_fail && *reads_fail;
}

static bool due(const char *name, int error)
{
    if (!seen || atomic_load(&seen->at) == 0)
        return false;
    long call = atomic_fetch_add(&seen->calls, 1) + 1, at = atomic_load(&seen->at);
    if (call < at || call - at >= in_a_row || (in_a_row > 1 && error != ENOMEM))
        return false;
    size_t length = strlen(name);
    length = length < sizeof seen->name ? length : sizeof seen->name - 1;
    memcpy(seen->name, name, length);
    seen->name[length] = '\0';
    return true;
}

int __real_fstat64(int fd, void *to);

/* Not a socket, a pipe or a bell between threads: what is read there is no answer about anything. */
static bool is_of_a_file(int fd)
{
    struct stat st;
    return reads_fail && __real_fstat64(fd, &st) == 0 && S_ISREG(st.st_mode);
}

#define FAIL_READ(type, name, error, bad, is_read, parameters, ...) \
    type __real_##name parameters;                                  \
    type __wrap_##name parameters;                                  \
    type __wrap_##name parameters                                   \
    {                                                               \
        if (due(#name, error)) {                                    \
            errno = error;                                          \
            return bad;                                             \
        }                                                           \
        if ((is_read) && reads_are_to_fail())                       \
            return bad;                                             \
        return __real_##name(__VA_ARGS__);                          \
    }
#define FAIL(type, name, error, bad, parameters, ...) FAIL_READ(type, name, error, bad, false, parameters, __VA_ARGS__)
/* clang-format off */
FAIL(void *, malloc, ENOMEM, NULL, (size_t size), size)
FAIL(void *, calloc, ENOMEM, NULL, (size_t count, size_t size), count, size)
FAIL(void *, realloc, ENOMEM, NULL, (void *old, size_t size), old, size)
FAIL(char *, strdup, ENOMEM, NULL, (const char *text), text)
FAIL(char *, strndup, ENOMEM, NULL, (const char *text, size_t most), text, most)
FAIL_READ(ssize_t, read, EIO, -1, is_of_a_file(fd), (int fd, void *to, size_t size), fd, to, size)
FAIL(ssize_t, pread64, EIO, -1, (int fd, void *to, size_t size, off_t at), fd, to, size, at)
FAIL(ssize_t, write, ENOSPC, -1, (int fd, const void *from, size_t size), fd, from, size)
FAIL(ssize_t, pwrite64, ENOSPC, -1, (int fd, const void *from, size_t size, off_t at), fd, from, size, at)
FAIL(FILE *, fopen64, EMFILE, NULL, (const char *path, const char *mode), path, mode)
FAIL(FILE *, fdopen, ENOMEM, NULL, (int fd, const char *mode), fd, mode)
/* What a fortified program calls in place of open and openat. */
FAIL_READ(int, __open64_2, EMFILE, -1, true, (const char *path, int flags), path, flags)
FAIL_READ(int, __openat64_2, EMFILE, -1, true, (int folder, const char *path, int flags), folder, path, flags)
FAIL_READ(DIR *, opendir, EMFILE, NULL, true, (const char *path), path)
FAIL(int, stat64, EIO, -1, (const char *path, void *to), path, to)
FAIL(int, fstat64, EIO, -1, (int fd, void *to), fd, to)
FAIL(int, fstatat64, EIO, -1, (int folder, const char *path, void *to, int flags), folder, path, to, flags)
FAIL(ssize_t, readlink, EACCES, -1, (const char *path, char *to, size_t size), path, to, size)
FAIL(int, mkdir, EROFS, -1, (const char *path, mode_t mode), path, mode)
FAIL(int, rename, EROFS, -1, (const char *from, const char *to), from, to)
FAIL(int, unlink, EROFS, -1, (const char *path), path)
FAIL(int, fsync, EIO, -1, (int fd), fd)
FAIL(int, ftruncate64, ENOSPC, -1, (int fd, off_t size), fd, size)
FAIL(int, socket, EMFILE, -1, (int family, int type, int protocol), family, type, protocol)
FAIL(int, bind, EADDRINUSE, -1, (int fd, const struct sockaddr *to, socklen_t size), fd, to, size)
FAIL(int, listen, EADDRINUSE, -1, (int fd, int most), fd, most)
FAIL(int, connect, ECONNREFUSED, -1, (int fd, const struct sockaddr *to, socklen_t size), fd, to, size)
FAIL(int, accept4, EMFILE, -1, (int fd, struct sockaddr *from, socklen_t *size, int flags), fd, from, size, flags)
FAIL(ssize_t, send, ECONNRESET, -1, (int fd, const void *from, size_t size, int flags), fd, from, size, flags)
FAIL(ssize_t, recv, ECONNRESET, -1, (int fd, void *to, size_t size, int flags), fd, to, size, flags)
FAIL(int, poll, ENOMEM, -1, (struct pollfd *list, nfds_t count, int ms), list, count, ms)
FAIL(int, pipe2, EMFILE, -1, (int fds[2], int flags), fds, flags)
FAIL(int, eventfd, EMFILE, -1, (unsigned first, int flags), first, flags)
FAIL(int, flock, ENOLCK, -1, (int fd, int how), fd, how)
FAIL(int, posix_spawnp, EAGAIN, EAGAIN, (pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attributes, char *const *argv, char *const *env), pid, file, actions, attributes, argv, env)
FAIL(int, pthread_create, EAGAIN, EAGAIN, (pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *user), thread, attributes, run, user)
FAIL(void *, dlopen, ENOENT, NULL, (const char *path, int flags), path, flags)
FAIL(ssize_t, getrandom, EAGAIN, -1, (void *to, size_t size, unsigned flags), to, size, flags)
FAIL(struct event *, event_new, ENOMEM, NULL, (struct event_base *base, evutil_socket_t fd, short what, event_callback_fn run, void *user), base, fd, what, run, user)
FAIL(ssize_t, sendmsg, ECONNRESET, -1, (int fd, const struct msghdr *message, int flags), fd, message, flags)
FAIL(ssize_t, sendto, ECONNRESET, -1, (int fd, const void *from, size_t size, int flags, const struct sockaddr *to, socklen_t length), fd, from, size, flags, to, length)
FAIL(int, setsockopt, ENOPROTOOPT, -1, (int fd, int level, int name, const void *value, socklen_t size), fd, level, name, value, size)
FAIL(int, getsockname, ENOBUFS, -1, (int fd, struct sockaddr *to, socklen_t *size), fd, to, size)
FAIL(ssize_t, getdents64, EIO, -1, (int fd, void *to, size_t size), fd, to, size)
FAIL(struct dirent64 *, readdir64, EIO, NULL, (DIR *folder), folder)
FAIL(int, lstat64, EIO, -1, (const char *path, void *to), path, to)
FAIL(int, statx, EIO, -1, (int folder, const char *path, int flags, unsigned mask, void *to), folder, path, flags, mask, to)
FAIL(int, statvfs64, EIO, -1, (const char *path, void *to), path, to)
FAIL(ssize_t, readlinkat, EACCES, -1, (int folder, const char *path, char *to, size_t size), folder, path, to, size)
FAIL(int, mkdirat, EROFS, -1, (int folder, const char *path, mode_t mode), folder, path, mode)
FAIL(int, mkostemp64, EROFS, -1, (char *path, int flags), path, flags)
FAIL(int, chmod, EPERM, -1, (const char *path, mode_t mode), path, mode)
FAIL(int, fchmod, EPERM, -1, (int fd, mode_t mode), fd, mode)
FAIL(size_t, fread, EIO, 0, (void *to, size_t size, size_t count, FILE *file), to, size, count, file)
FAIL(char *, fgets, EIO, NULL, (char *to, int size, FILE *file), to, size, file)
FAIL(void *, dlsym, ENOENT, NULL, (void *library, const char *name), library, name)
FAIL(int, getpwuid_r, EIO, EIO, (uid_t uid, void *entry, char *to, size_t size, void *result), uid, entry, to, size, result)
FAIL(struct event_base *, event_base_new_with_config, ENOMEM, NULL, (const struct event_config *config), config)
FAIL(int, event_add, ENOMEM, -1, (struct event *event, const struct timeval *after), event, after)
FAIL(json_t *, json_object, ENOMEM, NULL, (void))
FAIL(json_t *, json_array, ENOMEM, NULL, (void))
FAIL(json_t *, json_string, ENOMEM, NULL, (const char *text), text)
FAIL(json_t *, json_integer, ENOMEM, NULL, (json_int_t value), value)
FAIL(json_t *, json_loadb, ENOMEM, NULL, (const char *text, size_t size, size_t flags, json_error_t *error), text, size, flags, error)
FAIL(char *, json_dumps, ENOMEM, NULL, (const json_t *value, size_t flags), value, flags)
FAIL(int, evbuffer_add, ENOMEM, -1, (struct evbuffer *buffer, const void *from, size_t size), buffer, from, size)
/* clang-format on */

/* SQLite is loaded when it is needed: its functions are replaced then. */
static struct sqlite_library real_sqlite;

#define FAIL_SQLITE(name, bad, parameters, ...)                                  \
    static int failing_##name parameters                                         \
    {                                                                            \
        return due("sqlite3_" #name, EIO) ? bad : real_sqlite.name(__VA_ARGS__); \
    }
/* clang-format off */
FAIL_SQLITE(open_v2, SQLITE_CANTOPEN, (const char *path, sqlite3 **db, int flags, const char *vfs), path, db, flags, vfs)
FAIL_SQLITE(prepare_v3, SQLITE_IOERR, (sqlite3 *db, const char *sql, int size, unsigned flags, sqlite3_stmt **to, const char **tail), db, sql, size, flags, to, tail)
FAIL_SQLITE(step, SQLITE_FULL, (sqlite3_stmt *statement), statement)
FAIL_SQLITE(exec, SQLITE_IOERR, (sqlite3 *db, const char *sql, int (*each)(void *, int, char **, char **), void *user, char **message), db, sql, each, user, message)
/* clang-format on */

int __real_sqlite_load(struct error *err);
int __wrap_sqlite_load(struct error *err);
int __wrap_sqlite_load(struct error *err)
{
    int rc = __real_sqlite_load(err);
    if (rc == 0 && !real_sqlite.step) {
        real_sqlite = sqlite;
        sqlite.open_v2 = failing_open_v2;
        sqlite.prepare_v3 = failing_prepare_v3;
        sqlite.step = failing_step;
        sqlite.exec = failing_exec;
    }
    return rc;
}

int __real_open64(const char *path, int flags, mode_t mode);
int __wrap_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0;
    va_end(more);
    if (due("open64", EMFILE)) {
        errno = EMFILE;
        return -1;
    }
    return reads_are_to_fail() ? -1 : __real_open64(path, flags, mode);
}

int __real_openat64(int folder, const char *path, int flags, mode_t mode);
int __wrap_openat64(int folder, const char *path, int flags, ...);
int __wrap_openat64(int folder, const char *path, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0;
    va_end(more);
    if (due("openat64", EMFILE)) {
        errno = EMFILE;
        return -1;
    }
    return reads_are_to_fail() ? -1 : __real_openat64(folder, path, flags, mode);
}

/* ---- one child for each n ---- */

int __real_main(int argc, char **argv);
int __wrap_main(int argc, char **argv);

enum { PATIENCE_S = 60, SIDE_BY_SIDE = 8 };

/* A client that asks the daemon for this and that, as long as it may live. */
static void ask(int alive_ms)
{
    static const char *const paths[] = {"/api/health",    "/metrics",    "/api/status", "/api/resources",
                                        "/api/processes", "/api/events", "/",           "/nothing"};
    struct sockaddr_un place = {.sun_family = AF_UNIX};
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    long end = now.tv_sec * 1000 + now.tv_nsec / 1000000 + alive_ms;
    snprintf(place.sun_path, sizeof place.sun_path, "%s/whirr.sock", getenv("RUNTIME_DIRECTORY"));
    for (size_t i = 0;; i++) {
        char text[4096];
        clock_gettime(CLOCK_MONOTONIC, &now);
        if (now.tv_sec * 1000 + now.tv_nsec / 1000000 >= end)
            return;
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &(struct timeval){.tv_sec = 1}, sizeof(struct timeval));
        int size = snprintf(text, sizeof text, "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", paths[i % 8]);
        if (connect(fd, (struct sockaddr *)&place, sizeof place) == 0 && send(fd, text, (size_t)size, MSG_NOSIGNAL) == size)
            while (recv(fd, text, sizeof text, 0) > 0)
                continue;
        close(fd);
        usleep(10000);
    }
}

static _Noreturn void be_the_command(long n, int alive_ms, int words, int argc, char **argv)
{
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (dup2(words, STDERR_FILENO) < 0 || (!getenv("WHIRR_FAILING_SHOW") && dup2(nowhere, STDOUT_FILENO) < 0))
        abort();
    alarm(PATIENCE_S); /* a hang ends by SIGALRM */
    if (alive_ms) {
        /* A process of its own, so that nothing in this one changes. */
        pid_t self = getpid();
        if (fork() == 0) {
            close(words);
            close(STDOUT_FILENO);
            close(STDERR_FILENO);
            seen = NULL; /* here nothing fails */
            ask(alive_ms);
            kill(self, SIGTERM);
            _exit(0);
        }
    }
    atomic_store(&seen->at, n);
    exit(__real_main(argc, argv));
}

/* What is said when a client waited in vain for an answer that a failed call had kept from coming. */
static bool waited_in_vain(int words)
{
    char text[1024];
    ssize_t got = pread(words, text, sizeof text - 1, 0);
    text[got > 0 ? got : 0] = '\0';
    return strstr(text, "answered within");
}

static const char *judge(int status, off_t words)
{
    if (WIFSIGNALED(status))
        return WTERMSIG(status) == SIGALRM ? "hangs" : WTERMSIG(status) == SIGTERM ? NULL : "crashes";
    int code = WEXITSTATUS(status);
    if (code == 99) /* AddressSanitizer, by ASAN_OPTIONS */
        return "is wrong in memory";
    return code && words == 0 ? "ends without a word" : NULL;
}

/* A child that runs the command. */
struct run {
    pid_t pid; /* 0: none */
    long n;
    int words; /* what it said on stderr */
    struct seen *seen;
    char folder[40]; /* its own: state, sockets */
};

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

static void start(struct run *r, long n, int alive_ms, int argc, char **argv)
{
    char name[] = "/tmp/whirr-failing-XXXXXX";
    r->n = n;
    r->words = mkostemp(name, O_CLOEXEC);
    *r->seen = (struct seen){0};
    if (r->words < 0)
        abort();
    unlink(name);
    strcpy(r->folder, "/tmp/whirr-failing-XXXXXX");
    if (!mkdtemp(r->folder))
        abort();
    fflush(NULL);
    r->pid = fork();
    if (r->pid < 0)
        abort();
    if (r->pid > 0)
        return;
    static const char *const homes[] = {"HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "STATE_DIRECTORY", "RUNTIME_DIRECTORY"};
    for (size_t i = 0; i < sizeof homes / sizeof homes[0]; i++)
        setenv(homes[i], r->folder, 1);
    seen = r->seen;
    be_the_command(n, alive_ms, r->words, argc, argv);
}

/* Whether it was wrong. */
static bool finish(struct run *r, int status, const char *command)
{
    char line[512] = "";
    struct stat info;
    const char *wrong = fstat(r->words, &info) == 0 ? judge(status, info.st_size) : "cannot be judged";
    if (!wrong && waited_in_vain(r->words))
        wrong = "waits in vain";
    if (wrong) {
        ssize_t got = pread(r->words, line, sizeof line - 1, info.st_size > 500 ? info.st_size - 500 : 0);
        line[got > 0 ? got : 0] = '\0';
        printf("WRONG %s: %s after call %ld failed (%s), status %x: %s\n", command, wrong, r->n, r->seen->name, (unsigned)status,
               line);
    }
    close(r->words);
    nftw(r->folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    r->pid = 0;
    return wrong != NULL;
}

static bool wait_for_one(struct run *runs, const char *command)
{
    int status;
    pid_t pid = wait(&status);
    for (int i = 0; i < SIDE_BY_SIDE; i++)
        if (pid > 0 && runs[i].pid == pid)
            return finish(&runs[i], status, command);
    abort();
}

static struct run *free_run(struct run *runs)
{
    for (int i = 0; i < SIDE_BY_SIDE; i++)
        if (runs[i].pid == 0)
            return &runs[i];
    return NULL;
}

static bool any_run(const struct run *runs)
{
    for (int i = 0; i < SIDE_BY_SIDE; i++)
        if (runs[i].pid)
            return true;
    return false;
}

int __wrap_main(int argc, char **argv)
{
    long from = 1, to = 0, most = 0, tried = 0, wrong = 0;
    struct run runs[SIDE_BY_SIDE] = {0}, *r;
    const char *told = getenv("WHIRR_FAILING_READS");
    int fd = told ? open(told, O_RDONLY | O_CLOEXEC) : -1;
    if (told) {
        void *at = mmap(NULL, sizeof *reads_fail, PROT_READ, MAP_SHARED, fd, 0);
        reads_fail = at == MAP_FAILED ? NULL : at;
        return reads_fail ? __real_main(argc, argv) : 2;
    }
    if (argc < 4 || sscanf(argv[1], "%ld-%ld/%ld", &from, &to, &most) < 2)
        return 2;
    int alive_ms = (int)strtol(argv[2], NULL, 10);
    const char *row = getenv("WHIRR_FAILING_IN_A_ROW");
    in_a_row = row ? strtol(row, NULL, 10) : 1;
    argv += 2;
    argc -= 2;
    argv[0] = (char *)"whirr";
    for (int i = 0; i < SIDE_BY_SIDE; i++) {
        runs[i].seen = mmap(NULL, sizeof *seen, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (runs[i].seen == MAP_FAILED)
            return 2;
    }
    start(&runs[0], LONG_MAX, alive_ms, argc, argv); /* nothing fails: how many calls are there? */
    bool fine = !wait_for_one(runs, argv[1]);
    long calls = atomic_load(&runs[0].seen->calls);
    to = to < calls ? to : calls;
    double step = most > 0 && to - from + 1 > most ? (double)(to - from + 1) / (double)most : 1;
    for (double at = (double)from; fine && (long)at <= to; at += step) {
        while (!(r = free_run(runs)))
            wrong += wait_for_one(runs, argv[1]);
        start(r, (long)at, alive_ms, argc, argv);
        tried++;
    }
    while (any_run(runs))
        wrong += wait_for_one(runs, argv[1]);
    printf("%s: %ld of %ld calls failed in turn, %ld wrong\n", argv[1], tried, calls, wrong);
    return fine && wrong == 0 && tried > 0 ? 0 : 1;
}
