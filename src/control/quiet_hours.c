/* SPDX-License-Identifier: Apache-2.0
 * Hours of the day by the host's clock.
 */
#include <time.h>

#include "base/str.h"
#include "control/helper.h"

enum { MINUTES_OF_DAY = 24 * 60, MINUTE_S = 60 };

static bool parse_minutes(const char *text, int *ret)
{
    int64_t hour, minute;
    struct str rest = str_from(text), first;
    if (!str_cut(&rest, ':', &first) || !str_to_i64(first, &hour) || !str_to_i64(rest, &minute) || hour < 0 || hour > 23 ||
        minute < 0 || minute > 59 || rest.len != 2)
        return false;
    *ret = (int)(hour * MINUTE_S + minute);
    return true;
}

bool quiet_hours_until(const char *from, const char *until, struct wall now, struct wall *ret)
{
    int begin, end;
    time_t seconds = (time_t)(now.ms / MS_PER_S);
    struct tm local;
    if (!parse_minutes(from, &begin) || !parse_minutes(until, &end) || begin == end || !localtime_r(&seconds, &local))
        return false;
    int minute = local.tm_hour * MINUTE_S + local.tm_min;
    int since = (minute - begin + MINUTES_OF_DAY) % MINUTES_OF_DAY, length = (end - begin + MINUTES_OF_DAY) % MINUTES_OF_DAY;
    if (since >= length)
        return false;
    local.tm_mday += minute >= end; /* already past today: tomorrow's */
    local.tm_hour = end / MINUTE_S;
    local.tm_min = end % MINUTE_S;
    local.tm_sec = 0;
    local.tm_isdst = -1;
    ret->ms = (int64_t)mktime(&local) * MS_PER_S;
    return true;
}
