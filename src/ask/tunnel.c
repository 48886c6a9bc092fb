/* SPDX-License-Identifier: Apache-2.0
 * Starts and ends ssh.
 *
 *   ssh -N -L DIR/0:/run/whirr/whirr.sock -L DIR/1:127.0.0.1:9447 NAME
 *   ssh -N -L 127.0.0.1:PORT:/run/whirr/whirr.sock -L 127.0.0.1:PORT:127.0.0.1:9447 NAME     on Windows
 *
 * The first end is the remote system's daemon. The socket path of a user's own daemon is unknown here, but it listens on loopback.
 */
#include "ask/tunnel.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/os/pipe.h"
#include "base/os/program.h"
#include "base/str.h"

enum { STEP_MS = 10, ASKING_MS = 120000, END_WITHIN_MS = 2000 };

#define SYSTEM_SOCKET "/run/whirr/whirr.sock"

struct tunnel {
    pid_t pid;
    int said_fd;
    char said[4096];
    size_t said_len;
    char line[512];
    struct tunnel_ends ends;
    char target[TUNNEL_ENDS_MAX][128];
};

/* ---- its messages ---- */

static void listen_to(struct tunnel *t)
{
    char piece[1024];
    ssize_t n;
    struct pollfd end = {.fd = t->said_fd, .events = POLLIN};
    while (t->said_fd >= 0 && pipe_poll(&end, 1, 0) > 0 && (n = read(t->said_fd, piece, sizeof piece)) > 0) {
        size_t kept = MIN_OF((size_t)n, sizeof t->said - t->said_len);
        memcpy(t->said + t->said_len, piece, kept);
        t->said_len += kept;
    }
}

const char *tunnel_said(struct tunnel *t)
{
    listen_to(t);
    struct str rest = {t->said, t->said_len}, line;
    t->line[0] = '\0';
    while (str_cut(&rest, '\n', &line)) {
        line = str_trim(line);
        if (line.len && !str_starts(line, "Warning: Permanently added"))
            str_copy_clean(t->line, sizeof t->line, line);
    }
    return t->line;
}

/* ---- starting ---- */

static void choose_targets(struct tunnel *t, const struct host_place *p)
{
    t->ends.count = p->socket[0] ? 1 : TUNNEL_ENDS_MAX;
    snprintf(t->target[0], sizeof t->target[0], "%s", p->socket[0] ? p->socket : SYSTEM_SOCKET);
    snprintf(t->target[1], sizeof t->target[1], "127.0.0.1:%d", HOST_PORT);
}

static int tunnel_start(struct tunnel *t, const struct host_place *p, bool may_ask, struct error *err)
{
    char forwards[TUNNEL_ENDS_MAX][256], port[16], connect[48];
    const char *argv[40];
    size_t n = 0;
    snprintf(connect, sizeof connect, "ConnectTimeout=%lld", (long long)MAX_OF(p->timeout_ms / MS_PER_S, 1));
    snprintf(port, sizeof port, "%d", p->port);
    const char *const fixed[] = {"ssh",
                                 "-N",
                                 "-T",
                                 "-a",
                                 "-x",
                                 "-o",
                                 connect,
                                 "-o",
                                 "ControlPath=none",
                                 "-o",
                                 "PermitLocalCommand=no",
                                 "-o",
                                 "ExitOnForwardFailure=yes",
                                 "-o",
                                 "StreamLocalBindMask=0177",
                                 "-o",
                                 "LogLevel=ERROR",
                                 "-o",
                                 may_ask ? "BatchMode=no" : "BatchMode=yes",
                                 "-o",
                                 "ServerAliveInterval=15"};
    for (size_t i = 0; i < ARRAY_LEN(fixed); i++)
        argv[n++] = fixed[i];
    for (int i = 0; i < t->ends.count; i++) {
        snprintf(forwards[i], sizeof forwards[i], "%s:%s", t->ends.place[i], t->target[i]);
        argv[n++] = "-L";
        argv[n++] = forwards[i];
    }
    if (p->port) {
        argv[n++] = "-p";
        argv[n++] = port;
    }
    if (p->user[0]) {
        argv[n++] = "-l";
        argv[n++] = p->user;
    }
    argv[n++] = "--";
    argv[n++] = p->address;
    argv[n] = NULL;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return error_set(err, -errno, "cannot make a pipe: %s", strerror(errno));
    int rc = launch_companion(argv, ends[1], &t->pid);
    close(ends[1]);
    t->said_fd = ends[0];
    return rc < 0 ? error_set(err, rc, "cannot start ssh: %s", strerror(-rc)) : 0;
}

static void nap(void)
{
    const struct timespec step = {.tv_nsec = STEP_MS * NS_PER_MS};
    nanosleep(&step, NULL);
}

static int wait_for_login(struct tunnel *t, const struct host_place *p, bool may_ask, struct error *err)
{
    struct mono began = clock_mono(&clock_system);
    /* Longer than ssh's own connect timeout, to leave time for the login. */
    int64_t limit_ms = may_ask ? ASKING_MS : 2 * MAX_OF(p->timeout_ms, MS_PER_S);
    for (;;) {
        int status;
        if (tunnel_ends_there(&t->ends, t->pid))
            return 0;
        if (waitpid(t->pid, &status, WNOHANG) == t->pid) {
            t->pid = -1;
            const char *said = tunnel_said(t);
            return error_set(err, -ECONNREFUSED, "%s", said[0] ? said : "ssh ended without a message");
        }
        if (mono_since_ms(clock_mono(&clock_system), began) > limit_ms)
            return error_set(err, -ETIMEDOUT, "ssh did not log in within %lld s%s%s", (long long)(limit_ms / MS_PER_S),
                             tunnel_said(t)[0] ? ": " : "", tunnel_said(t));
        listen_to(t);
        nap();
    }
}

int tunnel_open(const struct host_place *place, bool may_ask, struct tunnel **ret, struct error *err)
{
    struct tunnel *t = calloc(1, sizeof *t);
    if (!t)
        return error_set(err, -ENOMEM, "out of memory");
    t->pid = t->said_fd = -1;
    choose_targets(t, place);
    int rc = tunnel_ends_make(&t->ends, err);
    if (rc == 0)
        rc = tunnel_start(t, place, may_ask, err);
    if (rc == 0)
        rc = wait_for_login(t, place, may_ask, err);
    if (rc == 0)
        *ret = t;
    else
        tunnel_close(t);
    return rc;
}

/* ---- ending ---- */

static void end_ssh(pid_t pid)
{
    struct mono began = clock_mono(&clock_system);
    kill(pid, SIGTERM);
    while (waitpid(pid, NULL, WNOHANG) == 0) {
        if (mono_since_ms(clock_mono(&clock_system), began) > END_WITHIN_MS) {
            kill(pid, SIGKILL);
            waitpid(pid, NULL, 0);
            return;
        }
        nap();
    }
}

void tunnel_close(struct tunnel *t)
{
    if (!t)
        return;
    if (t->pid > 0)
        end_ssh(t->pid);
    if (t->said_fd >= 0)
        close(t->said_fd);
    tunnel_ends_remove(&t->ends);
    free(t);
}

const char *tunnel_socket(const struct tunnel *t, int n)
{
    return n < t->ends.count ? t->ends.place[n] : NULL;
}

const char *tunnel_target(const struct tunnel *t, int n)
{
    return n < t->ends.count ? t->target[n] : NULL;
}
