/* SPDX-License-Identifier: Apache-2.0
 * Fixed-size messages over a socket pair; the watchdog's only knowledge is the list of fans it received.
 */
#include "control/control.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "lease/lease_settings.h"
#include "source/source_control.h"

/* Together under three seconds, including the driver's time. */
enum {
    TICK_MS = 400,
    UNREAD_MS = 1500,
    BUSY_MS = 2000,
    READY_MS = 10000,
    RECOVER_TRIES = 30,
    RECOVER_PAUSE_MS = 2000,
    ENDING_LEAST_MS = 25,
    ENDING_MOST_MS = 1600
};

enum watch_what { WATCH_FAN, WATCH_NO_MORE, WATCH_BUSY, WATCH_IDLE, WATCH_READY, WATCH_REFUSED, WATCH_GIVEN };

struct watch_message {
    enum watch_what what;
    char gpu[GPU_UUID_SIZE];
    char why[WATCH_WHY_SIZE];
};

/* Never blocks: if a message doesn't fit, the other side has no time for it. */
static int tell(int fd, enum watch_what what, const char *gpu, const char *why)
{
    struct watch_message m = {.what = what};
    str_copy(m.gpu, sizeof m.gpu, str_from(gpu));
    str_copy(m.why, sizeof m.why, str_from(why));
    return send(fd, &m, sizeof m, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)sizeof m ? 0 : -errno;
}

/* 1, 0: nothing now, -EPIPE: the other side is gone. */
static int hear(int fd, struct watch_message *ret)
{
    ssize_t got = recv(fd, ret, sizeof *ret, MSG_DONTWAIT);
    if (got == (ssize_t)sizeof *ret)
        return 1;
    return got < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -EPIPE;
}

/* ---- the keeper's side ---- */

/* Runs in the new process. Signals that end the whole terminal or service don't end it, and readers of our output don't wait for
 * it. */
static void __attribute__((noreturn)) become(const char *program, const char *const *words, const char *lease_dir, int end)
{
    const char *argv[8] = {"whirr"};
    size_t count = 1;
    setsid();
    for (int number = SIGHUP; number <= SIGTERM; number++)
        signal(number, SIG_IGN);
    signal(SIGCHLD, SIG_DFL);
    int nothing = open("/dev/null", O_RDWR);
    for (int fd = 0; fd <= 2 && nothing >= 0; fd++)
        dup2(nothing, fd);
    if (end == WATCHDOG_FD)
        fcntl(end, F_SETFD, 0);
    else
        dup2(end, WATCHDOG_FD);
    descriptors_close_from(WATCHDOG_FD + 1);
    while (*words && count < ARRAY_LEN(argv) - 1)
        argv[count++] = *words++;
    setenv("WHIRR_LEASE_DIR", lease_dir, 1);
    execv(program, (char *const *)argv);
    _exit(EXIT_FAILED);
}

int watchdog_start(const char *program, const char *const *words, const char *lease_dir)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return -errno;
    pid_t child = fork();
    if (child == 0)
        become(program, words, lease_dir, ends[1]);
    int code = errno;
    close(ends[1]);
    if (child < 0)
        close(ends[0]);
    return child < 0 ? -code : ends[0];
}

int watchdog_watch(int connection, const char *gpu, struct error *err)
{
    struct watch_message m = {.what = WATCH_IDLE};
    struct pollfd answer = {.fd = connection, .events = POLLIN};
    int rc = connection < 0 ? -ENOTCONN : tell(connection, WATCH_FAN, gpu, "");
    /* Ignore late answers about another fan. */
    while (rc == 0 && !(m.what == WATCH_READY && strcmp(m.gpu, gpu) == 0)) {
        int ready = poll(&answer, 1, READY_MS);
        rc = ready > 0 ? MIN_OF(hear(connection, &m), 0) : ready == 0 ? -ETIMEDOUT : errno == EINTR ? 0 : -errno;
        if (rc == 0 && ready > 0 && m.what == WATCH_REFUSED && strcmp(m.gpu, gpu) == 0)
            return error_set(err, -EIO, "the fan cannot be watched: %s", m.why);
    }
    return rc < 0 ? error_set(err, rc, "a fixed fan speed needs a process that watches it, and there is none: %s", strerror(-rc))
                  : 0;
}

