/* SPDX-License-Identifier: Apache-2.0
 * Reads and writes moments. Calendar arithmetic is the C library's: it knows the zone and its changes over the year.
 */
#include "base/moment.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/words.h"

static struct tm to_calendar(struct wall at, enum moment_zone zone)
{
    time_t seconds = (time_t)(at.ms / MS_PER_S);
    struct tm tm = {0};
    if (zone == MOMENT_LOCAL)
        localtime_r(&seconds, &tm);
    else
        gmtime_r(&seconds, &tm);
    return tm;
}

static struct wall from_calendar(struct tm tm, enum moment_zone zone)
{
    tm.tm_isdst = -1;
    time_t seconds = zone == MOMENT_LOCAL ? mktime(&tm) : timegm(&tm);
    return (struct wall){(int64_t)seconds * MS_PER_S};
}

static bool take_two_digits(struct str *s, int *ret)
{
    if (s->len < 2 || s->at[0] < '0' || s->at[0] > '9' || s->at[1] < '0' || s->at[1] > '9')
        return false;
    *ret = (s->at[0] - '0') * 10 + (s->at[1] - '0');
    *s = (struct str){s->at + 2, s->len - 2};
    return true;
}

/* "03:10" or "03:10:30", also "3:10". */
static bool time_parse(struct str s, struct tm *tm)
{
    int hour, minute, second = 0;
    char padded[16];
    if (s.len > 1 && s.len < sizeof padded - 1 && s.at[1] == ':') {
        snprintf(padded, sizeof padded, "0%.*s", (int)s.len, s.at);
        s = str_from(padded);
    }
    if (!take_two_digits(&s, &hour) || s.len == 0 || s.at[0] != ':')
        return false;
    s = (struct str){s.at + 1, s.len - 1};
    if (!take_two_digits(&s, &minute))
        return false;
    if (s.len) {
        bool colon = s.at[0] == ':';
        s = (struct str){s.at + 1, s.len - 1};
        if (!colon || !take_two_digits(&s, &second))
            return false;
    }
    if (s.len || hour > 23 || minute > 59 || second > 59)
        return false;
    tm->tm_hour = hour;
    tm->tm_min = minute;
    tm->tm_sec = second;
    return true;
}

static bool take_word(struct str *s, const char *word)
{
    size_t len = strlen(word);
    if (s->len < len || strncasecmp(s->at, word, len) != 0 || (s->len > len && s->at[len] != ' '))
        return false;
    *s = str_trim((struct str){s->at + len, s->len - len});
    return true;
}

/* "today", "yesterday 22:00" */
static bool day_parse(struct str s, struct wall now, enum moment_zone zone, struct wall *ret)
{
    bool yesterday = take_word(&s, "yesterday");
    if (!yesterday && !take_word(&s, "today"))
        return false;
    struct tm tm = to_calendar(now, zone);
    tm.tm_hour = tm.tm_min = tm.tm_sec = 0;
    if (s.len && !time_parse(s, &tm))
        return false;
    tm.tm_mday -= yesterday;
    *ret = from_calendar(tm, zone);
    return true;
}

/* The last time the clock showed it: today's, or yesterday's when today's is still to come. */
static bool last_time_parse(struct str s, struct wall now, enum moment_zone zone, struct wall *ret)
{
    struct tm tm = to_calendar(now, zone);
    if (!time_parse(s, &tm))
        return false;
    *ret = from_calendar(tm, zone);
    if (ret->ms > now.ms) {
        tm.tm_mday--;
        *ret = from_calendar(tm, zone);
    }
    return true;
}

/* "2h ago", "-2h", and "2h" alone: everything that asks for a moment asks about the past. */
static bool ago_parse(struct str s, struct wall now, struct wall *ret)
{
    int64_t ago;
    size_t len = s.len;
    if (len > 1 && s.at[0] == '-')
        s = (struct str){s.at + 1, len - 1};
    else if (len > 4 && strncasecmp(s.at + len - 4, " ago", 4) == 0)
        s = (struct str){s.at, len - 4};
    else if (str_is(s, "0")) /* a number without a unit is a mistake, not now */
        return false;
    if (!duration_parse(s, &ago))
        return false;
    *ret = (struct wall){MAX_OF(now.ms - ago, (int64_t)1)};
    return true;
}

/* The date has two dashes; a third, a plus or a Z behind it belongs to a zone. */
static bool names_zone(struct str s)
{
    for (size_t i = 10; i < s.len; i++)
        if (strchr("Zz+-", s.at[i]))
            return true;
    return false;
}

bool moment_parse(struct str text, struct wall now, enum moment_zone zone, struct wall *ret)
{
    struct str s = str_trim(text);
    struct wall at;
    if (s.len == 3 && strncasecmp(s.at, "now", 3) == 0)
        at = now;
    else if (ago_parse(s, now, &at) || last_time_parse(s, now, zone, &at) || day_parse(s, now, zone, &at))
        ;
    else if (!wall_parse(s, &at))
        return false;
    else if (zone == MOMENT_LOCAL && !names_zone(s))
        at.ms = from_calendar(to_calendar(at, MOMENT_UTC), MOMENT_LOCAL).ms + at.ms % MS_PER_S;
    if (at.ms <= 0)
        return false;
    *ret = at;
    return true;
}

void moment_format(struct wall at, struct wall now, char text[MOMENT_TEXT_SIZE])
{
    struct tm then = to_calendar(at, MOMENT_LOCAL), today = to_calendar(now, MOMENT_LOCAL);
    text[0] = '\0';
    if (then.tm_year != today.tm_year)
        strftime(text, MOMENT_TEXT_SIZE, "%Y-%m-%d %H:%M", &then);
    else if (then.tm_yday != today.tm_yday)
        strftime(text, MOMENT_TEXT_SIZE, "%b %e %H:%M", &then);
    else
        strftime(text, MOMENT_TEXT_SIZE, "%H:%M", &then);
}
