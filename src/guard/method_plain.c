/* SPDX-License-Identifier: Apache-2.0
 * Methods without a protocol. They never use SIGSTOP: a stopped process keeps its memory on the GPU.
 */
#include "guard/method.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "guard/guard_target.h"

enum { COMMAND_TIMEOUT_MS = 60000, STOP_TIMEOUT_MS = 10000, POLL_MS = 10 };

/* ---- command ---- */

static int run_command(struct method_context *c, const char *const *argv, int64_t timeout_ms, struct error *err)
{
    AUTO_BUF struct buf said = BUF(4096);
    struct launch launch = {
        .argv = argv, .timeout_ms = timeout_ms ? timeout_ms : COMMAND_TIMEOUT_MS, .err = &said, .cancel = c->abandon};
    int status = c->env->launch(c->env, &launch, err);
    if (status > 0)
        return error_set(err, -EIO, "'%s' ended with %d: %.200s", argv[0], status, said.at ? said.at : "");
    return status;
}

static int command_busy(const struct method *method, struct method_context *c, struct error *err)
{
    (void)method;
    if (!c->settings->status_command)
        return 0;
    struct error ignored = {0};
    int rc = run_command(c, c->settings->status_command, COMMAND_TIMEOUT_MS, &ignored);
    return rc == -EIO ? 1 : rc < 0 ? error_set(err, rc, "%s", ignored.text) : 0;
}

static int command_evict(const struct method *method, struct method_context *c, struct error *err)
{
    (void)method;
    if (!c->settings->evict_command)
        return error_set(err, -EINVAL, "the method 'command' needs evict_command");
    int rc = method_note(c, "evict command", err);
    return rc < 0 ? rc : run_command(c, c->settings->evict_command, c->settings->evict_timeout_ms, err);
}

static int command_resume(const struct method *method, struct method_context *c, struct error *err)
{
    (void)method;
    int rc = method_note(c, "resume command", err);
    if (rc < 0 || !c->settings->resume_command)
        return rc;
    return run_command(c, c->settings->resume_command, c->settings->resume_timeout_ms, err);
}

static enum method_found cannot_tell(const struct method *method, struct method_context *c, struct error *err)
{
    (void)method;
    (void)c;
    (void)err;
    return METHOD_FOUND_UNKNOWN;
}

const struct method_ops method_command = {
    .name = "command",
    .busy = command_busy,
    .evict = command_evict,
    .resume = command_resume,
    .find = cannot_tell,
};

/* ---- signal ---- */

