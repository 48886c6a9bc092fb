/* SPDX-License-Identifier: Apache-2.0
 * What the readings of a fan say together. The one place that judges a fan: health, alerts, explanations and tables ask here.
 *
 * Turns (tachometer), asked-for turns, asked-for percent and percent are different scales, and each may be wrong on its own. A fan
 * that does not turn is the usual state of a cool card, so a fault needs all of: asked to turn in a scale of its own, a tachometer
 * that reads 0, and a card hotter than any fan may rest at. How long that must last is up to the detectors (FAN_FAULT_MS).
 */
#pragma once

#include "model/gpu.h"

enum {
    FAN_NEEDED_FROM_MDEGC = 75000, /* zero-rpm modes end below this, unless the card says where */
    FAN_FAULT_MS = 30000,
};

enum fan_state {
    FAN_STATE_UNKNOWN, /* nothing that can be believed */
    FAN_STATE_NONE,    /* a passive card */
    FAN_STATE_TURNING,
    FAN_STATE_OFF,      /* rests: zero-rpm mode */
    FAN_STATE_FIRMWARE, /* reads 0, but the driver does not control it and may not see it: laptops */
    FAN_STATE_OFF_HOT,  /* reads 0 on a hot card, and no request for more is known */
    FAN_STATE_SLOW,     /* turns far slower than asked for, on a hot card */
    FAN_STATE_STOPPED,  /* asked to turn and stands still, on a hot card */
};

struct fan {
    enum fan_state state;
    char asked[24]; /* "60%" or "1800 rpm"; "" no request is known */
};

struct fan fan_judge(const struct gpu *gpu);
/* "unknown", "none", "turning", "off", "firmware", "off while hot", "slow", "stopped": the words of the API. */
const char *fan_state_name(enum fan_state state);
