/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/sums.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

static const struct {
    const char *name;
    size_t offset;
    double scale;
} figures[] = {
    {"whirr_host_gpus", offsetof(struct fleet_sum, gpus), 1},
    {"whirr_host_gpus_judged", offsetof(struct fleet_sum, judged), 1},
    {"whirr_host_gpus_with_utilization", offsetof(struct fleet_sum, util_known), 1},
    {"whirr_host_gpu_utilization_percent", offsetof(struct fleet_sum, util_permille), 10},
    {"whirr_host_gpu_memory_used_bytes", offsetof(struct fleet_sum, used_bytes), 1},
    {"whirr_host_gpu_memory_total_bytes", offsetof(struct fleet_sum, total_bytes), 1},
    {"whirr_host_gpu_memory_held_idle_bytes", offsetof(struct fleet_sum, held_bytes), 1},
    {"whirr_host_gpu_temperature_celsius", offsetof(struct fleet_sum, temp_mdegc), 1000},
    {"whirr_host_gpu_power_watts", offsetof(struct fleet_sum, power_mw), 1000},
};

static struct reading *figure_of(struct fleet_sum *sum, size_t figure)
{
    return (struct reading *)((char *)sum + figures[figure].offset);
}

void sums_read(struct fleet_sum *sum, const struct vector_row *row)
{
    const char *name = vector_label(row, "__name__");
    for (size_t i = 0; i < ARRAY_LEN(figures) && fabs(row->value) <= 9e15; i++)
        if (strcmp(figures[i].name, name) == 0)
            *figure_of(sum, i) = reading_ok(llround(row->value * figures[i].scale));
}

int sums_take(struct fleet *f, const struct vector_row *row)
{
    if (!ROOM_FOR_ONE(f->sums, f->sum_count, f->sum_capacity, 64))
        return -ENOMEM;
    struct fleet_sum *sum = &f->sums[f->sum_count++];
    *sum = (struct fleet_sum){.instance = silence_route(vector_label(row, "instance"))};
    str_copy_clean(sum->host, sizeof sum->host, str_from(silence_host_of(row)));
    str_copy_clean(sum->set, sizeof sum->set, str_from(vector_label(row, "set")));
    sums_read(sum, row);
    return 0;
}

static int sums_by_host(const void *a, const void *b)
{
    return strverscmp(((const struct fleet_sum *)a)->host, ((const struct fleet_sum *)b)->host);
}

/* One per host: a repeated figure is a duplicate. False if they belong to two hosts. */
static bool sums_join(struct fleet_sum *to, struct fleet_sum *from)
{
    for (size_t i = 0; i < ARRAY_LEN(figures); i++)
        if (figure_of(from, i)->state == READING_OK)
            *figure_of(to, i) = *figure_of(from, i);
    if (from->set[0] && to->set[0] && strcmp(from->set, to->set) != 0)
        return false;
    if (from->set[0])
        memcpy(to->set, from->set, sizeof to->set);
    return true;
}

const struct fleet_sum *fleet_sum_of(const struct fleet *f, const char *host)
{
    struct fleet_sum key;
    str_copy(key.host, sizeof key.host, str_from(host));
    return f->sum_count ? bsearch(&key, f->sums, f->sum_count, sizeof *f->sums, sums_by_host) : NULL;
}

int sums_settle(struct fleet *f, const struct fleet_silence *s)
{
    size_t kept = 0;
    if (!f->sum_count)
        return -EAGAIN;
    qsort(f->sums, f->sum_count, sizeof *f->sums, sums_by_host);
    for (size_t i = 0; i < f->sum_count; i++)
        if (!kept || strcmp(f->sums[kept - 1].host, f->sums[i].host) != 0)
            f->sums[kept++] = f->sums[i];
        else if (!sums_join(&f->sums[kept - 1], &f->sums[i]))
            return -EAGAIN;
    f->sum_count = kept;
    for (size_t i = 0; i < s->here.count; i++)
        if (!fleet_sum_of(f, s->here.list[i].host))
            return -EAGAIN; /* an older version */
    return 0;
}
