/* SPDX-License-Identifier: Apache-2.0
 * One loop over the pipes of the helpers.
 */
#include "check/check_helper.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/os/pipe.h"
#include "base/os/program.h"
#include "check/check_record.h"
#include "insight/check/judge.h"

enum {
    LOOK_MS = 200,
    SILENT_MS = 9000,           /* a helper reports its own hangs after 5 s */
    SILENT_AT_FIRST_MS = 40000, /* the driver loads and compiles */
    OBEYS_MS = 700,             /* from SIGTERM to SIGKILL: a stop within a second */
    DIES_MS = 2000,             /* a process in a driver call that never returns outlives even SIGKILL */
};

static void check_start(struct check_conduct *c, struct check_target *t)
{
    char text[ORDER_TEXT];
    int ends[2];
    check_order_write(&t->order, text);
    const char *argv[] = {c->env->self_program, "check-helper", text, NULL};
    t->fd = -1;
    t->heard = clock_mono(c->env->clock);
    t->line = BUF(CHECK_LINE_MAX);
    AUTO_CLOSE int nothing = open("/dev/null", O_WRONLY | O_CLOEXEC);
    int rc = pipe2(ends, O_CLOEXEC) < 0 ? -errno : 0;
    if (rc == 0) {
        pid_t pid = 0;
        rc = launch_spawn(argv, -1, ends[1], nothing, &pid);
        t->pid = (int32_t)pid;
        close(ends[1]);
        t->fd = ends[0];
    }
    if (rc == 0)
        return;
    t->run.end = CHECK_REFUSED;
    snprintf(t->run.reason, sizeof t->run.reason, "the helper can't be started: %s", strerror(-rc));
    t->ended = t->over = true;
    if (t->fd >= 0)
        close(t->fd);
    t->fd = -1;
}

/* What the helper measured; what was known before stays. */
static void take_line(struct check_target *t, struct str line)
{
    AUTO_FREE struct check_run *heard = malloc(sizeof *heard);
    if (!heard)
        return;
    *heard = t->run;
    int rc = record_read(line, heard);
    if (rc < 0)
        return;
    struct check_run *run = &t->run;
    if (!t->described || heard->device.api[0]) {
        run->device = heard->device;
        t->described = run->device.api[0] != '\0';
    }
    run->took_s = heard->took_s;
    run->wanted_bytes = heard->wanted_bytes;
    run->covered_bytes = heard->covered_bytes;
    run->verified_bytes = heard->verified_bytes;
    run->longest_ms = heard->longest_ms;
    run->disturbed |= heard->disturbed;
    for (size_t i = 0; i < CHECK_TEST_COUNT; i++)
        run->test[i] = heard->test[i];
    for (size_t i = 0; i < CHECK_VALUE_COUNT; i++)
        run->value[i] = heard->value[i];
    if (rc == 1) {
        t->over = true;
        if (run->end == CHECK_DONE)
            run->end = heard->end;
        if (!run->reason[0])
            str_copy(run->reason, sizeof run->reason, str_from(heard->reason));
    }
}

static void take_output(struct check_conduct *c, struct check_target *t)
{
    char bytes[8192];
    ssize_t len = read(t->fd, bytes, sizeof bytes);
    if (len < 0 && errno == EINTR)
        return;
    if (len <= 0) {
        close(t->fd);
        t->fd = -1;
        return;
    }
    t->heard = clock_mono(c->env->clock);
    for (struct str rest = {bytes, (size_t)len}; rest.len;) {
        const char *end = memchr(rest.at, '\n', rest.len);
        size_t part = end ? (size_t)(end - rest.at) : rest.len;
        buf_add(&t->line, rest.at, part);
        rest = (struct str){rest.at + part + (end != NULL), rest.len - part - (end != NULL)};
        if (!end)
            continue;
        if (!t->line.failed)
            take_line(t, buf_view(&t->line));
        buf_done(&t->line);
        t->line = BUF(CHECK_LINE_MAX);
    }
}

static void stop(struct check_conduct *c, struct check_target *t, enum check_end why)
{
    if (t->ended || t->stop_at.ns)
        return;
    t->stop_at = clock_mono(c->env->clock);
    t->why_stopped = why;
    if (why != CHECK_STOPPED)
        t->run.end = why;
    kill(t->pid, SIGTERM);
}

