/* SPDX-License-Identifier: Apache-2.0
 * The helper receives requests on one socket: the index of a command, the program's descriptors, and one end of a socket pair for
 * this run. A child of the helper watches each program: it reports whether it started, kills it on request, and sends its exit
 * status.
 */
#include "base/launch/outside.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/os/program.h"

enum { CONTROL, OUT, DIAG, IN, FDS_MAX, CHANNEL = 3 };

/* ---- the helper ---- */

static void on_child(int signal)
{
    (void)signal;
}

static void outside_tell(int control, int value)
{
    send(control, &value, sizeof value, MSG_NOSIGNAL);
}

/* Runs until the program ends, or until the other side closes the socket and abandons it. */
static void attend(pid_t pid, int control, const sigset_t *unblocked)
{
    int status;
    char word;
    struct pollfd wait = {control, POLLIN, 0};
    while (waitpid(pid, &status, WNOHANG) == 0) {
        if (ppoll(&wait, 1, NULL, unblocked) <= 0)
            continue; /* interrupted by SIGCHLD */
        if (recv(control, &word, 1, 0) <= 0)
            return;
        kill(-pid, SIGKILL);
    }
    outside_tell(control, status);
}

static void run_one(const char *const *argv, const int fds[FDS_MAX])
{
    sigset_t child, before;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, &before);
    signal(SIGCHLD, on_child);
    close(CHANNEL);
    pid_t pid = 0;
    int rc = launch_spawn(argv, fds[IN], fds[OUT], fds[DIAG], &pid);
    for (int i = OUT; i < FDS_MAX; i++)
        if (fds[i] >= 0)
            close(fds[i]); /* an open copy would keep the output from reaching end of file */
    outside_tell(fds[CONTROL], rc);
    sigdelset(&before, SIGCHLD);
    if (rc == 0)
        attend(pid, fds[CONTROL], &before);
    _exit(0);
}

/* Receives one request; false: the confined process is gone. */
static bool take_request(uint32_t *which, int fds[FDS_MAX])
{
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(FDS_MAX * sizeof(int))];
    } control;
    struct iovec data = {which, sizeof *which};
    struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    ssize_t got;
    do
        got = recvmsg(CHANNEL, &message, MSG_CMSG_CLOEXEC);
    while (got < 0 && errno == EINTR);
    for (int i = 0; i < FDS_MAX; i++)
        fds[i] = -1;
    const struct cmsghdr *c = got > 0 ? CMSG_FIRSTHDR(&message) : NULL;
    if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
        memcpy(fds, CMSG_DATA(c), MIN_OF(c->cmsg_len - CMSG_LEN(0), FDS_MAX * sizeof(int)));
    if (got != sizeof *which)
        *which = UINT32_MAX;
    return got > 0;
}

__attribute__((noreturn)) static void serve(const struct outside *o)
{
    /* The helper ends with the confined process; signals sent to the whole group aren't meant for it. */
    static const int ignored[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGPIPE, SIGUSR1, SIGUSR2, SIGCHLD};
    for (size_t i = 0; i < ARRAY_LEN(ignored); i++)
        signal(ignored[i], SIG_IGN);
    prctl(PR_SET_NAME, "whirr-programs");
    prctl(PR_SET_DUMPABLE, 0); /* only CAP_SYS_PTRACE may tamper with it */
    uint32_t which;
    int fds[FDS_MAX];
    while (take_request(&which, fds)) {
        bool good = which < o->count && fds[DIAG] >= 0;
        pid_t pid = good ? fork() : -1;
        if (pid == 0)
            run_one(o->commands[which], fds);
        if (pid < 0 && fds[CONTROL] >= 0)
            outside_tell(fds[CONTROL], good ? -errno : -EPERM);
        for (int i = 0; i < FDS_MAX; i++)
            if (fds[i] >= 0)
                close(fds[i]);
    }
    _exit(0);
}

/* ---- the confined process ---- */

int outside_start(struct outside *o, const char *const *const *commands, size_t count)
{
    int pair[2];
    *o = (struct outside){.channel = -1, .commands = commands, .count = count};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return -errno;
    o->helper = fork();
    if (o->helper == 0) {
        /* Programs must not inherit descriptors of this process. */
        if (pair[1] != CHANNEL && dup2(pair[1], CHANNEL) < 0)
            _exit(1);
        descriptors_close_from(CHANNEL + 1);
        serve(o);
    }
    int rc = o->helper < 0 ? -errno : 0;
    close(pair[1]);
    if (rc < 0)
        close(pair[0]);
    else
        o->channel = pair[0];
    return rc;
}

void outside_stop(struct outside *o)
{
    if (o->channel < 0)
        return;
    close(o->channel);
    o->channel = -1;
    while (waitpid(o->helper, NULL, 0) < 0 && errno == EINTR)
        ;
}

int outside_find(const struct outside *o, const char *const *argv)
{
    for (size_t i = 0; i < o->count; i++) {
        size_t k = 0;
        while (o->commands[i][k] && argv[k] && strcmp(o->commands[i][k], argv[k]) == 0)
            k++;
        if (!o->commands[i][k] && !argv[k])
            return (int)i;
    }
    return -1;
}

static int send_request(const struct outside *o, uint32_t which, const int fds[FDS_MAX])
{
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(FDS_MAX * sizeof(int))];
    } control = {0};
    size_t size = (fds[IN] >= 0 ? FDS_MAX : IN) * sizeof(int);
    struct iovec data = {&which, sizeof which};
    struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = CMSG_SPACE(size)};
    struct cmsghdr *c = CMSG_FIRSTHDR(&message);
    *c = (struct cmsghdr){.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(size)};
    memcpy(CMSG_DATA(c), fds, size);
    ssize_t sent;
    do
        sent = sendmsg(o->channel, &message, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent < 0 ? -errno : 0;
}

int outside_run(const struct outside *o, int which, int in, int out, int diag)
{
    int pair[2], started;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return -errno;
    const int fds[FDS_MAX] = {[CONTROL] = pair[1], [OUT] = out, [DIAG] = diag, [IN] = in};
    int rc = send_request(o, (uint32_t)which, fds);
    close(pair[1]);
    while (rc == 0) {
        ssize_t got = recv(pair[0], &started, sizeof started, 0);
        if (got < 0 && errno == EINTR)
            continue;
        rc = got == sizeof started ? started : -EPIPE;
        break;
    }
    if (rc == 0)
        return pair[0];
    close(pair[0]);
    return rc;
}

int outside_ended(int control, int *status)
{
    ssize_t got = recv(control, status, sizeof *status, MSG_DONTWAIT);
    if (got == sizeof *status)
        return 1;
    return got < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -EPIPE;
}

void outside_kill(int control)
{
    send(control, "k", 1, MSG_NOSIGNAL);
}
