/* SPDX-License-Identifier: Apache-2.0
 * The launcher on Windows: reads output through bounded buffers, ends the program and its children at the deadline.
 */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/env.h"
#include "port/windows/internal.h"

enum { PIPE_BYTES = 65536, PAUSE_MS = 2, KILLED_WITHIN_MS = 2000, CHUNK = 8192 };

struct started_program {
    HANDLE process, job;
    HANDLE in, out, diag; /* our ends; NULL: closed */
};

/* Both ends are ours: the program gets a duplicate. */
static bool make_pipe(HANDLE *ours, HANDLE *theirs, bool we_write)
{
    if (!CreatePipe(we_write ? theirs : ours, we_write ? ours : theirs, NULL, PIPE_BYTES))
        return false;
    /* Non-blocking: the program may never read it. */
    return !we_write || SetNamedPipeHandleState(*ours, &(DWORD){PIPE_NOWAIT}, NULL, NULL);
}

static void close_handle(HANDLE *handle)
{
    if (*handle && *handle != INVALID_HANDLE_VALUE)
        CloseHandle(*handle);
    *handle = NULL;
}

static int launch_start(const struct launch *launch, struct started_program *r)
{
    HANDLE files[3] = {NULL};
    bool good = make_pipe(&r->out, &files[1], false) && make_pipe(&r->diag, &files[2], false);
    if (good && launch->in.len)
        good = make_pipe(&r->in, &files[0], true);
    int rc = good ? start_process(launch->argv, files, CREATE_NO_WINDOW, &r->process, &r->job) : -EMFILE;
    for (size_t i = 0; i < ARRAY_LEN(files); i++)
        close_handle(&files[i]);
    return rc;
}

/* ---- while the program runs ---- */

/* Reads available bytes; closes the handle at end of file. */
static bool drain(HANDLE *end, struct buf *to)
{
    char chunk[CHUNK];
    DWORD there = 0, got = 0;
    if (!*end)
        return false;
    if (!PeekNamedPipe(*end, NULL, 0, NULL, &there, NULL)) {
        close_handle(end);
        return false;
    }
    if (!there || !ReadFile(*end, chunk, there < CHUNK ? there : CHUNK, &got, NULL))
        return false;
    if (to)
        buf_add(to, chunk, got);
    return got > 0;
}

static void feed(struct started_program *r, struct str *rest)
{
    DWORD sent = 0;
    if (!r->in)
        return;
    bool open = WriteFile(r->in, rest->at, (DWORD)MIN_OF(rest->len, (size_t)CHUNK), &sent, NULL);
    *rest = (struct str){rest->at + sent, rest->len - sent};
    if (!open || rest->len == 0)
        close_handle(&r->in);
}

static bool cancelled(const struct launch *launch)
{
    return launch->cancel && *launch->cancel;
}

/* True: the program ended and all its output is read. */
static bool attend(const struct launch *launch, struct started_program *r)
{
    struct mono deadline = {clock_mono(&clock_system).ns + launch->timeout_ms * NS_PER_MS};
    struct str rest = launch->in;
    for (;;) {
        feed(r, &rest);
        bool more = drain(&r->out, launch->out);
        more |= drain(&r->diag, launch->err);
        if (more)
            continue;
        if (!r->out && !r->diag && WaitForSingleObject(r->process, 0) == WAIT_OBJECT_0)
            return true;
        if (cancelled(launch) || clock_mono(&clock_system).ns >= deadline.ns)
            return false;
        Sleep(PAUSE_MS);
    }
}

int launch_program(const struct env *env, const struct launch *launch, struct error *err)
{
    struct started_program r = {0};
    DWORD code = 0;
    (void)env;
    int rc = launch_start(launch, &r);
    bool finished = rc == 0 && attend(launch, &r);
    bool left = rc == 0 && !finished && launch->spared && cancelled(launch);
    if (rc == 0 && !finished && !left) {
        end_process(r.process, r.job, 1);
        WaitForSingleObject(r.process, KILLED_WITHIN_MS);
    }
    if (finished || left)
        leave_job(r.job); /* its background processes keep running */
    if (finished)
        GetExitCodeProcess(r.process, &code);
    HANDLE *const all[] = {&r.in, &r.out, &r.diag, &r.process, &r.job};
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        close_handle(all[i]);
    if (rc < 0)
        return error_set(err, rc, "cannot run '%s': %s", launch->argv[0], strerror(-rc));
    if (!finished && cancelled(launch))
        return error_set(err, -ECANCELED, "'%s' was not waited for%s", launch->argv[0], left ? "" : " and killed");
    if (!finished)
        return error_set(err, -ETIMEDOUT, "'%s' did not finish within %lld ms and was killed", launch->argv[0],
                         (long long)launch->timeout_ms);
    return code > 255 ? 255 : (int)code;
}
