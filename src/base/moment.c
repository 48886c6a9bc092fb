/* SPDX-License-Identifier: Apache-2.0
 * Reads and writes moments. The C library does the calendar arithmetic: it knows time zones and daylight saving.
 */
#include "base/moment.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/units.h"
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

static bool take_word(struct str *s, const char *word)
{
    size_t len = strlen(word);
    if (s->len < len || strncasecmp(s->at, word, len) != 0 || (s->len > len && s->at[len] != ' '))
        return false;
    *s = str_trim((struct str){s->at + len, s->len - len});
    return true;
}

/* Removes a trailing "am" or "pm"; -1: neither. */
static int take_half_of_day(struct str *s)
{
    if (s->len < 3 || (s->at[s->len - 1] | 0x20) != 'm' || !strchr("aApP", s->at[s->len - 2]))
        return -1;
    int half = (s->at[s->len - 2] | 0x20) == 'p';
    *s = str_trim((struct str){s->at, s->len - 2});
    return half;
}

/* "03:10" or "03:10:30", also "3:10"; "3am", "3:10 pm"; "noon", "midnight". */
static bool time_parse(struct str s, struct tm *tm)
{
    int hour, minute = 0, second = 0, half = take_half_of_day(&s);
    char padded[16];
    if (half < 0 && (str_is_any_case(s, "noon") || str_is_any_case(s, "midnight"))) {
        *tm = (struct tm){.tm_year = tm->tm_year, .tm_mon = tm->tm_mon, .tm_mday = tm->tm_mday, .tm_hour = s.len == 4 ? 12 : 0};
        return true;
    }
    if (s.len >= 1 && s.len < sizeof padded - 1 && (s.len == 1 || s.at[1] == ':')) {
        snprintf(padded, sizeof padded, "0%.*s", (int)s.len, s.at);
        s = str_from(padded);
    }
    if (!take_two_digits(&s, &hour) || (s.len == 0 && half < 0))
        return false;
    for (int *part = &minute; s.len; part = &second) {
        bool colon = s.at[0] == ':';
        s = (struct str){s.at + 1, s.len - 1};
        if (!colon || !take_two_digits(&s, part) || (part == &second && s.len))
            return false;
    }
    if (hour > 23 || minute > 59 || second > 59 || (half >= 0 && (hour < 1 || hour > 12)))
        return false;
    tm->tm_hour = half < 0 ? hour : hour % 12 + 12 * half;
    tm->tm_min = minute;
    tm->tm_sec = second;
    return true;
}

/* "today", "yesterday 22:00", "last night 3am". Before dawn, who looks back says "tonight" of the night that is still on. */
static bool day_parse(struct str s, struct wall now, enum moment_zone zone, bool later, struct wall *ret)
{
    enum { NIGHT_BEGINS = 20, NOON = 12, DAWN = 5 };
    static const struct {
        const char *word;
        int days;
        bool night;
    } words[] = {
        {"today", 0, false}, {"yesterday", -1, false}, {"tomorrow", 1, false}, {"tonight", 0, true}, {"last night", -1, true}};
    size_t i = 0;
    while (i < ARRAY_LEN(words) && !take_word(&s, words[i].word))
        i++;
    if (i == ARRAY_LEN(words))
        return false;
    struct tm tm = to_calendar(now, zone);
    int since_dusk = words[i].night && !words[i].days && !later && tm.tm_hour < DAWN;
    tm.tm_hour = words[i].night ? NIGHT_BEGINS : 0;
    tm.tm_min = tm.tm_sec = 0;
    if (s.len && !time_parse(s, &tm))
        return false;
    tm.tm_mday += words[i].days + (words[i].night && tm.tm_hour < NOON) - since_dusk;
    *ret = from_calendar(tm, zone);
    return true;
}