/* Ended by itself, or made to. */
static void reap(struct check_conduct *c, struct check_target *t)
{
    int status = 0;
    struct mono now = clock_mono(c->env->clock);
    if (t->ended)
        return;
    if (waitpid(t->pid, &status, WNOHANG) == t->pid) {
        while (t->fd >= 0)
            take_output(c, t);
        t->ended = true;
        if (!t->over && t->run.end == CHECK_DONE) {
            t->run.end = t->stop_at.ns ? t->why_stopped : CHECK_DIED;
            if (!t->stop_at.ns)
                snprintf(t->run.reason, sizeof t->run.reason, "the helper ended with %s %d",
                         WIFSIGNALED(status) ? "signal" : "status", WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
        }
    } else if (t->stop_at.ns && mono_since_ms(now, t->stop_at) > OBEYS_MS + DIES_MS) {
        t->ended = t->left_behind = true;
        t->run.end = CHECK_SILENT;
        snprintf(t->run.reason, sizeof t->run.reason, "a driver call doesn't return, and its process (%d) can't even be killed",
                 t->pid);
    } else if (t->stop_at.ns && mono_since_ms(now, t->stop_at) > OBEYS_MS) {
        kill(t->pid, SIGKILL);
    }
    if (t->ended && t->fd >= 0) {
        close(t->fd);
        t->fd = -1;
    }
}

static const struct gpu *find_target(const struct snapshot *s, const struct check_target *t)
{
    for (size_t i = 0; i < s->gpu_count; i++)
        if (gpu_same(&s->gpus[i].id, &t->id))
            return &s->gpus[i];
    return NULL;
}

static void watch(struct check_conduct *c, struct check_target *t, const struct snapshot *s)
{
    const struct gpu *gpu = find_target(s, t);
    if (!gpu || gpu->state == GPU_LOST) {
        t->run.end = CHECK_LOST;
        snprintf(t->run.reason, sizeof t->run.reason, "%.150s",
                 gpu && gpu->error_message[0] ? gpu->error_message : "the driver lost it");
        stop(c, t, CHECK_LOST);
        return;
    }
    const struct check_test_run *floats = &t->run.test[CHECK_FLOATS];
    bool hot = check_observe(&t->run, gpu, floats->begun && !floats->finished && floats->answers > 0);
    for (size_t i = 0; i < gpu->process_count; i++)
        t->run.disturbed |= gpu->processes[i].pid != t->pid && check_disturbs(&gpu->processes[i]);
    for (size_t i = 0; s->sequence != c->seen && i < s->event_count; i++)
        if (s->events[i].kind == EVENT_DRIVER_FAULT && s->events[i].gpu_index == gpu->index)
            t->run.xids = (struct reading){reading_or(t->run.xids, 0) + 1, READING_OK};
    if (hot)
        stop(c, t, CHECK_TOO_HOT);
}

static void look(struct check_conduct *c)
{
    AUTO_SNAPSHOT const struct snapshot *s = c->look(c->user);
    for (size_t i = 0; s && i < c->count; i++)
        if (!c->targets[i].ended)
            watch(c, &c->targets[i], s);
    c->seen = s ? s->sequence : c->seen;
}

/* Counters now, beside those of before. */
static void compare(struct check_conduct *c)
{
    AUTO_SNAPSHOT const struct snapshot *s = c->look(c->user);
    for (size_t i = 0; s && i < c->count; i++) {
        const struct gpu *after = find_target(s, &c->targets[i]);
        if (after && !c->targets[i].skipped)
            check_compare_counters(&c->targets[i].run, &c->targets[i].before, after);
    }
}

static void keep_time(struct check_conduct *c, struct check_target *t)
{
    struct mono now = clock_mono(c->env->clock);
    if (t->ended)
        return;
    if (*c->stop)
        stop(c, t, CHECK_STOPPED);
    else if (c->deadline.ns && now.ns > c->deadline.ns)
        stop(c, t, CHECK_LATE);
    else if (mono_since_ms(now, t->heard) > (t->described ? SILENT_MS : SILENT_AT_FIRST_MS)) {
        snprintf(t->run.reason, sizeof t->run.reason, "a driver call did not return within %d s",
                 (t->described ? SILENT_MS : SILENT_AT_FIRST_MS) / MS_PER_S);
        stop(c, t, CHECK_SILENT);
    }
}

void check_conduct(struct check_conduct *c)
{
    struct mono looked = {0};
    size_t running = 0;
    for (size_t i = 0; i < c->count; i++) {
        c->targets[i].ended = c->targets[i].skipped;
        c->targets[i].fd = -1;
        if (!c->targets[i].skipped)
            check_start(c, &c->targets[i]);
    }
    do {
        struct pollfd pipes[GPU_MAX];
        struct check_target *of[GPU_MAX];
        nfds_t open = 0;
        for (size_t i = 0; i < c->count && open < GPU_MAX; i++)
            if (c->targets[i].fd >= 0) {
                of[open] = &c->targets[i];
                pipes[open++] = (struct pollfd){.fd = c->targets[i].fd, .events = POLLIN};
            }
        pipe_poll(pipes, open, LOOK_MS / 4);
        for (nfds_t i = 0; i < open; i++)
            if (pipes[i].revents)
                take_output(c, of[i]);
        if (mono_since_ms(clock_mono(c->env->clock), looked) >= LOOK_MS) {
            looked = clock_mono(c->env->clock);
            look(c);
            if (c->progress)
                c->progress(c->user, c->targets, c->count);
        }
        running = 0;
        for (size_t i = 0; i < c->count; i++) {
            keep_time(c, &c->targets[i]);
            reap(c, &c->targets[i]);
            running += !c->targets[i].ended;
        }
    } while (running);
    compare(c);
}

void check_target_done(struct check_target *t)
{
    gpu_done(&t->before);
    buf_done(&t->line);
}