void watchdog_unwatch(int connection, const char *gpu)
{
    if (connection >= 0)
        (void)tell(connection, WATCH_NO_MORE, gpu, "");
}

bool watchdog_busy(int connection, bool busy)
{
    return connection < 0 || tell(connection, busy ? WATCH_BUSY : WATCH_IDLE, "", "") != -EPIPE;
}

int watchdog_given(int connection, char gpu[GPU_UUID_SIZE], char why[WATCH_WHY_SIZE])
{
    struct watch_message m;
    int rc = connection < 0 ? 0 : hear(connection, &m);
    if (rc != 1 || m.what != WATCH_GIVEN)
        return MIN_OF(rc, 0);
    str_copy(gpu, GPU_UUID_SIZE, str_from(m.gpu));
    str_copy(why, WATCH_WHY_SIZE, str_from(m.why));
    return 1;
}

/* ---- the watchdog's side ---- */

struct watched_fan {
    char gpu[GPU_UUID_SIZE], why[WATCH_WHY_SIZE]; /* why: "" while there is no doubt */
    struct mono unread_since;                     /* ns 0: its temperature is readable */
    bool given;
    unsigned tries; /* attempts to restore it since the keeper is gone */
};

struct watchdog {
    const struct env *env;
    struct control_set set;
    struct mono busy_since; /* ns 0: the keeper isn't busy */
    bool alone;             /* the keeper is gone */
    size_t count;
    struct watched_fan fans[GPU_MAX];
};

static struct watched_fan *find_fan(struct watchdog *w, const char *gpu)
{
    for (size_t i = 0; i < w->count; i++)
        if (strcmp(w->fans[i].gpu, gpu) == 0)
            return &w->fans[i];
    return NULL;
}

/* Opens the driver with the first fan, and again after a driver reload. */
static const struct control_gpu *find_gpu(struct watchdog *w, const char *gpu, struct error *err)
{
    const struct control_gpu *found = control_find(&w->set, gpu);
    if (found)
        return found;
    control_close(&w->set);
    if (control_open(w->env, &w->set, err) < 0)
        return NULL;
    found = control_find(&w->set, gpu);
    if (!found)
        error_set(err, -ENODEV, "the GPU is gone");
    return found;
}

static void begin_watching(struct watchdog *w, const char *gpu)
{
    struct error err = {0};
    if (!find_gpu(w, gpu, &err) || (!find_fan(w, gpu) && w->count == GPU_MAX)) {
        (void)tell(WATCHDOG_FD, WATCH_REFUSED, gpu, err.text);
        return;
    }
    struct watched_fan *f = find_fan(w, gpu);
    if (!f) { /* a fan already watched keeps its doubts */
        f = &w->fans[w->count++];
        *f = (struct watched_fan){0};
    }
    if (w->busy_since.ns) /* the time to open the driver was ours, not the keeper's */
        w->busy_since = clock_mono(&clock_system);
    str_copy(f->gpu, sizeof f->gpu, str_from(gpu));
    (void)tell(WATCHDOG_FD, WATCH_READY, gpu, "");
}

static void take(struct watchdog *w, const struct watch_message *m)
{
    struct watched_fan *f = find_fan(w, m->gpu);
    if (m->what == WATCH_FAN)
        begin_watching(w, m->gpu);
    else if (m->what == WATCH_NO_MORE && f)
        *f = w->fans[--w->count];
    else if (m->what == WATCH_BUSY)
        w->busy_since = clock_mono(&clock_system);
    else if (m->what == WATCH_IDLE)
        w->busy_since.ns = 0;
}

