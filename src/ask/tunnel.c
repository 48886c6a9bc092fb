/* SPDX-License-Identifier: Apache-2.0
 * Starts ssh, and ends it.
 *
 *   ssh -N -L DIR/0:/run/whirr/whirr.sock -L DIR/1:127.0.0.1:9447 NAME
 *
 * The first is the system's daemon there; a user's own has a socket whose path is not known from here, but listens on loopback.
 */
#include "ask/tunnel.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "config/places.h"

enum { TARGETS = 2, STEP_MS = 10, ASKING_MS = 120000, END_WITHIN_MS = 2000 };

#define SYSTEM_SOCKET "/run/whirr/whirr.sock"

struct tunnel {
    pid_t pid;
    int said_fd;
    char said[4096];
    size_t said_len;
    char line[512];
    char folder[100];
    int count;
    char socket[TARGETS][108];
    char target[TARGETS][128];
};

/* The files of a tunnel that is open, for a signal that ends us; one program has one tunnel. */
static char left_behind[TARGETS + 1][108];

void tunnel_abandon(void)
{
    for (int i = 0; i < TARGETS; i++)
        if (left_behind[i][0])
            unlink(left_behind[i]);
    if (left_behind[TARGETS][0])
        rmdir(left_behind[TARGETS]);
}

static void on_signal(int number)
{
    tunnel_abandon();
    signal(number, SIG_DFL);
    raise(number);
}

/* A command that ends at a signal in its own way keeps it, and calls tunnel_abandon(). */
static void watch_signals(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction now, action = {.sa_handler = on_signal};
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
        if (sigaction(numbers[i], NULL, &now) == 0 && now.sa_handler == SIG_DFL)
            sigaction(numbers[i], &action, NULL);
}

/* ---- what it says ---- */

static void listen_to(struct tunnel *t)
{
    char piece[1024];
    ssize_t n;
    while (t->said_fd >= 0 && (n = read(t->said_fd, piece, sizeof piece)) > 0) {
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

static int make_folder(struct tunnel *t, struct error *err)
{
    char runtime[PLACE_SIZE];
    bool fits = place_runtime(runtime, NULL) == 0 && strlen(runtime) < 80; /* a socket's path has at most 107 bytes */
    const char *base = fits ? runtime : "/tmp";
    snprintf(t->folder, sizeof t->folder, "%s/whirr-ssh-XXXXXX", base);
    if (mkdtemp(t->folder)) /* 0700: no other user reaches the socket in it */
        return 0;
    int rc = -errno;
    t->folder[0] = '\0';
    return error_set(err, rc, "cannot make a directory below %s: %s", base, strerror(-rc));
}

static void choose_targets(struct tunnel *t, const struct host_place *p)
{
    t->count = p->socket[0] ? 1 : TARGETS;
    snprintf(t->target[0], sizeof t->target[0], "%s", p->socket[0] ? p->socket : SYSTEM_SOCKET);
    snprintf(t->target[1], sizeof t->target[1], "127.0.0.1:%d", HOST_PORT);
    for (int i = 0; i < t->count; i++)
        snprintf(t->socket[i], sizeof t->socket[i], "%s/%d", t->folder, i);
    for (int i = 0; i < t->count; i++)
        str_copy(left_behind[i], sizeof left_behind[i], str_from(t->socket[i]));
    str_copy(left_behind[TARGETS], sizeof left_behind[TARGETS], str_from(t->folder));
    watch_signals();
}

/* In the child: only what is allowed between fork and exec. */
static void become_ssh(const char *const *argv, int said, pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGTERM); /* also when we are killed */
    if (getppid() != parent)
        _exit(127);
    int null = open("/dev/null", O_RDWR);
    dup2(null, STDIN_FILENO);
    dup2(null, STDOUT_FILENO);
    dup2(said, STDERR_FILENO);
    signal(SIGPIPE, SIG_DFL);
    execvp(argv[0], (char *const *)argv);
    dprintf(STDERR_FILENO, "cannot run ssh: %s", strerror(errno));
    _exit(127);
}

static int tunnel_start(struct tunnel *t, const struct host_place *p, bool may_ask, struct error *err)
{
    char forwards[TARGETS][256], port[16], connect[48];
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
                                 "StreamLocalBindMask=0177",
                                 "-o",
                                 "LogLevel=ERROR",
                                 "-o",
                                 may_ask ? "BatchMode=no" : "BatchMode=yes",
                                 "-o",
                                 "ServerAliveInterval=15"};
    for (size_t i = 0; i < ARRAY_LEN(fixed); i++)
        argv[n++] = fixed[i];
    for (int i = 0; i < t->count; i++) {
        snprintf(forwards[i], sizeof forwards[i], "%s:%s", t->socket[i], t->target[i]);
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
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    pid_t parent = getpid();
    t->pid = fork();
    if (t->pid == 0)
        become_ssh(argv, ends[1], parent);
    int rc = t->pid < 0 ? -errno : 0;
    close(ends[1]);
    t->said_fd = ends[0];
    return rc < 0 ? error_set(err, rc, "cannot start ssh: %s", strerror(-rc)) : 0;
}

static void nap(void)
{
    const struct timespec step = {.tv_nsec = STEP_MS * NS_PER_MS};
    nanosleep(&step, NULL);
}

/* Its sockets appear after the login. */
static int wait_for_login(struct tunnel *t, const struct host_place *p, bool may_ask, struct error *err)
{
    struct mono began = clock_mono(&clock_system);
    /* Its own limit on connecting comes first; then the login. */
    int64_t limit_ms = may_ask ? ASKING_MS : 2 * MAX_OF(p->timeout_ms, MS_PER_S);
    for (;;) {
        int status;
        if (access(t->socket[t->count - 1], F_OK) == 0)
            return 0;
        if (waitpid(t->pid, &status, WNOHANG) == t->pid) {
            t->pid = -1;
            const char *said = tunnel_said(t);
            return error_set(err, -ECONNREFUSED, "%s", said[0] ? said : "ssh ended without a word");
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
    int rc = make_folder(t, err);
    if (rc == 0) {
        choose_targets(t, place);
        rc = tunnel_start(t, place, may_ask, err);
    }
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
    for (int i = 0; i < t->count; i++)
        unlink(t->socket[i]);
    if (t->folder[0])
        rmdir(t->folder);
    memset(left_behind, 0, sizeof left_behind);
    free(t);
}

const char *tunnel_socket(const struct tunnel *t, int n)
{
    return n < t->count ? t->socket[n] : NULL;
}

const char *tunnel_target(const struct tunnel *t, int n)
{
    return n < t->count ? t->target[n] : NULL;
}
