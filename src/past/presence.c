/* SPDX-License-Identifier: Apache-2.0
 * Presence on GPUs.
 */
#include "past/presence.h"

#include "base/cleanup.h"

enum { MINUTES_AN_HOUR = 60 };

double presence_hours(uint64_t minutes)
{
    return (double)__builtin_popcountll(minutes) / MINUTES_AN_HOUR;
}

void presence_end(struct presence *p)
{
    p->hours += p->present / MINUTES_AN_HOUR + presence_hours(p->present_minutes);
    p->busy_hours += p->busy / MINUTES_AN_HOUR + presence_hours(p->busy_minutes);
    p->present = p->busy = 0;
    p->present_minutes = p->busy_minutes = 0;
}

/* The time and GPU at hand are counted when another one comes. */
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

int presence_add_hour(struct presence *p, const struct store_process_hour *hour)
{
    int rc = move_on(p, hour->hour * MINUTES_AN_HOUR, hour->gpu_id);
    p->present_minutes |= hour->present_minutes;
    p->busy_minutes |= hour->busy_minutes;
    return rc;
}
