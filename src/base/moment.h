/* SPDX-License-Identifier: Apache-2.0
 * Moments as people write them ("-2h", "03:10", "yesterday 22:00", "2026-11-14T03:10"), for everything that asks about the past.
 */
#pragma once

#include "base/clock.h"

#define MOMENT_SYNTAX                                                                                                        \
    "a time like \"2h\" or \"-2h\" (ago), \"03:10\", \"3am\", \"yesterday 22:00\", \"last night\", \"2026-11-14T03:10\" or " \
    "\"2026-11-14T03:10:00Z\""
#define MOMENT_AHEAD_SYNTAX "a time to come like \"20:00\", \"8am\", \"2h\" (from now), \"tomorrow 08:00\" or \"2026-11-14T20:00\""

/* Whose clock is meant where the text does not say: the person's at this machine, or UTC (clients of the API). */
enum moment_zone { MOMENT_LOCAL, MOMENT_UTC };

/* "now"; "2h", "-2h", "2h ago": that long before now; "03:10", "03:10:30", "3am", "3:10 pm", "noon", "midnight": the last time it
 * was that late; "today", "yesterday", "tomorrow", "tonight", "last night", each with a time or without (midnight; of a night
 * 20:00); "this week", "last week", "this month", "last month": its first midnight; a date or a date and time, with or without "Z"
 * or an offset. */
bool moment_parse(struct str text, struct wall now, enum moment_zone zone, struct wall *ret);

/* The end of what began at `since`: as above, but a time of day that was before it is the first one after it, or now if that is
 * still to come. */
bool moment_parse_end(struct str text, struct wall since, struct wall now, enum moment_zone zone, struct wall *ret);

/* What is to come after `start`, which is now or later: "20:00" is the first after it, "2h" that long after it. False also for what
 * is not after it. */
bool moment_parse_ahead(struct str text, struct wall start, struct wall now, enum moment_zone zone, struct wall *ret);

/* The clock of the person: "03:10" of the same day as `now`, "Nov 14 03:10" otherwise, with the year when it is another. */
enum { MOMENT_TEXT_SIZE = 40 };
void moment_format(struct wall at, struct wall now, char text[MOMENT_TEXT_SIZE]);
/* Both ends of a span. The end has no day where it is that of the beginning; else both have theirs, also today. */
void moment_format_span(struct wall since, struct wall until, struct wall now, char from[MOMENT_TEXT_SIZE],
                        char to[MOMENT_TEXT_SIZE]);
