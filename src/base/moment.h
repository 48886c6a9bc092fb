/* SPDX-License-Identifier: Apache-2.0
 * Moments as people write them ("-2h", "03:10", "yesterday 22:00", "2026-11-14T03:10"), for everything that asks about the past.
 */
#pragma once

#include "base/clock.h"

#define MOMENT_SYNTAX \
    "a time like \"2h\" or \"-2h\" (ago), \"03:10\", \"yesterday 22:00\", \"2026-11-14T03:10\" or \"2026-11-14T03:10:00Z\""

/* Whose clock is meant where the text does not say: the person's at this machine, or UTC (clients of the API). */
enum moment_zone { MOMENT_LOCAL, MOMENT_UTC };

/* "now"; "2h", "-2h", "2h ago": that long before now; "03:10", "03:10:30": the last time it was that late; "today", "yesterday",
 * each with a time or without (midnight); a date or a date and time, with or without "Z" or an offset. */
bool moment_parse(struct str text, struct wall now, enum moment_zone zone, struct wall *ret);

/* The clock of the person: "03:10" of the same day as `now`, "Nov 14 03:10" otherwise, with the year when it is another. */
enum { MOMENT_TEXT_SIZE = 40 };
void moment_format(struct wall at, struct wall now, char text[MOMENT_TEXT_SIZE]);
