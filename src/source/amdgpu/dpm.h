/* SPDX-License-Identifier: Apache-2.0
 * The tables of clock states: pp_dpm_sclk and its siblings, rows like "1: 789Mhz *".
 */
#pragma once

#include "base/str.h"
#include "model/reading.h"

struct dpm_clock {
    struct reading now_khz; /* of the starred row; absent when no row, or several different ones, are starred */
    struct reading max_khz; /* of the fastest row */
};
void dpm_parse_clock(struct str text, struct dpm_clock *ret);

struct dpm_link {
    struct reading generation, width; /* of the starred rows, if they agree */
    struct reading generation_max, width_max;
};
void dpm_parse_link(struct str text, struct dpm_link *ret);
