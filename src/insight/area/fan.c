/* SPDX-License-Identifier: Apache-2.0
 * A fan that a person has set: nothing makes it faster when the GPU gets hot. And one that falters.
 */
#include <string.h>

#include "insight/area/area.h"
#include "insight/facts/words.h"

enum { SLOW_MAX = 600 };

/* A bearing that sticks: on a hot GPU the fan stands still, turns, and stands still again. One that rests on purpose does so while
 * it is cool. */
static void detect_faltering(const struct facts *f, struct collection *c)
{
    enum { WATCHED_MS = 120000, TURNS_LEAST = 3 };
    const struct recent_gpu *past = activity_past(f->now, f->gpu, f->recent);
    int64_t fan, temp, before = -1;
    size_t stopped = 0;
    for (size_t i = 0; past && i < past->count; i++) {
        const struct recent_point *p = &past->points[i];
        if (f->now->taken_at.ms - p->at.ms > WATCHED_MS || !reading_get(p->fan_permille, &fan) ||
            !reading_get(p->temp_mdegc, &temp) || temp < FAN_NEEDED_FROM)
            continue;
        stopped += fan == 0 && before > 0;
        before = fan;
    }
    if (stopped < TURNS_LEAST || f->fan_missed)
        return;
    collect(c, f->gpu, FINDING_FAN_FAILING, SEVERITY_WARNING, 0.85, 0,
            "GPU %d: its fan %s stopped %zu times in the last two minutes while it %s hot", f->gpu->index, has(f), stopped, is(f));
}

void detect_fan(const struct facts *f, struct collection *c)
{
    detect_faltering(f, c);
    const struct gpu *gpu = f->gpu;
    int64_t fan, temp;
    bool by_hand = gpu->fan_control.state == READING_OK && strcmp(gpu->fan_control.value, "manual") == 0;
    if (!by_hand || f->heat < HEAT_HOT || !reading_get(gpu->fan_permille, &fan) || fan > SLOW_MAX ||
        !reading_get(gpu->temp_mdegc, &temp))
        return;
    collect(c, gpu, FINDING_FAN_BY_HAND, SEVERITY_WARNING, 0.9, 0, "GPU %d: its fan %s set to %lld%% by hand, too slow for %lld °C",
            gpu->index, is(f), percent(fan), words_whole(temp, 1000));
}
