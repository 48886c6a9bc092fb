/* SPDX-License-Identifier: Apache-2.0
 * The report by limit. A waiting GPU draws power that is not attributed to its process, which computes nothing: this counts that
 * energy, divided among the processes present, each with its limit.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "past/report_sums.h"

static struct report_sum *sum_of(struct report_limits *l, enum limit limit, uint64_t *limited_by)
{
    struct report_sum *sum = &l->sums[limit];
    uint64_t bit = UINT64_C(1) << limit;
    sum->group.processes += !(*limited_by & bit);
    *limited_by |= bit;
    return sum;
}

/* If a process was alone for a part of a minute, the rest of it belongs to no process. */
static void share_out(struct report_limits *l)
{
    for (int minute = 0; l->unattributed_mj > 0 && minute < 60; minute++) {
        uint64_t bit = UINT64_C(1) << minute;
        double there = 0;
        for (size_t i = 0; i < l->count; i++)
            there += l->uses[i].minutes & bit ? l->uses[i].present : 0;
        for (size_t i = 0; i < l->count; i++)
            if (l->uses[i].minutes & bit)
                l->waited_mj[l->uses[i].limit] += l->unattributed_mj * l->uses[i].present / fmax(there, 1);
    }
    l->count = 0;
}

/* `unattributed_mj`: of the GPU, per minute. */
static int note_use(struct report_limits *l, int64_t at, int64_t gpu_id, double unattributed_mj, struct limit_use use)
{
    if (at != l->at || gpu_id != l->gpu_id)
        share_out(l);
    if (!ROOM_FOR_ONE(l->uses, l->count, l->capacity, 16))
        return -ENOMEM;
    l->at = at;
    l->gpu_id = gpu_id;
    l->unattributed_mj = unattributed_mj;
    l->uses[l->count++] = use;
    return 0;
}

int report_limits_minute(struct report_limits *l, const struct report_minute *m, uint64_t *limited_by)
{
    int rc = report_sum_minute(sum_of(l, m->limit, limited_by), m);
    const struct limit_use use = {m->limit, 1, m->there};
    return rc < 0 ? rc : note_use(l, m->minute, m->gpu_id, (double)m->unattributed_mj, use);
}

/* The part of an hour that these minutes make up. Held memory is spread evenly over the minutes. */
static struct store_process_hour part_of_hour(const struct store_process_hour *row, uint64_t minutes, int64_t energy_mj)
{
    struct store_process_hour part = *row;
    int of = MAX_OF(__builtin_popcountll(row->present_minutes), 1);
    part.present_minutes &= minutes;
    part.busy_minutes &= minutes;
    part.byte_minutes = row->byte_minutes / of * __builtin_popcountll(part.present_minutes);
    part.idle_byte_minutes = row->idle_byte_minutes / of * __builtin_popcountll(part.present_minutes);
    part.energy_mj = energy_mj;
    return part;
}

static int add_part(struct report_limits *l, const struct store_process_hour *row, const struct store_limit *one, int64_t from_ms,
                    uint64_t *limited_by)
{
    struct store_process_hour part = part_of_hour(row, one->minutes, one->energy_mj);
    int rc = report_sum_hour(sum_of(l, one->limit, limited_by), &part, from_ms);
    /* Its distribution over the hour isn't stored. */
    double each_mj = row->watched_ms > 0 ? (double)row->unattributed_mj * MINUTE_MS / (double)row->watched_ms : 0;
    const struct limit_use use = {one->limit, part.present_minutes, 1};
    return rc < 0 ? rc : note_use(l, row->hour, row->gpu_id, each_mj, use);
}

/* The rest of the hour was not judged. */
int report_limits_hour(struct report_limits *l, const struct store_process_hour *row, int64_t from_ms, uint64_t *limited_by)
{
    struct str rest = row->limits;
    struct store_limit one, left = {LIMIT_UNJUDGED, row->present_minutes, row->energy_mj};
    int rc = 0;
    while (rc == 0 && store_next_limit(&rest, &one)) {
        rc = add_part(l, row, &one, from_ms, limited_by);
        left.minutes &= ~one.minutes;
        left.energy_mj -= one.energy_mj;
    }
    if (rc < 0 || (left.minutes == 0 && left.energy_mj <= 0))
        return rc;
    left.energy_mj = MAX_OF(left.energy_mj, (int64_t)0);
    return add_part(l, row, &left, from_ms, limited_by);
}

int report_limits_take(struct report_limits *l, struct report *r)
{
    share_out(l);
    for (int i = LIMIT_UNJUDGED; i < LIMIT_COUNT; i++) {
        const char *name = limit_name((enum limit)i);
        struct report_group *group = &l->sums[i].group;
        group->limit = (enum limit)i;
        group->energy_mj += (int64_t)l->waited_mj[i];
        str_copy(group->name, sizeof group->name, str_from(name ? name : ""));
    }
    return report_sums_take(r, REPORT_BY_LIMIT, l->sums, LIMIT_COUNT);
}

void report_limits_done(struct report_limits *l)
{
    for (int i = LIMIT_UNJUDGED; i < LIMIT_COUNT; i++)
        presence_done(&l->sums[i].presence);
    free(l->uses);
}
