/* SPDX-License-Identifier: Apache-2.0
 * Descriptor limits, and system calls that not every glibc wraps.
 */
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

static struct rlimit limit_given; /* rlim_max 0: not raised */

size_t descriptors_raise(size_t wanted)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return 0;
    if (limit.rlim_cur < wanted) {
        if (!limit_given.rlim_max)
            limit_given = limit;
        limit.rlim_cur = limit.rlim_max == RLIM_INFINITY ? wanted : MIN_OF((rlim_t)wanted, limit.rlim_max);
        setrlimit(RLIMIT_NOFILE, &limit);
        getrlimit(RLIMIT_NOFILE, &limit);
    }
    return limit.rlim_cur;
}

void descriptors_lower_of(int32_t pid)
{
    if (limit_given.rlim_max)
        prlimit(pid, RLIMIT_NOFILE, &limit_given, NULL);
}

void descriptors_close_from(int first)
{
    enum { FEW = 256 };
    for (int fd = first; fd < FEW && syscall(SYS_close_range, fd, ~0U, 0) < 0; fd++)
        close(fd);
}

ssize_t dir_entries(int dir, void *buffer, size_t size)
{
    return syscall(SYS_getdents64, dir, buffer, size);
}
