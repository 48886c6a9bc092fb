/* SPDX-License-Identifier: Apache-2.0
 * Names of activities, and their order.
 */
#include "model/activity.h"

#include "base/cleanup.h"
#include "model/metric.h"

static const struct {
    const char *name, *words;
} codes[ACTIVITY_COUNT] = {
    [ACTIVITY_UNKNOWN] = {"unknown", "unknown"},
    [ACTIVITY_LOST] = {"lost", "lost"},
    [ACTIVITY_FAILING] = {"failing", "failing"},
    [ACTIVITY_ASLEEP] = {"asleep", "asleep"},
    [ACTIVITY_IDLE] = {"idle", "idle"},
    [ACTIVITY_KEPT_FROM_IDLING] = {"kept_from_idling", "kept from idling"},
    [ACTIVITY_LIGHTLY_LOADED] = {"lightly_loaded", "lightly loaded"},
    [ACTIVITY_BUSY] = {"busy", "busy"},
    [ACTIVITY_SATURATED] = {"saturated", "saturated"},
};

static const char *const symptoms[SYMPTOM_COUNT] = {
    [SYMPTOM_LOUD] = "loud",
    [SYMPTOM_HOT] = "hot",
    [SYMPTOM_THROTTLING] = "throttling",
    [SYMPTOM_MEMORY_FULL] = "memory_full",
    [SYMPTOM_UNUSUAL] = "unusual",
};

const char *activity_code_name(enum activity_code code)
{
    return codes[code < ACTIVITY_COUNT ? code : ACTIVITY_UNKNOWN].name;
}

const char *activity_code_words(enum activity_code code)
{
    return codes[code < ACTIVITY_COUNT ? code : ACTIVITY_UNKNOWN].words;
}

const char *symptom_name(enum symptom symptom)
{
    return symptom < SYMPTOM_COUNT ? symptoms[symptom] : "unknown";
}

const char *process_activity_name(enum process_activity activity)
{
    static const char *const names[] = {"unknown", "working", "loading", "holding"};
    return activity < ARRAY_LEN(names) ? names[activity] : names[0];
}

int activity_rank(const struct activity *a)
{
    static const int by_code[ACTIVITY_COUNT] = {
        [ACTIVITY_LOST] = 0,    [ACTIVITY_FAILING] = 1,        [ACTIVITY_SATURATED] = 5,
        [ACTIVITY_BUSY] = 6,    [ACTIVITY_LIGHTLY_LOADED] = 7, [ACTIVITY_KEPT_FROM_IDLING] = 8,
        [ACTIVITY_UNKNOWN] = 9, [ACTIVITY_IDLE] = 10,          [ACTIVITY_ASLEEP] = 11,
    };
    int rank = by_code[a->code];
    if (rank <= 1)
        return rank;
    if (a->throttled_by & THROTTLE_HOT)
        return 2;
    return a->symptoms & 1u << SYMPTOM_LOUD ? 3 : a->symptoms & 1u << SYMPTOM_HOT ? 4 : rank;
}
