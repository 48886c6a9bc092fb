/* SPDX-License-Identifier: Apache-2.0
 * Hours of the day and days of the week.
 */
#include "alert/notify/outbox.h"

#include <errno.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "model/severity.h"

enum { DAY_MIN = 24 * 60, EVERY_DAY = 0x7f, CHAIN_MAX = 32 };

static const char *const day_names[] = {"mon", "tue", "wed", "thu", "fri", "sat", "sun"};
static const char *const severity_names[] = {"info", "notice", "warning", "critical"};
enum { EVERY_SEVERITY = 15 };

/* ---- reading ---- */

static int find_name(struct str text, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (str_is_any_case(text, names[i]))
            return (int)i;
    return -1;
}

/* "mon-fri,sun" */
static bool read_days(struct str text, unsigned *days)
{
    struct str part, first;
    unsigned found = 0;
    while (str_cut(&text, ',', &part)) {
        bool range = memchr(part.at, '-', part.len) != NULL;
        str_cut(&part, '-', &first);
        int from = find_name(first, day_names, 7), to = range ? find_name(part, day_names, 7) : from;
        if (from < 0 || to < 0)
            return false;
        for (int day = from;; day = (day + 1) % 7) {
            found |= 1u << day;
            if (day == to)
                break;
        }
    }
    *days = found;
    return found != 0;
}

static bool read_severities(struct str text, unsigned *severities)
{
    struct str part;
    unsigned found = str_is_any_case(text, "all") ? EVERY_SEVERITY : 0;
    while (found != EVERY_SEVERITY && str_cut(&text, ',', &part)) {
        int one = find_name(part, severity_names, ARRAY_LEN(severity_names));
        if (one < 0)
            return false;
        found |= 1u << one;
    }
    *severities = found;
    return found != 0;
}

/* "22:00", "7:30"; "24:00" is the end of a day. */
static bool quiet_read_time(struct str text, int *minutes)
{
    struct str hours;
    int64_t h = 0, m = 0;
    if (!str_cut(&text, ':', &hours) || text.len != 2 || hours.len > 2 || !str_to_i64(hours, &h) || !str_to_i64(text, &m))
        return false;
    *minutes = (int)(h * 60 + m);
    return h >= 0 && m >= 0 && m < 60 && *minutes <= DAY_MIN;
}

static bool read_span(struct str text, bool digest, struct quiet_rule *r)
{
    struct str from;
    if (digest) {
        r->hourly = str_is_any_case(text, "hourly");
        return r->hourly || (quiet_read_time(text, &r->from_min) && r->from_min < DAY_MIN);
    }
    if (!memchr(text.at, '-', text.len) || !str_cut(&text, '-', &from) || !quiet_read_time(from, &r->from_min) ||
        !quiet_read_time(text, &r->to_min))
        return false;
    if (r->to_min == 0 && r->from_min > 0) /* "00:00" as an end means midnight */
        r->to_min = DAY_MIN;
    return r->from_min < DAY_MIN && r->to_min > 0 && r->from_min != r->to_min;
}

static int read_rule(const char *text, bool digest, struct quiet_rule *ret, struct error *err)
{
    struct quiet_rule r = {.days = EVERY_DAY, .severities = EVERY_SEVERITY & ~(1u << SEVERITY_CRITICAL)};
    struct str rest = str_from(text), word;
    bool spanned = false, good = true;
    for (size_t i = 0; good && str_word(&rest, &word); i++) {
        if (!spanned && read_span(word, digest, &r))
            spanned = true;
        else if (spanned)
            good = read_severities(word, &r.severities);
        else
            good = i == 0 && (str_is_any_case(word, "daily") || read_days(word, &r.days));
    }
    if (!good || !spanned)
        return error_set(err, -EINVAL, "'%s' is not %s", text,
                         digest ? "a time for digests, like \"08:00\", \"mon-fri 18:00 info\" or \"hourly info,warning\""
                                : "a time for quiet hours, like \"22:00-07:00\" or \"sat,sun 00:00-24:00 info,warning\"");
    *ret = r;
    return 0;
}

int quiet_parse(const struct config_list *texts, bool digest, struct quiet *ret, struct error *err)
{
    *ret = (struct quiet){0};
    if (texts->count > QUIET_RULES_MAX)
        return error_set(err, -EINVAL, "there are more than %d times", QUIET_RULES_MAX);
    for (size_t i = 0; i < texts->count; i++) {
        int rc = read_rule(texts->items[i], digest, &ret->list[i], err);
        if (rc < 0)
            return rc;
        ret->count++;
    }
    return 0;
}

/* ---- time ---- */

/* A time of day on the day `days` after `now`, with daylight saving applied. */
static struct wall at_minute(const struct tm *now, int days, int minutes)
{
    struct tm t = *now;
    t.tm_mday += days;
    t.tm_hour = minutes / 60;
    t.tm_min = minutes % 60;
    t.tm_sec = 0;
    t.tm_isdst = -1;
    return (struct wall){(int64_t)mktime(&t) * MS_PER_S};
}

static unsigned day_bit(const struct tm *t, int days)
{
    return 1u << ((t->tm_wday + 6 + days + 7) % 7); /* tm_wday: Sunday is 0 */
}

static bool local(struct wall at, struct tm *ret)
{
    time_t seconds = (time_t)(at.ms / MS_PER_S);
    return localtime_r(&seconds, ret) != NULL;
}

/* The end of the period that contains `at`; ms 0: outside of it. */
static struct wall rule_until(const struct quiet_rule *r, struct wall at)
{
    struct tm t;
    if (!local(at, &t))
        return (struct wall){0};
    int minute = t.tm_hour * 60 + t.tm_min;
    bool overnight = r->to_min < r->from_min;
    if ((r->days & day_bit(&t, 0)) && minute >= r->from_min && (overnight || minute < r->to_min))
        return at_minute(&t, overnight ? 1 : 0, r->to_min);
    if (overnight && (r->days & day_bit(&t, -1)) && minute < r->to_min)
        return at_minute(&t, 0, r->to_min);
    return (struct wall){0};
}

struct wall quiet_until(const struct quiet *q, enum severity severity, struct wall now)
{
    struct wall until = now;
    /* Periods may adjoin: one that ends at midnight can continue with the next rule. */
    for (int chained = 0; chained < CHAIN_MAX; chained++) {
        struct wall next = {0};
        for (size_t i = 0; i < q->count; i++) {
            struct wall end = q->list[i].severities & 1u << severity ? rule_until(&q->list[i], until) : (struct wall){0};
            next = end.ms > next.ms ? end : next;
        }
        if (next.ms <= until.ms)
            break;
        until = next;
    }
    return until.ms == now.ms ? (struct wall){0} : until;
}

struct wall digest_after(const struct quiet *d, enum severity severity, struct wall since)
{
    struct wall first = {0};
    struct tm t;
    if (!local(since, &t))
        return first;
    for (size_t i = 0; i < d->count; i++) {
        const struct quiet_rule *r = &d->list[i];
        struct wall next = {0};
        if (!(r->severities & 1u << severity))
            continue;
        if (r->hourly)
            next.ms = (since.ms / 3600000 + 1) * 3600000;
        for (int day = 0; day <= 7 && !next.ms; day++)
            if (r->days & day_bit(&t, day) && at_minute(&t, day, r->from_min).ms > since.ms)
                next = at_minute(&t, day, r->from_min);
        if (next.ms && (!first.ms || next.ms < first.ms))
            first = next;
    }
    return first;
}
