/* SPDX-License-Identifier: Apache-2.0
 * The real launcher: runs the program in its own process group, reads output through bounded buffers, kills the whole group at the
 * deadline.
 */
#include "base/env.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/launch/outside.h"
#include "base/os/program.h"

enum { KILLED_WITHIN_MS = 2000 };

struct pipe_end {
    int fd;
    struct buf *to; /* NULL: discard */
    int error;      /* why reading stopped early; 0: it didn't */
};

/* Input not yet written to the program. */
struct pipe_in {
    int fd; /* -1: no input, or all written */
    struct str rest;
};

/* Reads available bytes; closes the pipe at end of file. A full buffer fails sticky and discards the rest. */
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
    end->error = got < 0 ? errno : 0;
    close(end->fd);
    end->fd = -1;
}

/* A program may close its input unread: not an error. */
static void feed(struct pipe_in *in)
{
    ssize_t sent = in->rest.len ? write(in->fd, in->rest.at, in->rest.len) : 0;
    if (sent < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (sent > 0)
        in->rest = (struct str){in->rest.at + sent, in->rest.len - (size_t)sent};
    if (sent > 0 && in->rest.len)
        return;
    close(in->fd);
    in->fd = -1;
}

/* Searches PATH before forking, to avoid a process for each program that isn't installed. */
static bool find_program(const char *program, char whole[PATH_MAX])
{
    const char *path = env_variable("PATH");
    struct str rest = str_from(path ? path : "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"), folder;
    while (str_cut(&rest, ':', &folder)) {
        int length = snprintf(whole, PATH_MAX, "%.*s/%s", folder.len ? (int)folder.len : 1, folder.len ? folder.at : ".", program);
        if (length < PATH_MAX && access(whole, X_OK) == 0)
            return true;
    }
    return false;
}

int launch_spawn(const char *const *argv, int in, int out, int diag, pid_t *ret)
{
    char found[PATH_MAX];
    bool placed = strchr(argv[0], '/');
    if (!placed && !find_program(argv[0], found))
        return -ENOENT;
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    if (in >= 0)
        posix_spawn_file_actions_adddup2(&files, in, 0);
    else
        posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, out, 1);
    posix_spawn_file_actions_adddup2(&files, diag, 2);

    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t none, defaults;
    sigemptyset(&none);
    sigfillset(&defaults);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);

    int rc = posix_spawn(ret, placed ? argv[0] : found, &files, &attributes, (char *const *)argv, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    return -rc;
}

/* A running program: our own child, or a child of the helper outside. */
struct started {
    pid_t pid;
    int control; /* -1: our own child */
};

static int launch_start(const struct env *env, const struct launch *launch, int in, int out, int diag, struct started *ret)
{
    int which = env && env->outside ? outside_find(env->outside, launch->argv) : -1;
    *ret = (struct started){.control = -1};
    if (which < 0)
        return launch_spawn(launch->argv, in, out, diag, &ret->pid);
    ret->control = outside_run(env->outside, which, in, out, diag);
    return MIN_OF(ret->control, 0);
}

/* 1: ended, 0: still running, or -errno. */
static int has_ended(const struct started *r, int *status)
{
    if (r->control >= 0)
        return outside_ended(r->control, status);
    pid_t got = waitpid(r->pid, status, WNOHANG);
    return got == r->pid ? 1 : got < 0 && errno != EINTR ? -errno : 0;
}

static void end(const struct started *r)
{
    if (r->control >= 0)
        outside_kill(r->control);
    else
        kill(-r->pid, SIGKILL);
}

static bool cancelled(const struct launch *launch)
{
    return launch->cancel && *launch->cancel;
}

/* Poll timeout: until the deadline, but short if the caller may cancel. */
static int64_t patience(const struct launch *launch, struct mono deadline)
{
    int64_t left = mono_since_ms(deadline, clock_mono(&clock_system));
    return cancelled(launch) ? 0 : MIN_OF(left, launch->cancel ? 100 : 1000);
}

/* Moves data until both output pipes close; false when the deadline passes first. */
static bool talk(const struct launch *launch, struct pipe_in *in, struct pipe_end ends[2], struct mono deadline)
{
    while (ends[0].fd >= 0 || ends[1].fd >= 0) {
        int64_t left = patience(launch, deadline);
        if (left <= 0)
            return false;
        struct pollfd polls[3] = {{ends[0].fd, POLLIN, 0}, {ends[1].fd, POLLIN, 0}, {in->fd, POLLOUT, 0}};
        int ready = poll(polls, 3, (int)left);
        for (int i = 0; ready > 0 && i < 2; i++)
            if (polls[i].fd >= 0 && polls[i].revents)
                drain(&ends[i]);
        if (ready > 0 && in->fd >= 0 && polls[2].revents)
            feed(in);
    }
    return true;
}

