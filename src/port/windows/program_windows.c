/* SPDX-License-Identifier: Apache-2.0
 * Running programs: their command lines, exactly three inherited handles, and a job that ends them with us. On top of that, each
 * header of base/os about programs: background children with waitpid() and kill(), the launcher, a program that takes over the
 * console, and one that is created now and begun later.
 */
#include <errno.h>
#include <io.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <wchar.h>

#include "base/cleanup.h"
#include "base/env.h"
#include "base/os/place.h"
#include "base/os/program.h"
#include "port/windows/internal.h"

enum { LINE_MAX_WIDE = 32767, CHILDREN_MAX = 128, CODE_MAX = 255 };

/* ---- the command line ---- */

/* Quotes for the C library's parser: backslashes are special only before a quotation mark. */
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

/* Windows doesn't run files without an extension, though one may lie beside a real program: npm, a shell script, beside npm.cmd. */
static bool is_there(struct str folder, const char *program, wchar_t whole[WIDE_PATH])
{
    static const char *const endings[] = {"", ".exe", ".com", ".cmd", ".bat"};
    const char *slash = path_last_slash(program);
    bool ends = strchr(slash ? slash + 1 : program, '.');
    for (size_t i = ends ? 0 : 1; i < ARRAY_LEN(endings); i++) {
        char path[WIDE_PATH];
        int size = snprintf(path, sizeof path, "%.*s%s%s%s", (int)folder.len, folder.len ? folder.at : "", folder.len ? "\\" : "",
                            program, endings[i]);
        DWORD attributes = INVALID_FILE_ATTRIBUTES;
        if (size < (int)sizeof path && wide_path(path, whole))
            attributes = GetFileAttributesW(whole);
        if (attributes != INVALID_FILE_ATTRIBUTES && !(attributes & FILE_ATTRIBUTE_DIRECTORY))
            return true;
    }
    return false;
}

/* Whether cmd.exe runs it. Windows ignores trailing dots and spaces in names. */
static bool is_script(const wchar_t *program)
{
    size_t len = wcslen(program);
    while (len && (program[len - 1] == L'.' || program[len - 1] == L' '))
        len--;
    return len >= 4 && (_wcsnicmp(program + len - 4, L".bat", 4) == 0 || _wcsnicmp(program + len - 4, L".cmd", 4) == 0);
}

/* cmd.exe has its own parser, for which no quoting is safe. */
static bool is_safe(const char *script, const char *const *argv)
{
    if (strpbrk(script, "%!"))
        return false;
    for (size_t i = 1; argv[i]; i++)
        if (strpbrk(argv[i], "\"%!^&|<>()\r\n"))
            return false;
    return true;
}

/* cmd.exe parses the line itself and would search the working directory first: use the full path. */
static bool name_script(const wchar_t *program, char script[WIDE_PATH])
{
    wchar_t whole[WIDE_PATH];
    DWORD len = GetFullPathNameW(program, WIDE_PATH, whole, NULL);
    if (!len || len >= WIDE_PATH || !utf8_from(whole, script, WIDE_PATH))
        return false;
    path_make_plain(script);
    return true;
}

/* Never searches the working directory, where others may have planted files. */
static bool find_program(const char *program, wchar_t whole[WIDE_PATH])
{
    const char *path = env_variable("PATH");
    struct str rest = str_from(path ? path : ""), folder;
    if (strpbrk(program, "/\\:"))
        return is_there((struct str){0}, program, whole);
    while (path_next(&rest, &folder))
        if (is_there(folder, program, whole))
            return true;
    return false;
}

int launch_line(const char *const *argv, wchar_t program[WIDE_PATH], wchar_t *line, size_t size)
{
    AUTO_BUF struct buf text = BUF(4 * size);
    char script[WIDE_PATH];
    if (!find_program(argv[0], program))
        return -ENOENT;
    if (!is_script(program)) {
        add_quoted(&text, argv[0]);
    } else if (name_script(program, script) && is_safe(script, argv)) {
        buf_printf(&text, "\"%s\"", script);
    } else {
        return -EINVAL;
    }
    for (size_t i = 1; argv[i]; i++) {
        buf_char(&text, ' ');
        add_quoted(&text, argv[i]);
    }
    return text.failed || !wide_from(text.at, line, size) ? -E2BIG : 0;
}

