/* SPDX-License-Identifier: Apache-2.0
 * The kinds of messages for clients, in the order in which those of one sample are sent.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"

enum topic {
    TOPIC_STATUS, /* once, on connect */
    TOPIC_STATUS_UPDATE,
    TOPIC_STATS,
    TOPIC_HIGH_USAGE,
    TOPIC_GPU_EVENT,  /* reported by the driver: XID, lost, back */
    TOPIC_GPU_HEALTH, /* a GPU's health changed */
    TOPIC_ALERT,
    TOPIC_GUARD,
    TOPIC_MISSED,
    TOPIC_ERROR,
    TOPIC_COUNT,
};

enum { TOPICS_ALL = (1 << TOPIC_COUNT) - 1 };
/* Topics that a client can't switch off: its welcome, missed samples, its own errors. */
enum { TOPICS_ALWAYS = 1 << TOPIC_STATUS | 1 << TOPIC_MISSED | 1 << TOPIC_ERROR };

const char *topic_name(enum topic topic);
bool topic_from_name(struct str name, enum topic *ret);
