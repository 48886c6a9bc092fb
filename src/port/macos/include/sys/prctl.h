/* SPDX-License-Identifier: Apache-2.0
 * Wishes about a process that macOS does not know: its programs end by themselves when their pipes are closed.
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
