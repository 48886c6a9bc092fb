/* SPDX-License-Identifier: Apache-2.0
 * Moments as people write them ("-2h", "03:10", "yesterday 22:00", "2026-11-14T03:10"), for everything that asks about the past.
 */
#pragma once

#include "base/clock.h"

#define MOMENT_SYNTAX                                                                                            \
    "a time like \"2h\" or \"-2h\" (ago), \"03:10\", \"3am\", \"yesterday 22:00\", \"last night\", \"monday\", " \
    "\"last month\", \"2026-11-14T03:10\" or \"2026-11-14T03:10:00Z\""
#define MOMENT_AHEAD_SYNTAX "a time to come like \"20:00\", \"8am\", \"2h\" (from now), \"tomorrow 08:00\" or \"2026-11-14T20:00\""

/* Default zone of a text without one: local time for people at this host, UTC for API clients. */
enum moment_zone { MOMENT_LOCAL, MOMENT_UTC };

/* "now"; "2h", "-2h", "2h ago", "an hour ago": that long before now; "03:10", "03:10:30", "3am", "3:10 pm", "noon", "midnight": the
 * most recent one; "today", "yesterday", "tomorrow", "tonight", "last night", each with or without a time (default midnight; nights
 * 20:00); "monday", "last friday 14:00": the most recent one; "this week", "last week", "this month", "last month": its first
 * midnight; a date or a date and time, with or without "Z" or an offset. */
bool moment_parse(struct str text, struct wall now, enum moment_zone zone, struct wall *ret);

/* The end of a span that began at `since`: like moment_parse, but a time of day before `since` means the first one after it, or
 * now if that is in the future. */
bool moment_parse_end(struct str text, struct wall since, struct wall now, enum moment_zone zone, struct wall *ret);

/* A moment after `start` (now or later): "20:00" is the next one, "2h" is that long after it. False for anything not after
 * `start`. */
bool moment_parse_ahead(struct str text, struct wall start, struct wall now, enum moment_zone zone, struct wall *ret);

/* Local time: "03:10" on the same day as `now`, else "Nov 14 03:10", with the year if it differs. */
enum { MOMENT_TEXT_SIZE = 40 };
void moment_format(struct wall at, struct wall now, char text[MOMENT_TEXT_SIZE]);
/* Both ends of a span. The end omits its date if it equals the start's; otherwise both show theirs, even today's. */
void moment_format_span(struct wall since, struct wall until, struct wall now, char from[MOMENT_TEXT_SIZE],
                        char to[MOMENT_TEXT_SIZE]);
