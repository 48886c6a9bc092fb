/* SPDX-License-Identifier: Apache-2.0
 * The worst of what is wrong with a GPU, and its words.
 */
#include "insight/activity/finding.h"

#include <stdio.h>

#include "base/words.h"
#include "insight/activity/levels.h"
#include "model/fan.h"

static bool has(const struct activity *a, enum symptom symptom)
{
    return a->symptoms & 1u << symptom;
}

bool finding_is_loud(const struct activity *a, const struct gpu *gpu, bool at_work)
{
    enum { LOUD_AT_WORK = 800 };
    bool expected = at_work && heat_level(gpu) < HEAT_HOT && !has(a, SYMPTOM_UNUSUAL);
    return has(a, SYMPTOM_LOUD) && (!expected || reading_or(gpu->fan_permille, 0) >= LOUD_AT_WORK);
}

enum gpu_finding finding_of(const struct gpu *gpu)
{
    const struct activity *a = &gpu->activity;
    if (gpu->state == GPU_LOST)
        return FINDING_LOST;
    if (gpu->state == GPU_ASLEEP)
        return FINDING_NONE;
    if (a->code == ACTIVITY_FAILING)
        return FINDING_FAILING;
    if (fan_judge(gpu).state == FAN_STATE_STOPPED)
        return FINDING_FAN_STOPPED;
    if (a->throttled_by & THROTTLE_HOT)
        return FINDING_THERMAL;
    if (a->throttled_by & (THROTTLE_POWER_BRAKE | THROTTLE_HW_SLOWDOWN))
        return FINDING_SLOWDOWN;
    if (finding_is_loud(a, gpu, a->code == ACTIVITY_BUSY || a->code == ACTIVITY_SATURATED))
        return FINDING_LOUD;
    if (has(a, SYMPTOM_HOT))
        return FINDING_HOT;
    if (has(a, SYMPTOM_MEMORY_FULL))
        return FINDING_MEMORY_FULL;
    return power_is_unexplained(gpu) ? FINDING_POWER : FINDING_NONE;
}

/* " (93 °C)"; the memory's where that is what is hot. */
static void heat_words(const struct gpu *gpu, char out[WORDS_SIZE + 16])
{
    char text[WORDS_SIZE];
    int64_t temp;
    out[0] = '\0';
    if (heat_level(gpu) < HEAT_HOT && reading_get(gpu->temp_memory_mdegc, &temp))
        snprintf(out, WORDS_SIZE + 16, " (memory %s)", words_temperature(temp, text));
    else if (reading_get(gpu->temp_mdegc, &temp))
        snprintf(out, WORDS_SIZE + 16, " (%s)", words_temperature(temp, text));
}

static void fan_words(const struct gpu *gpu, char out[WORDS_SIZE + 16])
{
    char text[WORDS_SIZE];
    int64_t fan;
    out[0] = '\0';
    if (reading_get(gpu->fan_permille, &fan))
        snprintf(out, WORDS_SIZE + 16, " (fan %s)", words_percent(fan, text));
    else if (reading_get(gpu->fan_rpm, &fan))
        snprintf(out, WORDS_SIZE + 16, " (fan %lld rpm)", (long long)fan);
}

const char *finding_words(const struct gpu *gpu, enum gpu_finding finding, char out[FINDING_WORDS])
{
    char number[WORDS_SIZE + 16];
    int index = gpu->index;
    bool unread = gpu->state == GPU_ERROR;
    out[0] = '\0';
    heat_words(gpu, number);
    switch (finding) {
    case FINDING_LOST: snprintf(out, FINDING_WORDS, "GPU %d is lost", index); break;
    case FINDING_FAILING:
        snprintf(out, FINDING_WORDS, "GPU %d %s", index,
                 unread                               ? "can't be read"
                 : gpu_failure(gpu) == FAILURE_RESET  ? "needs a reset"
                 : gpu_failure(gpu) == FAILURE_REBOOT ? "needs a reboot of the host"
                                                      : "has failing memory");
        break;
    case FINDING_FAN_STOPPED: snprintf(out, FINDING_WORDS, "GPU %d: its fan has stopped%s", index, number); break;
    case FINDING_THERMAL: snprintf(out, FINDING_WORDS, "GPU %d is throttling%s", index, number); break;
    case FINDING_SLOWDOWN:
        snprintf(out, FINDING_WORDS, "GPU %d is throttling (%s)", index,
                 gpu->activity.throttled_by & THROTTLE_POWER_BRAKE ? "power brake" : "hardware slowdown");
        break;
    case FINDING_LOUD:
        fan_words(gpu, number);
        snprintf(out, FINDING_WORDS, "GPU %d is loud%s", index, number);
        break;
    case FINDING_HOT: snprintf(out, FINDING_WORDS, "GPU %d is hot%s", index, number); break;
    case FINDING_MEMORY_FULL: snprintf(out, FINDING_WORDS, "GPU %d's memory is full", index); break;
    case FINDING_POWER:
        snprintf(out, FINDING_WORDS, "GPU %d draws %lld W while idle: work that just ended, or can't be seen", index,
                 (long long)(gpu->power_mw.value + 500) / 1000);
        break;
    case FINDING_NONE: break;
    }
    return out;
}

const char *finding_label(enum gpu_finding finding)
{
    static const char *const labels[] = {
        [FINDING_FAILING] = "FAILING",  [FINDING_FAN_STOPPED] = "FAN STOPPED",
        [FINDING_THERMAL] = "THERMAL",  [FINDING_SLOWDOWN] = "SLOWDOWN",
        [FINDING_LOUD] = "LOUD",        [FINDING_HOT] = "HOT",
        [FINDING_MEMORY_FULL] = "FULL", [FINDING_POWER] = "POWER",
        [FINDING_NONE] = NULL,
    };
    return labels[finding];
}
