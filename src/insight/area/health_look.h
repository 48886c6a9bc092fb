/* SPDX-License-Identifier: Apache-2.0
 * One look at a card: what each check says of the readings of this moment, before the memory has its say.
 */
#pragma once

#include "insight/area/health.h"

enum look { LOOK_UNJUDGED, LOOK_CLEAR, LOOK_PRESENT };

struct health_look {
    enum look look;
    enum health_state state; /* when present */
    enum health_advice advice;
    int64_t hold_ms; /* must be present for so long before it counts */
    char reason[160];
};

/* How long something must last, and where it begins */
enum {
    HOLD_HEAT_MS = 60000,
    HOLD_LINK_MS = 60000,
    HEALTH_MARGIN = 5000,    /* 1/1000 C below a limit */
    HEALTH_HOTTEST = 100000, /* where the card gives no limit */
    HEALTH_WORKING_STATE_MAX = 2,
    HEALTH_LANES_LOAD = 50, /* permille: from here on a GPU is awake, and so are all lanes of its link */
    HEALTH_LOAD = 500,      /* permille: the generation of a link is judged from here on */
    HEALTH_ROWS_MAX = 512,  /* remapped rows for uncorrected errors */
    HEALTH_PAGES_MAX = 60,  /* retired pages */
    HEALTH_REPLAYS_PER_MIN = 8,
    HEALTH_REPLAYS_WINDOW_MS = 60000,
};

/* Fills looks for every check that readings decide; the card's memory is used for rates and brought up to date. */
void health_look_at(const struct gpu *gpu, struct wall now, struct health_card *card, struct health_look looks[HEALTH_CHECK_COUNT]);
/* What months of history say about its cooling; nothing without them. */
void health_look_cooling(const struct baseline_drift *d, struct health_look *look);
