/* SPDX-License-Identifier: Apache-2.0
 * Process options that macOS lacks: its child processes end when their pipes close.
 */
#pragma once

#include <errno.h>

enum { PR_SET_PDEATHSIG = 1, PR_SET_CHILD_SUBREAPER = 36 };

static inline int prctl(int wish, ...)
{
    (void)wish;
    errno = ENOSYS;
    return -1;
}
