/* SPDX-License-Identifier: Apache-2.0
 * POSIX clocks and time zones.
 */
#pragma once

#ifndef _POSIX_THREAD_SAFE_FUNCTIONS
#define _POSIX_THREAD_SAFE_FUNCTIONS 200112L
#endif
#include <pthread_time.h>
#include_next <time.h>

/* CLOCK_MONOTONIC's counter keeps counting during sleep. */
#define CLOCK_BOOTTIME CLOCK_MONOTONIC

time_t timegm(struct tm *tm);
time_t posix_mktime(struct tm *tm);
struct tm *posix_gmtime_r(const time_t *at, struct tm *ret);
struct tm *posix_localtime_r(const time_t *at, struct tm *ret);
#define mktime posix_mktime
#define gmtime_r posix_gmtime_r
#define localtime_r posix_localtime_r
/* English whatever the system's language, and with %e, %F and %-d. */
size_t posix_strftime(char *to, size_t size, const char *format, const struct tm *tm) __attribute__((format(gnu_strftime, 3, 0)));
#define strftime posix_strftime
