/* SPDX-License-Identifier: Apache-2.0
 * Cuts a stretch of a card's past into episodes: a job from its beginning to its end, an hour of slowing down for heat, a loud fan
 * without work. Each is one thing worth explaining, not one line per minute. A pure function of plain data.
 *
 *   points   . . W W W . W W W H H H W W . . . . D D . .        . calm  W work of one process  H too hot  D not readable
 *   episodes     └─── work ───┘└hot─┘└work┘      └dark┘
 *
 * A short break does not end an episode; a change of the process that works does.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "insight/area/part.h"
#include "model/reading.h"

enum episode_kind {
    EPISODE_CALM,
    EPISODE_HELD,  /* nothing is computed, but a process holds a good part of the memory */
    EPISODE_NOISE, /* warm or loud without work */
    EPISODE_WORK,
    EPISODE_LIMIT, /* held back by its power limit while it works */
    EPISODE_HOT,   /* slows itself down for heat */
    EPISODE_DARK,  /* could not be read: asleep, lost, in error */
    EPISODE_KIND_COUNT
};

/* One step of the past of one card; means unless the name says otherwise. */
struct episode_point {
    int64_t at_ms;
    struct reading util_permille, video_permille, fan_permille, mem_permille;
    struct reading temp_max_mdegc, power_mw;
    struct reading slowed_permille; /* part of the samples in which the card was slowed down, whatever for */
    uint64_t throttle_bits;         /* all reasons that occurred */
    int64_t worker;                 /* number of the process that did most; 0: none, or not known */
    bool worker_works;              /* ... and not merely holds memory */
};

struct episode {
    enum episode_kind kind;
    int64_t worker;
    size_t first, last; /* positions of its points */
    size_t peak;        /* the one that shows it best */
};

/* Oldest first, calm left out. Those beyond `max` are counted in *left_out. 0, or -ENOMEM. */
int episodes_find(const struct episode_point *points, size_t count, int64_t step_ms, struct episode *ret, size_t max,
                  size_t *ret_count, size_t *left_out);

/* Sums over the points of an episode. */
struct episode_numbers {
    int64_t util_sum_permille, utils, power_sum_mw, powers;
    struct reading temp_max_mdegc;
};

/* Episodes that are told as one: over days, the same work again and again. */
struct episode_group {
    struct episode shown; /* the longest of them */
    int64_t since_ms, until_ms, total_ms;
    size_t times;
    struct episode_numbers numbers; /* of all of them */
};

/* again: episodes of the same kind and worker are one. The most promising first; ret has room for `count`. Returns their number. */
size_t episodes_group(const struct episode *found, size_t count, const struct episode_point *points, int64_t step_ms, bool again,
                      struct episode_group *ret);

/* Whether rows alone show it well enough for an episode of its own. */
bool episode_is_about(finding_code code);
/* How much an explained episode matters: what is wrong comes before what is merely busy, long before short. 0: not worth telling.
 */
double episode_weight(const struct why_part *part, int64_t lasted_ms);
