/* SPDX-License-Identifier: Apache-2.0
 * Drops capabilities with the two system calls; needs no library.
 */
#include "daemon/daemon.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef CAP_PERFMON
#define CAP_PERFMON 38 /* Linux 5.8 */
#endif

static const int kept[] = {
    CAP_SYS_PTRACE, /* other users' processes and their file descriptors */
    CAP_PERFMON,    /* the addresses at which they run */
    CAP_SYSLOG,     /* driver errors in the kernel log */
    CAP_DAC_OVERRIDE,
    CAP_DAC_READ_SEARCH,  /* state, configuration and keys of any owner */
    CAP_KILL,             /* guarded workers of other users */
    CAP_NET_BIND_SERVICE, /* --listen on a port below 1024 */
};

int privileges_drop(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
    if (syscall(SYS_capget, &header, data))
        return -errno;
    uint64_t keep = 0;
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++)
        keep |= UINT64_C(1) << kept[i];
    int given_up = 0;
    for (int word = 0; word < _LINUX_CAPABILITY_U32S_3; word++) {
        uint32_t mask = (uint32_t)(keep >> (32 * word));
        given_up += __builtin_popcount(data[word].permitted & ~mask);
        data[word].permitted &= mask;
        data[word].effective &= mask;
        data[word].inheritable &= mask;
    }
    if (given_up && syscall(SYS_capset, &header, data))
        return -errno;
    return given_up;
}