/* A program may close its output and keep running: wait for it until the deadline. */
static bool reap(const struct launch *launch, const struct started *r, struct mono deadline, int *status)
{
    for (;;) {
        int ended = has_ended(r, status);
        if (ended)
            return ended > 0;
        if (patience(launch, deadline) <= 0)
            return false;
        poll(NULL, 0, 1);
    }
}

static void close_pair(const int pair[2])
{
    for (int i = 0; i < 2; i++)
        if (pair[i] >= 0)
            close(pair[i]);
}

/* Pipes for stdout, stderr, and stdin if there is input: non-blocking, because the program may never read it. */
static int make_pipes(const struct launch *launch, int in[2], int out[2], int diag[2])
{
    bool good = pipe2(out, O_CLOEXEC) == 0 && pipe2(diag, O_CLOEXEC) == 0;
    if (good && launch->in.len)
        good = pipe2(in, O_CLOEXEC) == 0 && fcntl(in[1], F_SETFL, O_NONBLOCK) == 0;
    return good ? 0 : -errno;
}

/* Writing to a program that exited must not kill this process. */
static void block_pipe_signal(sigset_t *before)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &set, before);
}

static void restore_pipe_signal(const sigset_t *before)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    if (!sigismember(before, SIGPIPE)) {
        while (sigtimedwait(&set, NULL, &(struct timespec){0}) == SIGPIPE)
            ;
        pthread_sigmask(SIG_SETMASK, before, NULL);
    }
}

static int converse(const struct launch *launch, const struct started *r, struct pipe_in in, struct pipe_end ends[2],
                    struct error *err)
{
    struct mono deadline = {clock_mono(&clock_system).ns + launch->timeout_ms * NS_PER_MS};
    int status = 0;
    sigset_t before;
    block_pipe_signal(&before);
    bool finished = talk(launch, &in, ends, deadline) && reap(launch, r, deadline, &status);
    restore_pipe_signal(&before);
    bool left = !finished && launch->spared && cancelled(launch);
    if (!finished && !left) {
        end(r);
        /* A process stuck in a driver can't be killed until the driver returns: abandon it instead of waiting. */
        const struct launch patient = {0};
        reap(&patient, r, (struct mono){clock_mono(&clock_system).ns + KILLED_WITHIN_MS * NS_PER_MS}, &status);
    }
    for (int i = 0; i < 2; i++)
        if (ends[i].fd >= 0)
            close(ends[i].fd);
    if (in.fd >= 0)
        close(in.fd);
    if (r->control >= 0)
        close(r->control);
    if (!finished && cancelled(launch))
        return error_set(err, -ECANCELED, "'%s' was not waited for%s", launch->argv[0], left ? "" : " and killed");
    if (!finished)
        return error_set(err, -ETIMEDOUT, "'%s' did not finish within %lld ms and was killed", launch->argv[0],
                         (long long)launch->timeout_ms);
    for (int i = 0; i < 2; i++)
        if (ends[i].error && ends[i].to)
            return error_set(err, -ends[i].error, "cannot read what '%s' printed: %s", launch->argv[0], strerror(ends[i].error));
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int launch_program(const struct env *env, const struct launch *launch, struct error *err)
{
    int in[2] = {-1, -1}, out[2] = {-1, -1}, diag[2] = {-1, -1};
    int rc = make_pipes(launch, in, out, diag);
    if (rc < 0) {
        close_pair(in);
        close_pair(out);
        close_pair(diag);
        return error_set(err, rc, "cannot make a pipe: %s", strerror(-rc));
    }
    struct started running;
    rc = launch_start(env, launch, in[0], out[1], diag[1], &running);
    close_pair((int[]){out[1], diag[1]});
    close_pair((int[]){in[0], -1});
    if (rc < 0) {
        close_pair((int[]){out[0], diag[0]});
        close_pair((int[]){in[1], -1});
        return error_set(err, rc, "cannot run '%s': %s", launch->argv[0], strerror(-rc));
    }
    struct pipe_end ends[2] = {{out[0], launch->out}, {diag[0], launch->err}};
    return converse(launch, &running, (struct pipe_in){in[1], launch->in}, ends, err);
}