/* "last month", "this week": the start of it. */
static bool period_parse(struct str s, struct wall now, enum moment_zone zone, struct wall *ret)
{
    bool last = take_word(&s, "last");
    if (!last && !take_word(&s, "this"))
        return false;
    struct tm tm = to_calendar(now, zone);
    tm.tm_hour = tm.tm_min = tm.tm_sec = 0;
    if (str_is_any_case(s, "week")) {
        tm.tm_mday -= (tm.tm_wday + 6) % 7 + 7 * last; /* weeks start on Monday */
    } else if (str_is_any_case(s, "month")) {
        tm.tm_mday = 1;
        tm.tm_mon -= last;
    } else
        return false;
    *ret = from_calendar(tm, zone);
    return true;
}

/* "monday", "last friday 14:00": the last one, or with `later` the next. */
static bool weekday_parse(struct str s, struct wall now, enum moment_zone zone, bool later, struct wall *ret)
{
    static const char *const days[] = {"sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"};
    struct tm tm = to_calendar(now, zone);
    int day = 0;
    (void)take_word(&s, later ? "next" : "last");
    while (day < 7 && !take_word(&s, days[day]))
        day++;
    tm.tm_mday += (day - tm.tm_wday + 7) % 7;
    tm.tm_hour = tm.tm_min = tm.tm_sec = 0;
    if (day == 7 || (s.len && !time_parse(s, &tm)))
        return false;
    *ret = from_calendar(tm, zone);
    if ((ret->ms > now.ms) != later) {
        tm.tm_mday += later ? 7 : -7;
        *ret = from_calendar(tm, zone);
    }
    return true;
}

/* The moments at which the clock showed this time that day: two when daylight saving ends; a skipped hour gets mktime()'s guess. */
static size_t times_of_day(struct tm tm, enum moment_zone zone, struct wall ret[2])
{
    size_t count = 0;
    for (int summer = 0; summer < 2 && zone == MOMENT_LOCAL; summer++) {
        struct tm tried = tm;
        tried.tm_isdst = summer;
        struct wall at = {(int64_t)mktime(&tried) * MS_PER_S};
        struct tm shown = to_calendar(at, zone);
        if (shown.tm_hour == tm.tm_hour && shown.tm_min == tm.tm_min && (count == 0 || at.ms != ret[0].ms))
            ret[count++] = at;
    }
    if (count == 0)
        ret[count++] = from_calendar(tm, zone);
    return count;
}

/* A bare time of day: the last one up to `from`, or with `later` the first one after it. */
static bool clock_parse(struct str s, struct wall from, enum moment_zone zone, bool later, struct wall *ret)
{
    struct tm tm = to_calendar(from, zone);
    if (!time_parse(s, &tm))
        return false;
    bool found = false;
    tm.tm_mday -= 2;
    for (int day = 0; day < 5; day++, tm.tm_mday++) {
        struct wall at[2];
        size_t count = times_of_day(tm, zone, at);
        for (size_t i = 0; i < count; i++) {
            bool fits = later ? at[i].ms > from.ms : at[i].ms <= from.ms;
            if (fits && (!found || (at[i].ms < ret->ms) == later)) {
                *ret = at[i];
                found = true;
            }
        }
    }
    return found;
}

/* "an hour", "2 days" */
static bool spoken_parse(struct str s, int64_t *ret)
{
    static const struct {
        const char *word;
        int64_t ms;
    } units[] = {{"second", MS_PER_S}, {"minute", 60 * MS_PER_S}, {"hour", HOUR_MS}, {"day", DAY_MS}, {"week", 7 * DAY_MS}};
    int64_t count = 1;
    struct str number;
    if (!take_word(&s, "a") && !take_word(&s, "an") && (!str_cut(&s, ' ', &number) || !str_to_i64(number, &count)))
        return false;
    s = str_trim(s);
    if (s.len && count != 1 && (s.at[s.len - 1] | 0x20) == 's')
        s.len--;
    for (size_t i = 0; i < ARRAY_LEN(units); i++)
        if (str_is_any_case(s, units[i].word) && count > 0 && count < INT64_MAX / units[i].ms) {
            *ret = count * units[i].ms;
            return true;
        }
    return false;
}