/* ---- a process ---- */

/* A job ends all its processes when it is closed; NULL: failed. */
static HANDLE make_job(void)
{
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION limit = {.BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE};
    HANDLE job = CreateJobObjectW(NULL, NULL);
    if (job)
        SetInformationJobObject(job, JobObjectExtendedLimitInformation, &limit, sizeof limit);
    return job;
}

HANDLE join_job(HANDLE job, HANDLE process)
{
    if (!job || AssignProcessToJobObject(job, process))
        return job;
    CloseHandle(job);
    return NULL;
}

bool end_process(HANDLE process, HANDLE job, UINT code)
{
    return job ? TerminateJobObject(job, code) : TerminateProcess(process, code);
}

void leave_job(HANDLE job)
{
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION none = {0};
    if (job)
        SetInformationJobObject(job, JobObjectExtendedLimitInformation, &none, sizeof none);
}

/* An inheritable duplicate; of NULL, a handle to NUL. */
static HANDLE inheritable(HANDLE file)
{
    SECURITY_ATTRIBUTES inherited = {.nLength = sizeof inherited, .bInheritHandle = TRUE};
    HANDLE self = GetCurrentProcess(), copy = NULL;
    if (!file)
        return CreateFileW(L"NUL", GENERIC_READ | GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_WRITE, &inherited, OPEN_EXISTING, 0,
                           NULL);
    return DuplicateHandle(self, file, self, &copy, 0, TRUE, DUPLICATE_SAME_ACCESS) ? copy : INVALID_HANDLE_VALUE;
}

/* Inherits exactly these handles, whatever else is inheritable at this moment. */
static bool make_process(const wchar_t *program, wchar_t *line, HANDLE given[3], DWORD flags, PROCESS_INFORMATION *ret)
{
    union {
        char bytes[256];
        void *aligned;
    } room;
    SIZE_T size = sizeof room;
    STARTUPINFOEXW how = {.StartupInfo = {.cb = sizeof how,
                                          .dwFlags = STARTF_USESTDHANDLES,
                                          .hStdInput = given[0],
                                          .hStdOutput = given[1],
                                          .hStdError = given[2]},
                          .lpAttributeList = (void *)&room};
    if (!InitializeProcThreadAttributeList(how.lpAttributeList, 1, 0, &size))
        return false;
    bool good = UpdateProcThreadAttribute(how.lpAttributeList, 0, PROC_THREAD_ATTRIBUTE_HANDLE_LIST, given, 3 * sizeof *given, NULL,
                                          NULL) &&
                CreateProcessW(program, line, NULL, NULL, TRUE, flags | CREATE_SUSPENDED | EXTENDED_STARTUPINFO_PRESENT, NULL, NULL,
                               &how.StartupInfo, ret);
    DWORD error = GetLastError();
    DeleteProcThreadAttributeList(how.lpAttributeList);
    SetLastError(error);
    return good;
}

/* Starts a process with these files (NULL: none), in a job. The job is NULL if the system doesn't allow one. */
static int start_process(const char *const *argv, HANDLE const files[3], DWORD flags, HANDLE *process, HANDLE *job)
{
    wchar_t program[WIDE_PATH];
    AUTO_FREE wchar_t *line = malloc(LINE_MAX_WIDE * sizeof *line);
    HANDLE given[3];
    PROCESS_INFORMATION made;
    int rc = line ? launch_line(argv, program, line, LINE_MAX_WIDE) : -ENOMEM;
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < ARRAY_LEN(given); i++)
        given[i] = inheritable(files[i]);
    if (!make_process(program, line, given, flags, &made)) {
        fail_with(GetLastError());
        rc = -errno;
    }
    for (size_t i = 0; i < ARRAY_LEN(given); i++)
        if (given[i] != INVALID_HANDLE_VALUE)
            CloseHandle(given[i]);
    if (rc < 0)
        return rc;
    *process = made.hProcess;
    *job = join_job(make_job(), made.hProcess);
    ResumeThread(made.hThread);
    CloseHandle(made.hThread);
    return 0;
}

