/* SPDX-License-Identifier: Apache-2.0
 * Time that processes spent on GPUs.
 */
#include "past/report_sums.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/units.h"

enum { MINUTES_AN_HOUR = 60 };

double presence_within(int64_t minute, int64_t from_ms, int64_t until_ms)
{
    int64_t from = MAX_OF(minute * MINUTE_MS, from_ms), to = MIN_OF((minute + 1) * MINUTE_MS, until_ms);
    return to > from ? (double)(to - from) / MINUTE_MS : 0;
}

static double hours_of(uint64_t minutes)
{
    return (double)__builtin_popcountll(minutes) / MINUTES_AN_HOUR;
}

/* ---- minutes of an hour with partial presence ---- */

/* Parses and removes the next part, "17:3/12". */
static bool next_part(struct str *rest, int *minute, double *part)
{
    struct str word, name;
    int64_t at, samples, of;
    while (str_cut(rest, ' ', &word)) {
        if (!str_cut(&word, ':', &name) || !str_to_i64(name, &at) || !str_cut(&word, '/', &name) || !str_to_i64(name, &samples) ||
            !str_to_i64(word, &of) || at < 0 || at >= MINUTES_AN_HOUR || samples < 0 || of <= samples)
            continue;
        *minute = (int)at;
        *part = (double)samples / (double)of;
        return true;
    }
    return false;
}

typedef int part_fn(void *user, int minute, double part);

/* Removes those minutes from `whole`, and calls `each` with the fraction of each. */
static int take_parts(const struct store_process_hour *hour, int64_t from_ms, uint64_t *whole, part_fn *each, void *user)
{
    struct str rest = hour->partial_minutes;
    int64_t first = hour->hour * MINUTES_AN_HOUR, begins = from_ms / MINUTE_MS - first;
    int minute, rc = 0;
    double part;
    while (rc == 0 && next_part(&rest, &minute, &part)) {
        uint64_t bit = UINT64_C(1) << minute;
        if (*whole & bit)
            rc = each(user, minute, part * presence_within(first + minute, from_ms, INT64_MAX));
        *whole &= ~bit;
    }
    if (rc == 0 && begins >= 0 && begins < MINUTES_AN_HOUR && *whole >> begins & 1) {
        *whole &= ~(UINT64_C(1) << begins);
        rc = each(user, (int)begins, presence_within(first + begins, from_ms, INT64_MAX));
    }
    return rc;
}

static int add_part(void *user, int minute, double part)
{
    (void)minute;
    *(double *)user += part / MINUTES_AN_HOUR;
    return 0;
}

double presence_hours(const struct store_process_hour *hour, uint64_t minutes, int64_t from_ms)
{
    double hours = 0;
    take_parts(hour, from_ms, &minutes, add_part, &hours);
    return hours + hours_of(minutes);
}

/* ---- several processes ---- */

static double upto_whole(uint64_t whole, int minute, double part)
{
    return whole >> minute & 1 ? 0 : part;
}

void presence_end(struct presence *p)
{
    p->hours += p->present / MINUTES_AN_HOUR + hours_of(p->present_minutes);
    p->busy_hours += p->busy / MINUTES_AN_HOUR + hours_of(p->busy_minutes);
    for (size_t i = 0; i < p->part_count; i++) {
        const struct minute_part *m = &p->parts[i];
        p->hours += upto_whole(p->present_minutes, m->minute, m->present) / MINUTES_AN_HOUR;
        p->busy_hours += upto_whole(p->busy_minutes, m->minute, m->busy) / MINUTES_AN_HOUR;
    }
    p->present = p->busy = 0;
    p->present_minutes = p->busy_minutes = 0;
    p->part_count = 0;
}

void presence_done(struct presence *p)
{
    free(p->parts);
    *p = (struct presence){0};
}

/* Finishes the current time and GPU when the next one begins. */
static int move_on(struct presence *p, int64_t minute, int64_t gpu_id)
{
    if (p->order.begun && (p->order.first != minute || p->order.second != gpu_id))
        presence_end(p);
    return order_holds(&p->order, minute, gpu_id);
}

int presence_add_minute(struct presence *p, int64_t minute, int64_t gpu_id, double present, bool busy)
{
    int rc = move_on(p, minute, gpu_id);
    p->present = MAX_OF(p->present, present);
    if (busy)
        p->busy = MAX_OF(p->busy, present);
    return rc;
}

struct part_of_hour {
    struct presence *presence;
    uint64_t busy;
};

static int join_part(void *user, int minute, double part)
{
    const struct part_of_hour *of = user;
    struct presence *p = of->presence;
    size_t i = 0;
    while (i < p->part_count && p->parts[i].minute != minute)
        i++;
    if (i == p->part_count) {
        if (!ROOM_FOR_ONE(p->parts, p->part_count, p->part_capacity, 4))
            return -ENOMEM;
        p->parts[p->part_count++] = (struct minute_part){.minute = minute};
    }
    p->parts[i].present = MAX_OF(p->parts[i].present, part);
    if (of->busy >> minute & 1)
        p->parts[i].busy = MAX_OF(p->parts[i].busy, part);
    return 0;
}

int presence_add_hour(struct presence *p, const struct store_process_hour *hour, int64_t from_ms)
{
    int rc = move_on(p, hour->hour * MINUTES_AN_HOUR, hour->gpu_id);
    uint64_t whole = hour->present_minutes;
    struct part_of_hour of = {p, hour->busy_minutes};
    if (rc == 0)
        rc = take_parts(hour, from_ms, &whole, join_part, &of);
    p->present_minutes |= whole;
    p->busy_minutes |= whole & hour->busy_minutes;
    return rc;
}