/* Records why it must be restored, once. */
static void judge(struct watchdog *w, struct watched_fan *f, struct mono now)
{
    struct error err = {0};
    const struct control_gpu *gpu = find_gpu(w, f->gpu, &err);
    bool safe = gpu && control_fan_safe(gpu, &err), hot = err.code == -EOVERFLOW;
    if (safe || hot)
        f->unread_since.ns = 0;
    else if (!f->unread_since.ns)
        f->unread_since = now;
    if (hot || (!safe && mono_since_ms(now, f->unread_since) >= UNREAD_MS))
        snprintf(f->why, sizeof f->why, "%.120s: its fan is automatic again", err.text);
    else if (w->alone || (w->busy_since.ns && mono_since_ms(now, w->busy_since) >= BUSY_MS))
        snprintf(f->why, sizeof f->why, "the process that set it %s: its fan is automatic again", w->alone ? "has ended" : "hangs");
}

/* Keeps checking a restored fan until the keeper reports the end of its lease: it may have set it once more. */
static void give_back(struct watchdog *w, struct watched_fan *f)
{
    enum { ALONE_TRIES = 150 }; /* a minute: a GPU that fell off the bus never answers, and must not stay open forever */
    const struct control_value automatic = {.stock = true};
    struct control_state now;
    struct error err = {0};
    const struct control_gpu *gpu = find_gpu(w, f->gpu, &err);
    bool done = gpu && control_look(gpu, CONTROL_FAN, &now, NULL) == 0 && now.now_known && now.now.stock;
    if (gpu && !done)
        done = control_write(gpu, CONTROL_FAN, automatic, NULL) == 0;
    bool gone = w->alone && !done && (!gpu || ++f->tries >= ALONE_TRIES); /* gone, and its settings with it */
    if ((done || gone) && !f->given) {
        f->given = true;
        (void)tell(WATCHDOG_FD, WATCH_GIVEN, f->gpu, f->why);
    }
}

static void look_at_fans(struct watchdog *w)
{
    struct mono now = clock_mono(&clock_system);
    for (size_t i = 0; i < w->count; i++) {
        if (!w->fans[i].why[0])
            judge(w, &w->fans[i], now);
        if (w->fans[i].why[0])
            give_back(w, &w->fans[i]);
    }
    while (w->alone && w->count && w->fans[w->count - 1].given)
        w->count--;
}

/* Restores what dead processes left in the journal: returns the remaining leases, or -errno. An ending process closes its files
 * before it is gone, so recheck the remaining ones for a moment. */
static int recover(const struct env *env, const char *lease_dir)
{
    AUTO_LEASE_DIR struct lease_dir dir = LEASE_DIR_CLOSED;
    AUTO_CONTROL struct control_set set = {0};
    int rc = control_open(env, &set, NULL);
    if (rc == 0)
        rc = lease_dir_open_settings(&dir, lease_dir, NULL);
    for (int pause = ENDING_LEAST_MS; rc >= 0 && pause <= ENDING_MOST_MS; pause *= 2) {
        (void)lease_set_release_fans(&dir, &set, false, NULL);
        rc = lease_dir_lock(&dir, LEASE_LOCK_MS, NULL);
        if (rc == 0)
            rc = lease_set_recover(&dir, &set, false, NULL);
        lease_dir_unlock(&dir);
        if (rc == 0)
            break;
        poll(NULL, 0, pause);
    }
    return rc;
}

int watchdog_run(const struct env *env, const char *lease_dir)
{
    AUTO_FREE struct watchdog *w = calloc(1, sizeof *w);
    struct pollfd keeper = {.fd = WATCHDOG_FD, .events = POLLIN};
    if (!w)
        return -ENOMEM;
    w->env = env;
    while (!w->alone || w->count) {
        struct watch_message m;
        int heard = 0;
        if (poll(&keeper, w->alone ? 0 : 1, w->count ? TICK_MS : -1) > 0)
            while ((heard = hear(WATCHDOG_FD, &m)) == 1)
                take(w, &m);
        w->alone |= heard == -EPIPE;
        look_at_fans(w);
    }
    control_close(&w->set);
    int rc = recover(env, lease_dir);
    for (int i = 1; rc < 0 && rc != -ENODEV && i < RECOVER_TRIES; i++) {
        poll(NULL, 0, RECOVER_PAUSE_MS);
        rc = recover(env, lease_dir);
    }
    return MIN_OF(rc, 0);
}
