/* SPDX-License-Identifier: Apache-2.0
 * Resource usage of a process.
 */
#pragma once

#include <sys/time.h>

enum { RUSAGE_SELF = 0 };
struct rusage {
    struct timeval ru_utime, ru_stime;
    long ru_maxrss;
};
int getrusage(int who, struct rusage *ret);
