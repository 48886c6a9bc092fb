/* SPDX-License-Identifier: Apache-2.0
 * Lines of the kernel log and their times.
 *
 *   6,1234,5678901,-;NVRM: Xid (...)                    /dev/kmsg: microseconds since boot; indented lines continue it
 *   [ 5678.901234] NVRM: Xid (...)                      dmesg
 *   2026-11-15T05:10:16.1+00:00 box kernel: ...         a log daemon
 *   Nov 15 05:10:16 box kernel: [ 5678.901234] ...      an older one
 */
#include "host/kernel_log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"

enum {
    CHUNK = 64 * 1024,    /* also the maximum length of a line */
    TAIL_MAX = 8 << 20,   /* for a log daemon's file */
    MISSED_MAX = 1 << 20, /* records overwritten while we read: stop for now */
};

struct kernel_log {
    const struct env *env;
    enum kernel_log_state state;
    int fd;
    bool device; /* one record per read */
    struct wall booted;
    size_t begin, end; /* of the bytes not yet returned */
    char buffer[CHUNK + 1];
};

static const char *const places[] = {"/dev/kmsg", "/var/log/kern.log", "/var/log/dmesg", "/var/log/messages"};

/* Boot time, by the kernel's account. */
static struct wall boot_time(const struct env *env)
{
    if (!env_is_recorded(env))
        return (struct wall){clock_wall(env->clock).ms - clock_mono(env->clock).ns / NS_PER_MS};
    AUTO_BUF struct buf text = BUF(1 << 20);
    if (file_read_all(env, "/proc/stat", &text) < 0)
        return (struct wall){0};
    struct str rest = buf_view(&text), line;
    int64_t seconds;
    while (str_cut(&rest, '\n', &line))
        if (str_starts(line, "btime ") && str_to_i64((struct str){line.at + 6, line.len - 6}, &seconds))
            return (struct wall){seconds * MS_PER_S};
    return (struct wall){0};
}

/* Some kernels let any user open the device and refuse the first read. */
static int try_descriptor(struct kernel_log *log, int *fd)
{
    struct stat st;
    if (*fd < 0 || fstat(*fd, &st) < 0)
        return -errno;
    bool device = S_ISCHR(st.st_mode);
    if (!device && !S_ISREG(st.st_mode))
        return -ENODEV;
    if (device && read(*fd, log->buffer, CHUNK) < 0 && errno != EAGAIN && errno != EPIPE)
        return -errno;
    off_t from = device || st.st_size <= TAIL_MAX ? 0 : st.st_size - TAIL_MAX;
    lseek(*fd, from, SEEK_SET); /* for the device: the oldest available record */
    log->device = device;
    log->fd = *fd;
    *fd = -1;
    return 0;
}

static int try_place(struct kernel_log *log, const char *place)
{
    char path[PATH_SIZE];
    int rc = env_path(log->env, path, "%s", place);
    if (rc < 0)
        return rc;
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    return try_descriptor(log, &fd);
}

/* systemd opens the device for the unit, so that the daemon needs no privilege: with OpenFile=, and before systemd 253 as stdin. */
static int try_handed_over(struct kernel_log *log)
{
    struct stat st;
    int given = env_handed_over("kernel-log");
    if (given < 0 && fstat(STDIN_FILENO, &st) == 0 && S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 11))
        given = STDIN_FILENO;
    if (given < 0 || env_is_recorded(log->env))
        return -ENOENT;
    AUTO_CLOSE int fd = fcntl(given, F_DUPFD_CLOEXEC, 3);
    if (fd < 0 || fcntl(fd, F_SETFL, O_NONBLOCK) < 0)
        return -errno;
    return try_descriptor(log, &fd);
}

struct kernel_log *kernel_log_open(const struct env *env)
{
    struct kernel_log *log = calloc(1, sizeof *log);
    if (!log)
        return NULL;
    log->env = env;
    log->fd = -1;
    log->state = KERNEL_LOG_ABSENT;
    log->booted = boot_time(env);
    if (try_handed_over(log) == 0)
        log->state = KERNEL_LOG_READ;
    for (size_t i = 0; i < ARRAY_LEN(places) && log->state != KERNEL_LOG_READ; i++) {
        int rc = try_place(log, places[i]);
        if (rc == 0)
            log->state = KERNEL_LOG_READ;
        else if (rc == -EPERM || rc == -EACCES)
            log->state = KERNEL_LOG_DENIED;
    }
    return log;
}

void kernel_log_close(struct kernel_log *log)
{
    if (log && log->fd >= 0)
        close(log->fd);
    free(log);
}

enum kernel_log_state kernel_log_state(const struct kernel_log *log)
{
    return log->state;
}

