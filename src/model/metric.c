/* SPDX-License-Identifier: Apache-2.0
 * The tables that metrics.def and its siblings expand to, and names of coded values.
 */
#include "model/metric.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/units.h"

#define MIB PER_MIB

const struct metric_info metric_table[METRIC_COUNT] = {
#define METRIC(field, group, kind, range, json, json_scale, prometheus, prometheus_scale, type, help) \
    {#field, GROUP_##group, KIND_##kind, RANGE_##range, json, json_scale, prometheus, prometheus_scale, TYPE_##type, help},
#include "model/metrics.def"
#undef METRIC
};

const struct property_info property_table[PROPERTY_COUNT] = {
#define PROPERTY(field, json, help) {#field, json, help},
#include "model/properties.def"
#undef PROPERTY
};

const struct metric_info process_metric_table[PROCESS_METRIC_COUNT] = {
#define PROCESS_METRIC(field, range, json, json_scale, help) \
    {#field, GROUP_PROCESS, KIND_NUMBER, RANGE_##range, json, json_scale, "", 1, TYPE_GAUGE, help},
#include "model/process_metrics.def"
#undef PROCESS_METRIC
};

const struct metric_info host_metric_table[HOST_METRIC_COUNT] = {
#define HOST_METRIC(field, group, range, json, json_scale, prometheus, prometheus_scale, help) \
    {#field, GROUP_##group, KIND_NUMBER, RANGE_##range, json, json_scale, prometheus, prometheus_scale, TYPE_GAUGE, help},
#include "model/host_metrics.def"
#undef HOST_METRIC
};

bool metric_is_plausible(const struct metric_info *info, int64_t value)
{
    static const struct {
        int64_t least, most;
    } ranges[RANGE_COUNT] = {
#define RANGE(name, least, most) {least, most},
#include "model/ranges.def"
#undef RANGE
    };
    return value >= ranges[info->range].least && value <= ranges[info->range].most;
}

enum metric metric_from_json(const char *key)
{
    for (size_t i = 0; i < METRIC_COUNT; i++)
        if (strcmp(metric_table[i].json, key) == 0)
            return (enum metric)i;
    return METRIC_COUNT;
}

static const char *const throttle_names[THROTTLE_COUNT] = {
    "idle",
    "application clocks setting",
    "power cap",
    "hardware slowdown",
    "sync boost",
    "software thermal slowdown",
    "hardware thermal slowdown",
    "power brake",
    "display clock setting",
    "current limit",
    "voltage regulator hot",
    "memory hot",
    "reliability limit",
    "other",
};

const char *throttle_name(unsigned bit_index)
{
    return bit_index < THROTTLE_COUNT ? throttle_names[bit_index] : "other";
}

static const char *word(const char *const *words, size_t count, int64_t code)
{
    return code >= 0 && (size_t)code < count ? words[code] : "unknown";
}

const char *compute_mode_name(int64_t mode)
{
    static const char *const words[] = {"default", "exclusive-thread", "prohibited", "exclusive-process"};
    return word(words, ARRAY_LEN(words), mode);
}

const char *power_mizer_name(int64_t mode)
{
    static const char *const words[] = {"adaptive", "maximum-performance", "auto", "consistent-performance"};
    return word(words, ARRAY_LEN(words), mode);
}

const char *recovery_action_name(int64_t action)
{
    static const char *const words[] = {"none",      "reset",        "reboot", "drain", "drain-and-reset", "recover-imex-domain",
                                        "bus-reset", "system-reboot"};
    return word(words, ARRAY_LEN(words), action);
}
