/* SPDX-License-Identifier: Apache-2.0
 * Restrictions on the helper once it has its socket and drivers: beyond what the daemon refuses itself, no sockets but local ones,
 * no other programs, and no access to other processes.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "control/helper.h"
#include "daemon/sandbox.h"
#include "lease/lease_dir.h"

static int refuse_calls(void)
{
    static const unsigned refused[] = {SYS_execve, SYS_execveat, SYS_ptrace, SYS_process_vm_readv};
    enum { CALLS = ARRAY_LEN(refused) };
    struct sock_filter program[CALLS + 8];
    unsigned short n = 0;
#define ADD(...) program[n++] = (struct sock_filter)__VA_ARGS__
    ADD(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)));
    for (size_t i = 0; i < CALLS; i++)
        ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, refused[i], (unsigned char)(CALLS - i + 2),
                     0)); /* jump to the refusal at the end */
    ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 3));
    ADD(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])));
    ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_UNIX, 1, 0));
    ADD(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM));
    ADD(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
#undef ADD
    const struct sock_fprog filter = {.len = n, .filter = program};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) ? -errno : 0;
}

int helper_confine(const struct lease_dir *settings, const struct lease_dir *gpus, struct error *err)
{
    const struct lease_dir *const journals[] = {settings, gpus};
    const char *places[5] = {"/sys/devices"};
    size_t count = 1;
    for (size_t i = 0; i < ARRAY_LEN(journals); i++)
        if (journals[i]) {
            places[count++] = journals[i]->path;
            if (journals[i]->shown >= 0)
                places[count++] = journals[i]->shown_path;
        }
    int writes = sandbox_writes(places, count), calls = sandbox_calls(), more = refuse_calls();
    if (writes < 0)
        log_info("Landlock is not in force", LOG_TEXT("why", strerror(-writes)));
    if (calls < 0 || more < 0)
        return error_set(err, calls < 0 ? calls : more, "whirr-control cannot be confined: %s",
                         strerror(calls < 0 ? -calls : -more));
    return 0;
}