const char *kernel_log_message(const struct kernel_log *log)
{
    switch (log->state) {
    case KERNEL_LOG_READ: return "";
    case KERNEL_LOG_DENIED:
        return "The kernel log may not be read, so driver errors from before this moment are not known: run it with sudo, or give "
               "the service CAP_SYSLOG (AmbientCapabilities= in its unit).";
    case KERNEL_LOG_ABSENT: break;
    }
    return "No kernel log here (perhaps a container), so earlier driver errors are unknown; check the log on the host.";
}

/* ---- lines ---- */

/* Reads more bytes after the remaining ones; false: none now. */
static bool kernel_log_fill(struct kernel_log *log)
{
    memmove(log->buffer, log->buffer + log->begin, log->end - log->begin);
    log->end -= log->begin;
    log->begin = 0;
    if (log->end == CHUNK)
        log->end = 0; /* an endless line: drop it */
    for (int missed = 0; missed < MISSED_MAX; missed++) {
        /* The device returns whole records, and EINVAL if the buffer is too small. */
        size_t room = CHUNK - log->end;
        if (log->device && room < CHUNK / 2)
            return false;
        ssize_t got = read(log->fd, log->buffer + log->end, room);
        if (got > 0) {
            log->end += (size_t)got;
            return true;
        }
        if (got == 0 || (errno != EPIPE && errno != EINTR))
            return false;
    }
    return false;
}

static bool take_line(struct kernel_log *log, struct str *line)
{
    for (;;) {
        char *at = log->buffer + log->begin, *end = memchr(at, '\n', log->end - log->begin);
        if (end) {
            *line = (struct str){at, (size_t)(end - at)};
            log->begin += line->len + 1;
            return true;
        }
        if (!kernel_log_fill(log))
            return false;
    }
}

/* ---- times ---- */

static struct wall since_boot(const struct kernel_log *log, int64_t us)
{
    return log->booted.ms ? (struct wall){log->booted.ms + us / 1000} : clock_wall(log->env->clock);
}

/* "6,1234,5678901,-;text" */
static bool read_record(const struct kernel_log *log, struct str line, struct kernel_line *ret)
{
    struct str head, number, rest = line;
    int64_t us;
    const char *semicolon = memchr(line.at, ';', MIN_OF(line.len, (size_t)80));
    if (!semicolon || !line.len || line.at[0] < '0' || line.at[0] > '9')
        return false;
    head = (struct str){line.at, (size_t)(semicolon - line.at)};
    for (int i = 0; i < 3; i++)
        if (!str_cut(&head, ',', &number))
            return false;
    if (!str_to_i64(number, &us))
        return false;
    size_t skip = (size_t)(semicolon - line.at) + 1;
    *ret = (struct kernel_line){.at = since_boot(log, us), .us = us, .text = {rest.at + skip, rest.len - skip}};
    return true;
}

/* Removes "[ 5678.901234] " from the front of `line`. */
static bool read_bracket(struct str *line, int64_t *us)
{
    const char *close = memchr(line->at, ']', MIN_OF(line->len, (size_t)40));
    if (!line->len || line->at[0] != '[' || !close)
        return false;
    struct str inside = str_trim((struct str){line->at + 1, (size_t)(close - line->at) - 1});
    if (!str_to_scaled(inside, 1000000, us))
        return false;
    size_t skip = (size_t)(close - line->at) + 1;
    *line = str_trim((struct str){line->at + skip, line->len - skip});
    return true;
}

/* A line written by a log daemon. */
static void read_logged(const struct kernel_log *log, struct str line, struct kernel_line *ret)
{
    static const char mark[] = " kernel: ";
    struct str rest = line, word = {0};
    int64_t us;
    *ret = (struct kernel_line){.at = clock_wall(log->env->clock), .us = -1, .text = line};
    bool dated = str_word(&rest, &word) && wall_parse(word, &ret->at);
    for (size_t i = 0; i + sizeof mark - 1 <= MIN_OF(line.len, (size_t)300); i++)
        if (memcmp(line.at + i, mark, sizeof mark - 1) == 0) {
            ret->text = (struct str){line.at + i + sizeof mark - 1, line.len - i - (sizeof mark - 1)};
            break;
        }
    if (!read_bracket(&ret->text, &us))
        return;
    ret->us = us;
    if (!dated)
        ret->at = since_boot(log, us);
}

bool kernel_log_next(struct kernel_log *log, struct kernel_line *ret)
{
    struct str line;
    while (log->state == KERNEL_LOG_READ && take_line(log, &line)) {
        if (line.len == 0 || line.at[0] == ' ')
            continue;
        if (!read_record(log, line, ret))
            read_logged(log, line, ret);
        ret->boot = str_starts(ret->text, "Linux version ");
        return true;
    }
    return false;
}
