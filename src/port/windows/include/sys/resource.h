/* SPDX-License-Identifier: Apache-2.0
 * What a process has used.
 */
#pragma once

#include <sys/time.h>

enum { RUSAGE_SELF = 0 };
struct rusage {
    struct timeval ru_utime, ru_stime;
    long ru_maxrss;
};
int getrusage(int who, struct rusage *ret);
