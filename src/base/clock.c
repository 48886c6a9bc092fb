/* SPDX-License-Identifier: Apache-2.0
 * The system clock, the manual clock, and ISO 8601.
 */
#include "base/clock.h"

#include <stdio.h>
#include <time.h>

static int64_t read_ns(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (int64_t)t.tv_sec * NS_PER_S + t.tv_nsec;
}

static struct mono system_mono(const struct clock *c)
{
    (void)c;
    return (struct mono){read_ns(CLOCK_MONOTONIC)};
}

static struct wall system_wall(const struct clock *c)
{
    (void)c;
    return (struct wall){read_ns(CLOCK_REALTIME) / NS_PER_MS};
}

static struct mono system_boot(const struct clock *c)
{
    (void)c;
    return (struct mono){read_ns(CLOCK_BOOTTIME)};
}

const struct clock clock_system = {.mono = system_mono, .wall = system_wall, .boot = system_boot};

static struct mono manual_mono(const struct clock *c)
{
    return ((const struct clock_manual *)c)->now;
}

static struct wall manual_wall(const struct clock *c)
{
    return ((const struct clock_manual *)c)->today;
}

void clock_manual_init(struct clock_manual *c, struct wall start)
{
    *c = (struct clock_manual){.clock = {.mono = manual_mono, .wall = manual_wall}, .now = {NS_PER_S}, .today = start};
}

void clock_manual_advance_ms(struct clock_manual *c, int64_t ms)
{
    c->now.ns += ms * NS_PER_MS;
    c->today.ms += ms;
}

void wall_format(struct wall w, char text[WALL_TEXT_SIZE])
{
    int64_t seconds = w.ms / MS_PER_S;
    int64_t rest = w.ms % MS_PER_S;
    if (rest < 0) {
        rest += MS_PER_S;
        seconds--;
    }
    time_t t = (time_t)seconds;
    struct tm tm;
    gmtime_r(&t, &tm);
    snprintf(text, WALL_TEXT_SIZE, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday, tm.tm_hour,
             tm.tm_min, tm.tm_sec, (int)rest);
}

/* Removes exactly `digits` digits from the front of *s. */
static bool take_number(struct str *s, size_t digits, int *ret)
{
    if (s->len < digits)
        return false;
    int value = 0;
    for (size_t i = 0; i < digits; i++) {
        if (s->at[i] < '0' || s->at[i] > '9')
            return false;
        value = value * 10 + (s->at[i] - '0');
    }
    *s = (struct str){s->at + digits, s->len - digits};
    *ret = value;
    return true;
}

static bool take_char(struct str *s, const char *any_of)
{
    if (s->len == 0 || !strchr(any_of, s->at[0]))
        return false;
    *s = (struct str){s->at + 1, s->len - 1};
    return true;
}

static bool take_offset(struct str *s, int64_t *ret_ms)
{
    *ret_ms = 0;
    if (s->len == 0 || take_char(s, "Zz"))
        return true;
    int sign = s->at[0] == '-' ? 1 : -1;
    int hours, minutes = 0;
    if (!take_char(s, "+-") || !take_number(s, 2, &hours))
        return false;
    take_char(s, ":");
    if (s->len && !take_number(s, 2, &minutes))
        return false;
    *ret_ms = (int64_t)sign * (hours * 60 + minutes) * 60 * MS_PER_S;
    return hours < 24 && minutes < 60;
}

bool wall_parse(struct str text, struct wall *ret)
{
    struct tm tm = {0};
    struct str s = str_trim(text);
    if (!take_number(&s, 4, &tm.tm_year) || !take_char(&s, "-") || !take_number(&s, 2, &tm.tm_mon) || !take_char(&s, "-") ||
        !take_number(&s, 2, &tm.tm_mday))
        return false;
    int ms = 0;
    int64_t offset_ms = 0;
    if (take_char(&s, "Tt ")) {
        if (!take_number(&s, 2, &tm.tm_hour) || !take_char(&s, ":") || !take_number(&s, 2, &tm.tm_min))
            return false;
        if (take_char(&s, ":") && !take_number(&s, 2, &tm.tm_sec))
            return false;
        if (take_char(&s, ".,")) {
            int digit, weight = 100;
            while (take_number(&s, 1, &digit)) {
                ms += digit * weight;
                weight /= 10;
            }
        }
        if (!take_offset(&s, &offset_ms))
            return false;
    }
    if (s.len || tm.tm_mon < 1 || tm.tm_mon > 12 || tm.tm_mday < 1 || tm.tm_mday > 31 || tm.tm_hour > 23 || tm.tm_min > 59 ||
        tm.tm_sec > 60)
        return false;
    tm.tm_year -= 1900;
    tm.tm_mon -= 1;
    int month = tm.tm_mon, day = tm.tm_mday;
    bool leap_second = tm.tm_sec == 60;
    time_t seconds = timegm(&tm);
    if (!leap_second && (tm.tm_mon != month || tm.tm_mday != day)) /* timegm() turned February 30 into March */
        return false;
    ret->ms = (int64_t)seconds * MS_PER_S + ms + offset_ms;
    return true;
}
