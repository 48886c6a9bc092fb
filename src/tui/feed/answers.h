/* SPDX-License-Identifier: Apache-2.0
 * Turns the daemon's JSON into data for the live view: trails, a past moment, texts of tabs. Pure.
 */
#pragma once

#include <jansson.h>

#include "tui/feed/feed.h"

/* The body of /api/history: a trail for each GPU of the snapshot. */
int answer_series(const json_t *history, const struct snapshot *s, struct news *n);
/* The body of /api/history/events. */
void answer_marks(const json_t *events, struct news *n);
/* A snapshot of that moment: the GPUs of `live` with readings and processes from the history. NULL: nothing is known, or out of
 * memory. */
struct snapshot *answer_moment(const struct snapshot *live, const json_t *history, const json_t *processes, struct wall at);
/* The body of /api/why about a moment without a snapshot; NULL: there was no answer. */
void answer_missing(const json_t *why, int64_t at_ms, struct top_missing *ret);

/* The bodies of /api/gpu/health and /api/forecast, either of which may be NULL; one badge per GPU of the snapshot. */
void answer_badges(const json_t *health, const json_t *forecast, const struct snapshot *s, struct top_badge *badges);

/* The body of /api/history/processes about one PID: the run on that GPU of the process started then (0: unknown). */
void answer_process_run(const json_t *runs, int gpu_index, int64_t started_ms, struct top_details *d);
/* The body of /api/history about a process that is idle now: the time since when, not before its start; 0: unknown. */
int64_t answer_idle_since(const json_t *history, int64_t started_ms);
/* The body of /api/history about that process: its plots from d->since_ms to d->until_ms, in that many slots. */
void answer_lifeline(const json_t *history, size_t slots, struct top_details *d);

void answer_alerts(const json_t *alerts, struct buf *out);
void answer_guard(const json_t *guard, struct news *n);
