/* SPDX-License-Identifier: Apache-2.0
 * Where a program that goes on by itself is not started yet: os/windows/launch.c runs programs to their end.
 */
#include <errno.h>

#include "base/launch/outside.h"

int launch_spawn(const char *const *argv, int in, int out, int diag, pid_t *ret)
{
    (void)argv, (void)in, (void)out, (void)diag, (void)ret;
    return -ENOSYS;
}
