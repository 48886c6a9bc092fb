/* SPDX-License-Identifier: Apache-2.0
 * What a person would notice, and what the GPU itself says of its state.
 */
#include <stdio.h>

#include "insight/area/area.h"

static const char *heat_words(const struct gpu *gpu, char out[SHORT_WORDS])
{
    int64_t temp;
    out[0] = '\0';
    if (reading_get(gpu->temp_mdegc, &temp))
        snprintf(out, SHORT_WORDS, " (%lld °C)", words_whole(temp, 1000));
    return out;
}

static const char *fan_words(const struct gpu *gpu, char out[SHORT_WORDS])
{
    int64_t fan;
    out[0] = '\0';
    if (reading_get(gpu->fan_permille, &fan))
        snprintf(out, SHORT_WORDS, " (fan %lld%%)", percent(fan));
    else if (reading_get(gpu->fan_rpm, &fan))
        snprintf(out, SHORT_WORDS, " (fan %lld rpm)", (long long)fan);
    return out;
}

static void detect_failure(struct collection *c, const struct facts *f)
{
    const struct gpu *gpu = f->gpu;
    const char *needs = f->over ? "needed" : "needs";
    switch (gpu_failure(gpu)) {
    case FAILURE_RESET:
        collect(c, gpu, FINDING_DRIVER_VERDICT, SEVERITY_CRITICAL, 0.97, 0, "GPU %d %s a reset", gpu->index, needs);
        break;
    case FAILURE_REBOOT:
        collect(c, gpu, FINDING_DRIVER_VERDICT, SEVERITY_CRITICAL, 0.97, 0, "GPU %d %s a reboot of the host", gpu->index, needs);
        break;
    case FAILURE_MEMORY:
        collect(c, gpu, reading_or(gpu->remapped_rows_failed, 0) ? FINDING_ROW_REMAP : FINDING_REPAIR, SEVERITY_CRITICAL, 0.97, 0,
                "GPU %d %s failing memory", gpu->index, has(f));
        break;
    case FAILURE_NONE: break;
    }
}

/* A busy CPU under the same cooler makes the heat that slows down a GPU which does little itself. */
static bool cpu_heats_it(const struct facts *f)
{
    return f->cpu_hot && f->load != LOAD_BUSY;
}

enum severity throttling_severity(const struct facts *f)
{
    if (cpu_heats_it(f))
        return SEVERITY_WARNING; /* what is slowed down is a desktop */
    return f->load != LOAD_IDLE ? SEVERITY_CRITICAL : heat_bit_is_left(f->gpu) ? SEVERITY_NOTICE : SEVERITY_WARNING;
}

void detect_symptoms(const struct facts *f, struct collection *c)
{
    const struct gpu *gpu = f->gpu;
    const struct activity *a = &f->activity;
    char number[SHORT_WORDS], holders[HOLDER_WORDS];
    /* The bit of the hardware is set for heat, too. */
    int64_t slowed = a->throttled_by & (THROTTLE_POWER_BRAKE | (a->throttled_by & THROTTLE_HOT ? 0 : THROTTLE_HW_SLOWDOWN));
    if (gpu->state == GPU_LOST)
        collect(c, gpu, FINDING_LOST, SEVERITY_CRITICAL, 0.97, 0, "GPU %d %s lost", gpu->index, is(f));
    if (gpu->state == GPU_ERROR && a->code == ACTIVITY_FAILING)
        collect(c, gpu, FINDING_ERROR, SEVERITY_CRITICAL, 0.97, 0, "GPU %d %s be read", gpu->index, cannot(f));
    if (gpu->state != GPU_OK)
        return;
    detect_failure(c, f);
    if (f->fan_judged.state == FAN_STATE_STOPPED)
        collect(c, gpu, FINDING_FAN_STOPPED, SEVERITY_CRITICAL, 0.95, 0, "GPU %d: its fan %s stopped%s", gpu->index, has(f),
                heat_words(gpu, number));
    if (a->throttled_by & THROTTLE_HOT && memory_is_hotter(gpu))
        collect(c, gpu, FINDING_MEMORY_HOT, throttling_severity(f), 0.95, 0, "GPU %d %s throttling: its memory %s at %lld °C",
                gpu->index, is(f), is(f), words_whole(gpu->temp_memory_mdegc.value, 1000));
    else if (a->throttled_by & THROTTLE_HOT && cpu_heats_it(f))
        collect(c, gpu, FINDING_CPU_HEAT, SEVERITY_WARNING, 0.9, 0,
                "GPU %d %s throttling%s: the CPU %s busy and shares its cooling", gpu->index, is(f), heat_words(gpu, number),
                is(f));
    else if (a->throttled_by & THROTTLE_HOT)
        collect(c, gpu, FINDING_HEAT_LIMIT, throttling_severity(f), 0.95, 0, "GPU %d %s throttling%s", gpu->index, is(f),
                heat_words(gpu, number));
    if (slowed)
        collect(c, gpu, FINDING_SLOWDOWN, SEVERITY_WARNING, 0.95, 0, "GPU %d %s throttling (%s)", gpu->index, is(f),
                slowed & THROTTLE_POWER_BRAKE ? "power brake" : "hardware slowdown");
    if (activity_is_loud(a, gpu, f->load == LOAD_BUSY))
        collect(c, gpu, FINDING_LOUD, SEVERITY_WARNING, 0.95, 0, "GPU %d %s loud%s", gpu->index, is(f), fan_words(gpu, number));
    if (a->symptoms & 1u << SYMPTOM_HOT && f->heat >= HEAT_HOT)
        collect(c, gpu, FINDING_HOT, cooling_is_shared(gpu) && f->load == LOAD_BUSY ? SEVERITY_NOTICE : SEVERITY_WARNING, 0.95, 0,
                "GPU %d %s hot%s", gpu->index, is(f), heat_words(gpu, number));
    if (a->symptoms & 1u << SYMPTOM_MEMORY_FULL)
        collect(c, gpu, FINDING_VRAM_FULL, SEVERITY_NOTICE, 0.95, 0, "GPU %d's memory %s full%s", gpu->index, is(f),
                f->over ? "" : words_holders(gpu, holders));
    if (power_is_unexplained(gpu))
        collect(c, gpu, FINDING_POWER_UNEXPLAINED, SEVERITY_NOTICE, 0.6, 0,
                "GPU %d %s %lld W while idle: work that just ended, or can't be seen", gpu->index, f->over ? "drew" : "draws",
                words_whole(gpu->power_mw.value, 1000));
}
