/* SPDX-License-Identifier: Apache-2.0
 * Time conversions that the C library of Windows lacks or does differently. It knows nothing before 1970, and applies today's
 * daylight saving rules of the United States to all years and every zone in TZ. Here the zone is the system's, with the rules of
 * each year; TZ=UTC is the only other one.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "port/windows/internal.h"

static const int64_t SECONDS_BEFORE_1970 = 11644473600, TICKS_PER_S = 10000000; /* the system counts from 1601 */

static int days_before_month(int month, int64_t year)
{
    static const int before[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};
    return before[month] + (month > 1 && year % 4 == 0 && (year % 100 != 0 || year % 400 == 0));
}

static bool to_system(int64_t seconds, SYSTEMTIME *ret)
{
    ULARGE_INTEGER ticks = {.QuadPart = (ULONGLONG)((seconds + SECONDS_BEFORE_1970) * TICKS_PER_S)};
    return seconds >= -SECONDS_BEFORE_1970 && FileTimeToSystemTime(&(FILETIME){ticks.LowPart, ticks.HighPart}, ret);
}

static int64_t from_system(const SYSTEMTIME *at)
{
    FILETIME ticks = {0};
    SystemTimeToFileTime(at, &ticks);
    return (int64_t)((ULARGE_INTEGER){{ticks.dwLowDateTime, ticks.dwHighDateTime}}).QuadPart / TICKS_PER_S - SECONDS_BEFORE_1970;
}

static void to_calendar(const SYSTEMTIME *at, bool summer, struct tm *ret)
{
    *ret = (struct tm){.tm_year = at->wYear - 1900,
                       .tm_mon = at->wMonth - 1,
                       .tm_mday = at->wDay,
                       .tm_hour = at->wHour,
                       .tm_min = at->wMinute,
                       .tm_sec = at->wSecond,
                       .tm_wday = at->wDayOfWeek,
                       .tm_yday = days_before_month(at->wMonth - 1, at->wYear) + at->wDay - 1,
                       .tm_isdst = summer};
}

/* As if in UTC; months, days and hours out of range carry over. */
static int64_t count_seconds(const struct tm *tm)
{
    int64_t months = (int64_t)(tm->tm_year + 1900 - 1601) * 12 + tm->tm_mon, years = months / 12;
    int64_t days =
        years * 365 + years / 4 - years / 100 + years / 400 + days_before_month((int)(months % 12), years + 1601) + tm->tm_mday - 1;
    return ((days * 24 + tm->tm_hour) * 60 + tm->tm_min) * 60 + tm->tm_sec - SECONDS_BEFORE_1970;
}

struct tm *posix_gmtime_r(const time_t *at, struct tm *ret)
{
    SYSTEMTIME utc;
    if (!to_system(*at, &utc))
        return NULL;
    to_calendar(&utc, false, ret);
    return ret;
}

time_t timegm(struct tm *tm)
{
    time_t at = count_seconds(tm);
    posix_gmtime_r(&at, tm);
    return at;
}

static bool zone_of(int year, TIME_ZONE_INFORMATION *ret)
{
    const char *named = getenv("TZ");
    return !(named && strncmp(named, "UTC", 3) == 0) && GetTimeZoneInformationForYear((USHORT)year, NULL, ret);
}

struct tm *posix_localtime_r(const time_t *at, struct tm *ret)
{
    TIME_ZONE_INFORMATION zone;
    SYSTEMTIME utc, local;
    if (!to_system(*at, &utc))
        return NULL;
    if (!zone_of(utc.wYear, &zone) || !SystemTimeToTzSpecificLocalTime(&zone, &utc, &local))
        return posix_gmtime_r(at, ret);
    to_calendar(&local, from_system(&local) - *at != -60 * (int64_t)(zone.Bias + zone.StandardBias), ret);
    return ret;
}

time_t posix_mktime(struct tm *tm)
{
    time_t at = count_seconds(tm);
    TIME_ZONE_INFORMATION zone;
    SYSTEMTIME local, utc;
    if (to_system(at, &local) && zone_of(local.wYear, &zone) && TzSpecificLocalTimeToSystemTime(&zone, &local, &utc))
        at = from_system(&utc);
    posix_localtime_r(&at, tm);
    return at;
}

static int put_field(char *to, size_t size, char kind, bool bare, const struct tm *tm)
{
    static const char months[][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    static const char days[][4] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    switch (kind) {
    case 'a': return snprintf(to, size, "%s", days[tm->tm_wday % 7]);
    case 'b': return snprintf(to, size, "%s", months[tm->tm_mon % 12]);
    case 'd': return snprintf(to, size, bare ? "%d" : "%02d", tm->tm_mday);
    case 'e': return snprintf(to, size, "%2d", tm->tm_mday);
    case 'H': return snprintf(to, size, "%02d", tm->tm_hour);
    case 'M': return snprintf(to, size, "%02d", tm->tm_min);
    case 'm': return snprintf(to, size, "%02d", tm->tm_mon + 1);
    case 'S': return snprintf(to, size, "%02d", tm->tm_sec);
    case 'Y': return snprintf(to, size, "%d", tm->tm_year + 1900);
    case 'F': return snprintf(to, size, "%d-%02d-%02d", tm->tm_year + 1900, tm->tm_mon + 1, tm->tm_mday);
    case 'T': return snprintf(to, size, "%02d:%02d:%02d", tm->tm_hour, tm->tm_min, tm->tm_sec);
    default: return snprintf(to, size, "%c", kind);
    }
}

size_t posix_strftime(char *to, size_t size, const char *format, const struct tm *tm)
{
    size_t len = 0;
    for (; *format; format++) {
        bool bare = format[0] == '%' && format[1] == '-';
        int wrote = 1;
        if (len + 1 >= size)
            return 0;
        if (*format == '%' && format[1 + bare]) {
            format += 1 + bare;
            wrote = put_field(to + len, size - len, *format, bare, tm);
        } else {
            to[len] = *format;
        }
        len += (size_t)wrote;
    }
    if (len >= size)
        return 0;
    to[len] = '\0';
    return len;
}