/* Creates a process with our console and files, suspended. */
static int start_suspended(const char *const *argv, PROCESS_INFORMATION *ret)
{
    wchar_t program[WIDE_PATH];
    AUTO_FREE wchar_t *line = malloc(LINE_MAX_WIDE * sizeof *line);
    STARTUPINFOW how = {.cb = sizeof how};
    int rc = line ? launch_line(argv, program, line, LINE_MAX_WIDE) : -ENOMEM;
    if (rc == 0 && !CreateProcessW(program, line, NULL, NULL, TRUE, CREATE_SUSPENDED, NULL, NULL, &how, ret)) {
        fail_with(GetLastError());
        rc = -errno;
    }
    return rc;
}

/* As a waitpid() status. Codes that no program returns mean a crash. */
static int status_of_code(DWORD code)
{
    return code <= CODE_MAX                  ? (int)code << 8
           : code == STATUS_CONTROL_C_EXIT   ? SIGINT
           : code == STATUS_ACCESS_VIOLATION ? SIGSEGV
                                             : SIGABRT;
}

/* ---- background children ---- */

static struct child_here {
    pid_t pid;           /* 0: free */
    HANDLE process, job; /* job NULL: the system didn't allow one */
} children[CHILDREN_MAX];

static pthread_mutex_t children_lock = PTHREAD_MUTEX_INITIALIZER;

static struct child_here *find_child(pid_t pid)
{
    for (size_t i = 0; i < CHILDREN_MAX; i++)
        if (children[i].pid == pid)
            return &children[i];
    return NULL;
}

static int keep_child(HANDLE process, HANDLE job, pid_t *ret)
{
    pid_t pid = (pid_t)GetProcessId(process);
    pthread_mutex_lock(&children_lock);
    struct child_here *place = find_child(0);
    if (place)
        *place = (struct child_here){pid, process, job};
    pthread_mutex_unlock(&children_lock);
    if (!place) {
        end_process(process, job, 1);
        if (job)
            CloseHandle(job);
        CloseHandle(process);
        return -EAGAIN;
    }
    *ret = pid;
    return 0;
}

static int spawn(const char *const *argv, int const fds[3], DWORD flags, pid_t *ret)
{
    HANDLE files[3], process, job;
    for (size_t i = 0; i < ARRAY_LEN(files); i++)
        files[i] = fds[i] >= 0 ? (HANDLE)_get_osfhandle(fds[i]) : NULL;
    int rc = start_process(argv, files, flags, &process, &job);
    return rc < 0 ? rc : keep_child(process, job, ret);
}

int launch_spawn(const char *const *argv, int in, int out, int diag, pid_t *ret)
{
    return spawn(argv, (int[]){in, out, diag}, CREATE_NO_WINDOW, ret);
}

int launch_companion(const char *const *argv, int diag, pid_t *ret)
{
    return spawn(argv, (int[]){-1, -1, diag}, 0, ret);
}

pid_t waitpid(pid_t pid, int *status, int flags)
{
    pthread_mutex_lock(&children_lock);
    struct child_here *place = pid > 0 ? find_child(pid) : NULL, child = place ? *place : (struct child_here){0};
    pthread_mutex_unlock(&children_lock);
    DWORD code = 0;
    if (!child.pid) {
        errno = ECHILD;
        return -1;
    }
    if (WaitForSingleObject(child.process, flags & WNOHANG ? 0 : INFINITE) != WAIT_OBJECT_0)
        return 0;
    GetExitCodeProcess(child.process, &code);
    if (status)
        *status = status_of_code(code);
    pthread_mutex_lock(&children_lock);
    place->pid = 0;
    pthread_mutex_unlock(&children_lock);
    leave_job(child.job);
    if (child.job)
        CloseHandle(child.job);
    CloseHandle(child.process);
    return pid;
}

/* Ends it with its children; false: not our child. */
static bool end_child(pid_t pid, UINT code)
{
    pthread_mutex_lock(&children_lock);
    const struct child_here *place = find_child(pid);
    bool good = place && end_process(place->process, place->job, code);
    pthread_mutex_unlock(&children_lock);
    return good;
}

