/* SPDX-License-Identifier: Apache-2.0
 * The names of topics in the protocol.
 */
#include "serve/live/topic.h"

static const char *const names[TOPIC_COUNT] = {
    [TOPIC_STATUS] = "gpu_status",   [TOPIC_STATUS_UPDATE] = "gpu_status_update",
    [TOPIC_STATS] = "gpu_stats",     [TOPIC_HIGH_USAGE] = "high_gpu_usage_alert",
    [TOPIC_GPU_EVENT] = "gpu_event", [TOPIC_GPU_HEALTH] = "gpu_health",
    [TOPIC_ALERT] = "alert",         [TOPIC_GUARD] = "guard",
    [TOPIC_MISSED] = "missed",       [TOPIC_ERROR] = "error",
};

const char *topic_name(enum topic topic)
{
    return names[topic];
}

bool topic_from_name(struct str name, enum topic *ret)
{
    size_t i = NAME_FIND(names, name);
    if (i < TOPIC_COUNT)
        *ret = (enum topic)i;
    return i < TOPIC_COUNT;
}
