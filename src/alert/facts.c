/* SPDX-License-Identifier: Apache-2.0
 * The table of facts as data, and what can be read off a snapshot alone.
 */
#include "alert/facts.h"

#include <stddef.h>
#include <string.h>

#include "model/fan.h"

static bool is_down(enum source_state state)
{
    return state == SOURCE_FAILING || state == SOURCE_SET_ASIDE || state == SOURCE_HUNG;
}

static struct reading level_of(const struct activity *a)
{
    return a->code >= ACTIVITY_ASLEEP ? reading_ok((int64_t)a->code - ACTIVITY_ASLEEP) : reading_absent(READING_UNSUPPORTED);
}

static void write_gpu(struct alert_gpu_facts *to, const struct alert_gpu_facts *from)
{
    if (memcmp(to, from, sizeof *to) != 0)
        memcpy(to, from, sizeof *to);
}

void alert_facts_clear(struct alert_facts *facts)
{
    static const struct alert_gpu_facts none;
    memset(facts, 0, offsetof(struct alert_facts, gpus));
    for (size_t i = 0; i < GPU_MAX; i++)
        write_gpu(&facts->gpus[i], &none);
}

void alert_facts_copy(struct alert_facts *to, const struct alert_facts *from)
{
    memcpy(to, from, offsetof(struct alert_facts, gpus));
    for (size_t i = 0; i < GPU_MAX; i++)
        write_gpu(&to->gpus[i], &from->gpus[i]);
}

void alert_facts_from_snapshot(struct alert_facts *facts, const struct snapshot *now)
{
    int64_t down = 0;
    for (size_t i = 0; i < now->source_count; i++)
        down += is_down(now->sources[i].state);
    if (facts->source_down.state != READING_OK)
        facts->source_down = reading_ok(down);
    for (size_t i = 0; i < now->gpu_count; i++) {
        const struct gpu *gpu = &now->gpus[i];
        enum fan_state fan = fan_judge(gpu).state;
        if (gpu->index < 0 || gpu->index >= GPU_MAX)
            continue;
        facts->gpus[gpu->index].activity_level = level_of(&gpu->activity);
        if (gpu->state == GPU_OK)
            facts->gpus[gpu->index].unusual = reading_ok((gpu->activity.symptoms & 1u << SYMPTOM_UNUSUAL) != 0);
        if (fan != FAN_STATE_UNKNOWN && fan != FAN_STATE_NONE)
            facts->gpus[gpu->index].fan_stopped = reading_ok(fan == FAN_STATE_STOPPED);
    }
}
