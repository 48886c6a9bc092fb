/* SPDX-License-Identifier: Apache-2.0
 * Without handles of programs.
 */
#include <errno.h>

#include "base/os/end.h"

int end_open(int32_t pid)
{
    (void)pid;
    return -ENOSYS;
}

bool end_wait(int handle, int64_t ms, int *ret_status)
{
    (void)handle, (void)ms;
    *ret_status = END_STATUS_UNKNOWN;
    return false;
}
