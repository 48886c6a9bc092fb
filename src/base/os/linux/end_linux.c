/* SPDX-License-Identifier: Apache-2.0
 * By pidfd. Since Linux 6.15 it also has the exit status of a program that is no child, once its parent has reaped it.
 */
#include <errno.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/os/end.h"

enum { REAPED_WITHIN_MS = 1000 };

/* linux/pidfd.h, which older systems lack. */
struct pidfd_info {
    uint64_t mask, cgroupid;
    uint32_t ids[11];
    int32_t exit_code;
};
#define PIDFD_GET_INFO _IOWR(0xff, 11, struct pidfd_info)
#define PIDFD_INFO_EXIT (1u << 3)

int end_open(int32_t pid)
{
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    return fd < 0 ? -errno : fd;
}

bool end_wait(int handle, int64_t ms, int *ret_status)
{
    struct pollfd end = {.fd = handle, .events = POLLIN};
    *ret_status = END_STATUS_UNKNOWN;
    if (poll(&end, 1, (int)ms) <= 0)
        return false;
    end.events = 0; /* POLLHUP: reaped */
    (void)poll(&end, 1, REAPED_WITHIN_MS);
    struct pidfd_info info = {.mask = PIDFD_INFO_EXIT};
    if (ioctl(handle, PIDFD_GET_INFO, &info) == 0 && (info.mask & PIDFD_INFO_EXIT))
        *ret_status = WIFSIGNALED(info.exit_code) ? 128 + WTERMSIG(info.exit_code) : WEXITSTATUS(info.exit_code);
    return true;
}
