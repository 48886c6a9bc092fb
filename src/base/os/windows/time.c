/* SPDX-License-Identifier: Apache-2.0
 * Times as text and back: what the C library of Windows lacks, or writes otherwise.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

time_t timegm(struct tm *tm)
{
    return _mkgmtime64(tm);
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
