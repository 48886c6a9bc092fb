/* SPDX-License-Identifier: Apache-2.0
 * The real launcher: a process group of its own, output read through bounded buffers, killed whole at the deadline.
 */
#include "base/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>

#include "base/cleanup.h"

enum { KILLED_WITHIN_MS = 2000 };

struct pipe_end {
    int fd;
    struct buf *to; /* NULL: read and forget */
};

/* Reads what is there; closes the end at end of file. A full buffer fails sticky and the rest is thrown away. */
static void drain(struct pipe_end *end)
{
    char chunk[8192];
    ssize_t got = read(end->fd, chunk, sizeof chunk);
    if (got > 0) {
        if (end->to)
            buf_add(end->to, chunk, (size_t)got);
        return;
    }
    if (got < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    close(end->fd);
    end->fd = -1;
}

static int spawn(const struct launch *launch, int out, int err_fd, pid_t *ret)
{
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, out, 1);
    posix_spawn_file_actions_adddup2(&files, err_fd, 2);

    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t none, defaults;
    sigemptyset(&none);
    sigfillset(&defaults);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);

    int rc = posix_spawnp(ret, launch->argv[0], &files, &attributes, (char *const *)launch->argv, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    return -rc;
}

/* Reads both pipes until they close or the deadline passes; false on the deadline. */
static bool read_until_closed(struct pipe_end ends[2], struct mono deadline)
{
    while (ends[0].fd >= 0 || ends[1].fd >= 0) {
        int64_t left = mono_since_ms(deadline, clock_mono(&clock_system));
        if (left <= 0)
            return false;
        struct pollfd polls[2] = {{ends[0].fd, POLLIN, 0}, {ends[1].fd, POLLIN, 0}};
        int ready = poll(polls, 2, (int)MIN_OF(left, 1000));
        for (int i = 0; ready > 0 && i < 2; i++)
            if (polls[i].fd >= 0 && polls[i].revents)
                drain(&ends[i]);
    }
    return true;
}

/* A program may close its output and live on: wait for it, but not beyond the deadline. */
static bool reap(pid_t pid, struct mono deadline, int *status)
{
    for (;;) {
        pid_t got = waitpid(pid, status, WNOHANG);
        if (got == pid)
            return true;
        if (got < 0 && errno != EINTR)
            return false;
        if (mono_since_ms(deadline, clock_mono(&clock_system)) <= 0)
            return false;
        poll(NULL, 0, 1);
    }
}

int launch_program(const struct env *env, const struct launch *launch, struct error *err)
{
    (void)env;
    int out[2], diag[2];
    if (pipe2(out, O_CLOEXEC) < 0)
        return error_set(err, -errno, "cannot make a pipe: %s", strerror(errno));
    if (pipe2(diag, O_CLOEXEC) < 0) {
        int rc = -errno;
        close(out[0]);
        close(out[1]);
        return error_set(err, rc, "cannot make a pipe: %s", strerror(-rc));
    }
    pid_t pid;
    int rc = spawn(launch, out[1], diag[1], &pid);
    close(out[1]);
    close(diag[1]);
    if (rc < 0) {
        close(out[0]);
        close(diag[0]);
        return error_set(err, rc, "cannot run '%s': %s", launch->argv[0], strerror(-rc));
    }

    struct mono deadline = {clock_mono(&clock_system).ns + launch->timeout_ms * NS_PER_MS};
    struct pipe_end ends[2] = {{out[0], launch->out}, {diag[0], launch->err}};
    int status = 0;
    bool finished = read_until_closed(ends, deadline) && reap(pid, deadline, &status);
    if (!finished) {
        kill(-pid, SIGKILL);
        /* One that sits inside a driver dies only when the driver lets it: it is left behind rather than waited for. */
        reap(pid, (struct mono){clock_mono(&clock_system).ns + KILLED_WITHIN_MS * NS_PER_MS}, &status);
    }
    for (int i = 0; i < 2; i++)
        if (ends[i].fd >= 0)
            close(ends[i].fd);
    if (!finished)
        return error_set(err, -ETIMEDOUT, "'%s' did not finish within %lld ms and was killed", launch->argv[0],
                         (long long)launch->timeout_ms);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
