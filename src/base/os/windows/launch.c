/* SPDX-License-Identifier: Apache-2.0
 * The launcher of Windows: a job that holds the program and its children, output read through bounded buffers, ended whole at the
 * deadline.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/env.h"
#include "base/os/windows/internal.h"

enum { LINE_MAX_WIDE = 32767, PAUSE_MS = 2, KILLED_WITHIN_MS = 2000, CHUNK = 8192 };

struct started_program {
    HANDLE process, job;
    HANDLE in, out, diag; /* our ends; NULL: closed */
};

/* ---- what is started ---- */

/* As the C library of the program takes it apart: backslashes count where a quotation mark follows. */
static void add_quoted(struct buf *line, const char *argument)
{
    bool quoted = !argument[0] || strpbrk(argument, " \t\"");
    size_t slashes = 0;
    if (quoted)
        buf_char(line, '"');
    for (const char *c = argument; *c; c++) {
        slashes = *c == '\\' ? slashes + 1 : *c == '"' ? slashes : 0;
        for (; *c == '"' && slashes; slashes--)
            buf_char(line, '\\');
        if (*c == '"')
            buf_char(line, '\\');
        buf_char(line, *c);
    }
    for (; quoted && slashes; slashes--)
        buf_char(line, '\\');
    if (quoted)
        buf_char(line, '"');
}

static bool is_there(const char *folder, size_t len, const char *program, wchar_t whole[WIDE_PATH])
{
    static const char *const endings[] = {"", ".exe"};
    for (size_t i = 0; i < ARRAY_LEN(endings); i++) {
        char path[WIDE_PATH];
        int size = snprintf(path, sizeof path, "%.*s%s%s%s", (int)len, folder, len ? "\\" : "", program, endings[i]);
        DWORD attributes = INVALID_FILE_ATTRIBUTES;
        if (size < (int)sizeof path && wide_path(path, whole))
            attributes = GetFileAttributesW(whole);
        if (attributes != INVALID_FILE_ATTRIBUTES && !(attributes & FILE_ATTRIBUTE_DIRECTORY))
            return true;
    }
    return false;
}

/* Never in the folder that is worked in, where others may have put something. */
static bool find_program(const char *program, wchar_t whole[WIDE_PATH])
{
    const char *path = env_variable("PATH");
    struct str rest = str_from(path ? path : ""), folder;
    if (strpbrk(program, "/\\:"))
        return is_there("", 0, program, whole);
    while (str_cut(&rest, ';', &folder))
        if (folder.len && is_there(folder.at, folder.len, program, whole))
            return true;
    return false;
}

/* One end is inherited, the other is ours. */
static bool make_pipe(HANDLE *ours, HANDLE *theirs, bool we_write)
{
    SECURITY_ATTRIBUTES inherited = {.nLength = sizeof inherited, .bInheritHandle = TRUE};
    if (!CreatePipe(we_write ? theirs : ours, we_write ? ours : theirs, &inherited, 65536))
        return false;
    if (we_write)
        SetNamedPipeHandleState(*ours, &(DWORD){PIPE_NOWAIT}, NULL, NULL); /* the program need not read it */
    return SetHandleInformation(*ours, HANDLE_FLAG_INHERIT, 0);
}

static void close_handle(HANDLE *handle)
{
    if (*handle && *handle != INVALID_HANDLE_VALUE)
        CloseHandle(*handle);
    *handle = NULL;
}

static HANDLE open_nothing(void)
{
    SECURITY_ATTRIBUTES inherited = {.nLength = sizeof inherited, .bInheritHandle = TRUE};
    return CreateFileW(L"NUL", GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE, &inherited, OPEN_EXISTING, 0, NULL);
}

/* All that is started in it ends with it. */
static HANDLE make_job(void)
{
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION limit = {.BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE};
    HANDLE job = CreateJobObjectW(NULL, NULL);
    if (job)
        SetInformationJobObject(job, JobObjectExtendedLimitInformation, &limit, sizeof limit);
    return job;
}

static int start_with(const wchar_t *program, wchar_t *line, HANDLE in, HANDLE out, HANDLE diag, struct started_program *r)
{
    STARTUPINFOW how = {.cb = sizeof how, .dwFlags = STARTF_USESTDHANDLES, .hStdInput = in, .hStdOutput = out, .hStdError = diag};
    PROCESS_INFORMATION made;
    if (!CreateProcessW(program, line, NULL, NULL, TRUE, CREATE_SUSPENDED | CREATE_NO_WINDOW, NULL, NULL, &how, &made)) {
        fail_with(GetLastError());
        return -errno;
    }
    r->process = made.hProcess;
    r->job = make_job();
    if (r->job)
        AssignProcessToJobObject(r->job, made.hProcess);
    ResumeThread(made.hThread);
    CloseHandle(made.hThread);
    return 0;
}

int launch_line(const char *const *argv, wchar_t program[WIDE_PATH], wchar_t *line, size_t size)
{
    AUTO_BUF struct buf text = BUF(size);
    if (!find_program(argv[0], program))
        return -ENOENT;
    for (size_t i = 0; argv[i]; i++) {
        if (i)
            buf_char(&text, ' ');
        add_quoted(&text, argv[i]);
    }
    return text.failed || !wide_from(text.at, line, size) ? -E2BIG : 0;
}

static int launch_start(const struct launch *launch, struct started_program *r)
{
    wchar_t program[WIDE_PATH], line[LINE_MAX_WIDE];
    HANDLE in = NULL, out = NULL, diag = NULL;
    int found = launch_line(launch->argv, program, line, LINE_MAX_WIDE);
    if (found < 0)
        return found;
    bool good = make_pipe(&r->out, &out, false) && make_pipe(&r->diag, &diag, false);
    if (good && launch->in.len)
        good = make_pipe(&r->in, &in, true);
    else
        in = open_nothing();
    int rc = good ? start_with(program, line, in, out, diag, r) : -EMFILE;
    close_handle(&in);
    close_handle(&out);
    close_handle(&diag);
    return rc;
}

/* ---- while it runs ---- */

/* What is there; closes the end at end of file. */
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

/* true: it has ended, and all that it wrote is read. */
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
        TerminateJobObject(r.job, 1);
        WaitForSingleObject(r.process, KILLED_WITHIN_MS);
    }
    if (left)
        SetInformationJobObject(r.job, JobObjectExtendedLimitInformation, &(JOBOBJECT_EXTENDED_LIMIT_INFORMATION){0},
                                sizeof(JOBOBJECT_EXTENDED_LIMIT_INFORMATION));
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