static int send_all(struct method_context *c, const struct claim_identity *pids, size_t count, int number, struct error *err)
{
    if (number == 0)
        return 0;
    if (number == SIGSTOP)
        return error_set(err, -EINVAL, "SIGSTOP leaves the memory on the GPU; choose a signal that the worker responds to");
    for (size_t i = 0; i < count; i++) {
        int rc = target_signal(c->env, pids[i], number, err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

static int signal_evict(const struct method *method, struct method_context *c, struct error *err)
{
    (void)method;
    if (c->worker->pid_count == 0)
        return error_set(err, -ESRCH, "no process of the worker is known");
    memcpy(c->entry->pids, c->worker->pids, sizeof c->entry->pids);
    c->entry->pid_count = c->worker->pid_count;
    int rc = method_note(c, "signal", err);
    return rc < 0 ? rc : send_all(c, c->entry->pids, c->entry->pid_count, c->settings->evict_signal, err);
}

static int signal_resume(const struct method *method, struct method_context *c, struct error *err)
{
    (void)method;
    int rc = method_note(c, "signal to resume", err);
    return rc < 0 ? rc : send_all(c, c->entry->pids, c->entry->pid_count, c->settings->resume_signal, err);
}

const struct method_ops method_signal = {
    .name = "signal",
    .evict = signal_evict,
    .resume = signal_resume,
    .find = cannot_tell,
};

/* ---- process ---- */

int child_start(const struct env *env, struct child *child, struct error *err)
{
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigdefault(&attributes, &all); /* the worker must not inherit whirr's ignored signals */
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    pid_t pid;
    int rc = posix_spawnp(&pid, child->argv[0], NULL, &attributes, (char *const *)child->argv, environ);
    posix_spawnattr_destroy(&attributes);
    if (rc)
        return error_set(err, -rc, "cannot start '%s': %s", child->argv[0], strerror(rc));
    descriptors_lower_of(pid);
    child->pid = pid;
    child->adopted = false;
    child->start_key = 0;
    target_started(env, pid, &child->start_key);
    return 0;
}

bool child_ended(const struct env *env, struct child *child, int *status)
{
    if (child->pid == 0)
        return true;
    if (child->adopted) {
        if (target_presence(env, (struct claim_identity){child->pid, child->start_key}) != WORKER_GONE)
            return false;
        child->pid = 0;
        if (status)
            *status = 0; /* a process that isn't our child has no status to read */
        return true;
    }
    int code = 0;
    pid_t got = waitpid(child->pid, &code, WNOHANG);
    if (got == 0)
        return false;
    child->pid = 0;
    if (status)
        *status = WIFEXITED(code) ? WEXITSTATUS(code) : 128 + WTERMSIG(code);
    return true;
}

int child_stop(const struct env *env, struct child *child, struct error *err)
{
    int32_t group = child->pid;
    int64_t limit_ms = child->stop_timeout_ms ? child->stop_timeout_ms : STOP_TIMEOUT_MS;
    struct mono begin = clock_mono(env->clock);
    /* A process that isn't our child may have ended long ago, and its PID may be reused: no signal before that is clear. */
    while (child->adopted && !child_ended(env, child, NULL)) {
        struct claim_identity who = {child->pid, child->start_key};
        if (target_presence(env, who) == WORKER_ALIVE)
            break;
        if (mono_since_ms(clock_mono(env->clock), begin) >= limit_ms)
            return target_check(env, who, err);
        poll(NULL, 0, POLL_MS);
    }
    if (child->pid == 0)
        return 0;
    kill(-group, SIGTERM);
    while (!child_ended(env, child, NULL)) {
        if (mono_since_ms(clock_mono(env->clock), begin) >= limit_ms) {
            kill(-group, SIGKILL);
            if (!child->adopted)
                waitpid(child->pid, NULL, 0);
            child->pid = 0;
            break;
        }
        poll(NULL, 0, POLL_MS);
    }
    kill(-group, SIGKILL); /* processes of the group that ignored SIGTERM */
    return 0;
}

static int process_evict(const struct method *method, struct method_context *c, struct error *err)
{
    (void)method;
    if (!c->child)
        return error_set(err, -EINVAL, "the method 'process' is for workers that whirr started (whirr guard run)");
    int64_t limit_ms = c->settings->evict_timeout_ms;
    c->child->stop_timeout_ms = limit_ms ? MIN_OF(limit_ms, STOP_TIMEOUT_MS) : STOP_TIMEOUT_MS;
    int rc = method_note(c, "stop", err);
    return rc < 0 ? rc : child_stop(c->env, c->child, err);
}

static int process_resume(const struct method *method, struct method_context *c, struct error *err)
{
    (void)method;
    if (!c->child)
        return error_set(err, -EINVAL, "the method 'process' is for workers that whirr started (whirr guard run)");
    if (c->child->pid)
        return 0;
    int rc = method_note(c, "start", err);
    return rc < 0 ? rc : child_start(c->env, c->child, err);
}

/* Finishes a stop that an earlier guard started: it is unknown whether its signal was sent, and a worker that continues would
 * keep the memory that another program waits for. */
static enum method_found process_find(const struct method *method, struct method_context *c, struct error *err)
{
    (void)method;
    if (!c->child)
        return METHOD_FOUND_UNKNOWN;
    if (c->child->adopted && strcmp(c->entry->step, "stop") == 0)
        child_stop(c->env, c->child, err);
    return c->child->pid ? METHOD_FOUND_RUNNING : METHOD_FOUND_EVICTED;
}

const struct method_ops method_process = {
    .name = "process",
    .evict = process_evict,
    .resume = process_resume,
    .find = process_find,
};
