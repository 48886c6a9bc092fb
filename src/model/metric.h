/* SPDX-License-Identifier: Apache-2.0
 * The metric table as data: metrics.def, properties.def, process_metrics.def and host_metrics.def, for code that iterates over
 * them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

/* How often a metric is read. */
enum metric_group {
    GROUP_STATIC = 1 << 0,  /* once, and after changes */
    GROUP_FAST = 1 << 1,    /* every sample */
    GROUP_PROCESS = 1 << 2, /* every sample: processes */
    GROUP_SLOW = 1 << 3,    /* every 10 s */
    GROUP_RARE = 1 << 4,    /* every 30 s: expensive to query and slow to change: energy counter, modes, pending repairs */
    GROUP_LEAN = 1 << 5,    /* modifier, not a metric's group: of FAST and SLOW, only what decisions need: memory, heat, ECC, ... */
    GROUP_PAST = 1 << 6,    /* modifier: a single look to be judged at once: adds the driver's own record of the last seconds, and
                             * skips what only monitoring or a full list needs */
    GROUP_UNSEEN = 1 << 7,  /* modifier: nothing reads the result just now; query less often what the driver averages itself */
    GROUP_GLANCE = 1 << 8,  /* modifier: a live view that shows neither the host nor GPU units; their values may be some seconds
                             * old */
    GROUP_QUICK = GROUP_FAST | GROUP_PROCESS,
    GROUP_ALL = GROUP_STATIC | GROUP_FAST | GROUP_PROCESS | GROUP_SLOW | GROUP_RARE,
};
enum { METRIC_GROUPS = 5 }; /* those of metrics, by their bit */

enum metric_kind { KIND_NUMBER, KIND_BOOL, KIND_PSTATE, KIND_THROTTLE, KIND_COMPUTE_MODE, KIND_POWER_MIZER, KIND_RECOVERY };
enum metric_range {
#define RANGE(name, ...) RANGE_##name,
#include "model/ranges.def"
#undef RANGE
    RANGE_COUNT
};
enum metric_type { TYPE_GAUGE, TYPE_COUNTER };

enum metric {
#define METRIC(field, ...) METRIC_##field,
#include "model/metrics.def"
#undef METRIC
    METRIC_COUNT
};

enum property {
#define PROPERTY(field, ...) PROPERTY_##field,
#include "model/properties.def"
#undef PROPERTY
    PROPERTY_COUNT
};

enum process_metric {
#define PROCESS_METRIC(field, ...) PROCESS_METRIC_##field,
#include "model/process_metrics.def"
#undef PROCESS_METRIC
    PROCESS_METRIC_COUNT
};

enum host_metric {
#define HOST_METRIC(field, ...) HOST_METRIC_##field,
#include "model/host_metrics.def"
#undef HOST_METRIC
    HOST_METRIC_COUNT
};

struct metric_info {
    const char *field;
    enum metric_group group;
    enum metric_kind kind;
    enum metric_range range;
    const char *json;
    double json_scale;
    const char *prometheus; /* "" when not exported */
    double prometheus_scale;
    enum metric_type type;
    const char *help;
};

struct property_info {
    const char *field, *json, *help;
};

extern const struct metric_info metric_table[METRIC_COUNT];
extern const struct property_info property_table[PROPERTY_COUNT];
extern const struct metric_info process_metric_table[PROCESS_METRIC_COUNT];
extern const struct metric_info host_metric_table[HOST_METRIC_COUNT];

/* Whether the value is in the metric's range. */
bool metric_is_plausible(const struct metric_info *info, int64_t value);

/* By JSON key; METRIC_COUNT: none. */
enum metric metric_from_json(const char *key);

/* Reasons for reduced clocks, the same bits for every vendor; the API uses the same words. */
enum throttle {
    THROTTLE_IDLE = 1 << 0,
    THROTTLE_APP_CLOCKS = 1 << 1,
    THROTTLE_POWER_CAP = 1 << 2,
    THROTTLE_HW_SLOWDOWN = 1 << 3,
    THROTTLE_SYNC_BOOST = 1 << 4,
    THROTTLE_SW_THERMAL = 1 << 5,
    THROTTLE_HW_THERMAL = 1 << 6,
    THROTTLE_POWER_BRAKE = 1 << 7,
    THROTTLE_DISPLAY = 1 << 8,
    THROTTLE_CURRENT = 1 << 9,     /* electrical current limit */
    THROTTLE_VR_THERMAL = 1 << 10, /* voltage regulator overheated */
    THROTTLE_MEM_THERMAL = 1 << 11,
    THROTTLE_RELIABILITY = 1 << 12,
    THROTTLE_OTHER = 1 << 13,
};
enum { THROTTLE_COUNT = 14 };

/* Reasons that mean "could run faster but may not": neither idle nor a chosen clock. */
#define THROTTLE_SLOWED                                                                                             \
    (THROTTLE_POWER_CAP | THROTTLE_HW_SLOWDOWN | THROTTLE_SW_THERMAL | THROTTLE_HW_THERMAL | THROTTLE_POWER_BRAKE | \
     THROTTLE_CURRENT | THROTTLE_VR_THERMAL | THROTTLE_MEM_THERMAL | THROTTLE_RELIABILITY | THROTTLE_OTHER)
#define THROTTLE_HOT (THROTTLE_SW_THERMAL | THROTTLE_HW_THERMAL | THROTTLE_VR_THERMAL | THROTTLE_MEM_THERMAL)

const char *throttle_name(unsigned bit_index); /* "power cap", "hardware thermal slowdown", ... */
const char *compute_mode_name(int64_t mode);
const char *power_mizer_name(int64_t mode);
const char *recovery_action_name(int64_t action);
