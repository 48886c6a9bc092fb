/* SPDX-License-Identifier: Apache-2.0
 * What is remembered of a card: its faults, its resets, and which faults came back after one.
 */
#pragma once

#include "insight/area/health_look.h"

enum {
    FAULT_DAY_MS = 86400000, /* after so long without a repeat a fault is over */
    FAULT_HOUR_MS = 3600000, /* a fault of an application is worth a line for so long */
    FAULT_SAME_MS = 5000,    /* the same XID from two places */
    FAULT_OFTEN = 3,         /* application faults a day that deserve a look */
};

/* The card's memory, made when it is not there yet; NULL when the memory is full. */
struct health_card *memory_card(struct health_history *h, const struct gpu *gpu);
/* Counters that went back, or a card that came back, mean a reset. */
void memory_notice_reset(struct health_card *card, const struct gpu *gpu);
void memory_take_look(struct health_card *card, enum health_check check, const struct health_look *look, struct wall now);
/* What a log or an event told: an XID or a fault of the driver. */
void memory_take_logged(struct health_card *card, enum health_check check, int32_t code, struct wall at, int64_t same_ms);