/* "2h ago", "-2h", and bare "2h": all callers ask about the past. */
static bool ago_parse(struct str s, struct wall now, struct wall *ret)
{
    int64_t ago;
    size_t len = s.len;
    if (len > 1 && s.at[0] == '-')
        s = (struct str){s.at + 1, len - 1};
    else if (len > 4 && strncasecmp(s.at + len - 4, " ago", 4) == 0)
        s = (struct str){s.at, len - 4};
    else if (str_is(s, "0")) /* duration_parse accepts a bare 0; as a moment it is a mistake */
        return false;
    if (!duration_parse(s, &ago) && !spoken_parse(s, &ago))
        return false;
    *ret = (struct wall){MAX_OF(now.ms - ago, (int64_t)1)};
    return true;
}

/* A date has two dashes; a third one, a plus or a Z after it belongs to a zone. */
static bool names_zone(struct str s)
{
    for (size_t i = 10; i < s.len; i++)
        if (strchr("Zz+-", s.at[i]))
            return true;
    return false;
}

static bool parse(struct str text, struct wall now, enum moment_zone zone, bool later, struct wall *ret)
{
    struct str s = str_trim(text);
    struct wall at;
    if (s.len == 3 && strncasecmp(s.at, "now", 3) == 0)
        at = now;
    else if (ago_parse(s, now, &at) || clock_parse(s, now, zone, false, &at) || day_parse(s, now, zone, later, &at) ||
             weekday_parse(s, now, zone, later, &at) || period_parse(s, now, zone, &at))
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

bool moment_parse(struct str text, struct wall now, enum moment_zone zone, struct wall *ret)
{
    return parse(text, now, zone, false, ret);
}

bool moment_parse_end(struct str text, struct wall since, struct wall now, enum moment_zone zone, struct wall *ret)
{
    struct wall at;
    if (!moment_parse(text, now, zone, &at))
        return false;
    if (at.ms <= since.ms && clock_parse(str_trim(text), since, zone, true, &at))
        at.ms = MIN_OF(at.ms, now.ms);
    *ret = at;
    return true;
}

bool moment_parse_ahead(struct str text, struct wall start, struct wall now, enum moment_zone zone, struct wall *ret)
{
    struct str s = str_trim(text);
    struct wall at;
    int64_t ms;
    if (duration_parse(s, &ms))
        at.ms = start.ms + ms;
    else if (!clock_parse(s, start, zone, true, &at) && !parse(s, now, zone, true, &at))
        return false;
    if (at.ms <= start.ms)
        return false;
    *ret = at;
    return true;
}

enum moment_detail { MOMENT_TIME, MOMENT_DAY, MOMENT_YEAR };

/* How much of the date to show for a reader who has the moment `other` in mind. */
static enum moment_detail detail_beside(struct wall at, struct wall other)
{
    struct tm a = to_calendar(at, MOMENT_LOCAL), b = to_calendar(other, MOMENT_LOCAL);
    return a.tm_year != b.tm_year ? MOMENT_YEAR : a.tm_yday != b.tm_yday ? MOMENT_DAY : MOMENT_TIME;
}

static void format_with(struct wall at, enum moment_detail detail, char text[MOMENT_TEXT_SIZE])
{
    struct tm tm = to_calendar(at, MOMENT_LOCAL);
    text[0] = '\0';
    if (detail == MOMENT_YEAR)
        strftime(text, MOMENT_TEXT_SIZE, "%Y-%m-%d %H:%M", &tm);
    else if (detail == MOMENT_DAY)
        strftime(text, MOMENT_TEXT_SIZE, "%b %e %H:%M", &tm);
    else
        strftime(text, MOMENT_TEXT_SIZE, "%H:%M", &tm);
}

void moment_format(struct wall at, struct wall now, char text[MOMENT_TEXT_SIZE])
{
    format_with(at, detail_beside(at, now), text);
}

void moment_format_span(struct wall since, struct wall until, struct wall now, char from[MOMENT_TEXT_SIZE],
                        char to[MOMENT_TEXT_SIZE])
{
    enum moment_detail apart = detail_beside(since, until);
    format_with(since, MAX_OF(detail_beside(since, now), apart), from);
    format_with(until, apart ? MAX_OF(detail_beside(until, now), apart) : MOMENT_TIME, to);
}