/* Signal 0 checks for existence; all others end the process at once. Negative: with its children, if it is our child. */
int kill(pid_t pid, int number)
{
    DWORD code = 0;
    bool ends = number == SIGTERM || number == SIGKILL || number == SIGINT;
    if (pid < -1 && ends)
        return end_child(-pid, 128 + (UINT)number) ? 0 : (errno = ESRCH, -1);
    if (pid <= 0 || (number && !ends)) {
        errno = EINVAL;
        return -1;
    }
    HANDLE process = OpenProcess(number ? PROCESS_TERMINATE : PROCESS_QUERY_LIMITED_INFORMATION, FALSE, (DWORD)pid);
    if (!process) {
        errno = GetLastError() == ERROR_INVALID_PARAMETER ? ESRCH : EPERM;
        return -1;
    }
    bool good = number ? TerminateProcess(process, 128 + (UINT)number) : GetExitCodeProcess(process, &code) && code == STILL_ACTIVE;
    CloseHandle(process);
    return good ? 0 : (errno = ESRCH, -1);
}

/* ---- the launcher: reads output through bounded buffers, ends the program and its children at the deadline ---- */

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

/* ---- a program that takes over the console: in a job, which counts the CPU time of all its children; Ctrl+C reaches it directly
 * ---- */

int program_start(struct program *p, const char *const *argv)
{
    PROCESS_INFORMATION made;
    signal(SIGINT, SIG_IGN);
    console_lend();
    int rc = start_suspended(argv, &made);
    if (rc < 0)
        return rc;
    HANDLE job = join_job(CreateJobObjectW(NULL, NULL), made.hProcess);
    ResumeThread(made.hThread);
    CloseHandle(made.hThread);
    *p = (struct program){.pid = (int32_t)made.dwProcessId, .handle = (intptr_t)made.hProcess, .job = (intptr_t)job};
    return 0;
}

static DWORD code_of(const struct program *p)
{
    DWORD code = 0;
    GetExitCodeProcess((HANDLE)p->handle, &code);
    return code;
}

bool program_has_ended(struct program *p)
{
    if (WaitForSingleObject((HANDLE)p->handle, 0) != WAIT_OBJECT_0)
        return false;
    p->status = status_of_code(code_of(p));
    return true;
}

void program_wait(const struct program *p, int64_t ms)
{
    WaitForSingleObject((HANDLE)p->handle, (DWORD)ms);
}

double program_cpu_seconds(const struct program *p)
{
    JOBOBJECT_BASIC_ACCOUNTING_INFORMATION spent;
    if (!p->job || !QueryInformationJobObject((HANDLE)p->job, JobObjectBasicAccountingInformation, &spent, sizeof spent, NULL))
        return -1;
    return (double)(spent.TotalUserTime.QuadPart + spent.TotalKernelTime.QuadPart) / 1e7;
}

void program_close(struct program *p)
{
    CloseHandle((HANDLE)p->handle);
    if (p->job)
        CloseHandle((HANDLE)p->job);
}

int program_end_like(const struct program *p)
{
    return (int)code_of(p);
}

/* ---- a program begun later: created suspended, in a job that ends with us, as file locks can't be passed on ---- */

int held_program_make(struct held_program *p, const char *const *argv, int kept_fd)
{
    PROCESS_INFORMATION made;
    (void)kept_fd;
    console_lend();
    int rc = start_suspended(argv, &made);
    if (rc < 0)
        return rc;
    (void)join_job(make_job(), made.hProcess); /* the job closes with this process */
    *p = (struct held_program){.pid = (pid_t)made.dwProcessId, .go = (intptr_t)made.hThread, .failed = (intptr_t)made.hProcess};
    return 0;
}

int held_program_begin(struct held_program *p)
{
    ResumeThread((HANDLE)p->go);
    CloseHandle((HANDLE)p->go);
    return 0;
}

int held_program_wait(struct held_program *p)
{
    DWORD code = 0;
    HANDLE process = (HANDLE)p->failed;
    WaitForSingleObject(process, INFINITE);
    GetExitCodeProcess(process, &code);
    CloseHandle(process);
    return (int)code;
}

void held_program_drop(struct held_program *p)
{
    TerminateProcess((HANDLE)p->failed, 1);
    CloseHandle((HANDLE)p->go);
    held_program_wait(p);
    p->pid = -1;
}
