/* SPDX-License-Identifier: Apache-2.0
 * A process created suspended, in a job that ends with us: file locks can't be passed on.
 */
#include "base/os/held_program.h"

#include <errno.h>

#include "port/windows/internal.h"

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
