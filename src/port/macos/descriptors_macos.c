/* SPDX-License-Identifier: Apache-2.0
 * Descriptor limits.
 */
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"

size_t descriptors_raise(size_t wanted)
{
    enum { MOST = 10240 }; /* OPEN_MAX; macOS refuses more */
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return 0;
    rlim_t room = MIN_OF((rlim_t)wanted, MIN_OF(limit.rlim_max, (rlim_t)MOST));
    if (limit.rlim_cur < room) {
        limit.rlim_cur = room;
        setrlimit(RLIMIT_NOFILE, &limit);
        getrlimit(RLIMIT_NOFILE, &limit);
    }
    return (size_t)limit.rlim_cur;
}

void descriptors_close_from(int first)
{
    for (int fd = first, end = getdtablesize(); fd < end; fd++)
        close(fd);
}
