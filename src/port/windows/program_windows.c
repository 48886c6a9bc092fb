/* SPDX-License-Identifier: Apache-2.0
 * A process in a job, which counts the CPU time of all its children. Ctrl+C reaches it directly, as it shares our console.
 */
#include "base/os/program.h"

#include <signal.h>

#include "port/windows/internal.h"

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
