/* SPDX-License-Identifier: Apache-2.0
 * What time it is, as far as a database may believe it before it deletes anything. Pure functions of plain data; knows no database.
 *
 * A wall clock can be wrong by seconds or years, in both directions, for a moment or for days. What cannot be wrong is the time
 * that a running program has seen pass. So `believed` moves with that time alone; where the clock says otherwise (it was set, the
 * host was off, a virtual machine was restored), that is a claim, and a claim is believed once it has held for hours of seen time.
 *
 *   clock      ───────────┐ +30 d ┌──────────────        a leap that is taken back: never believed, nothing is deleted
 *   believed   ───────────────────────────────────
 *
 *   clock      ─────      off 3 weeks     ┌───────────────────────
 *   believed   ─────                      ────── held for hours ──┘
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct clock_trust {
    int64_t believed_ms; /* since 1970; 0: nothing is known yet */
    int64_t claim_ms;    /* what the clock says instead, moved along with seen time; 0: nothing */
    int64_t held_ms;     /* for how much seen time that has held */
};

/* The first sight of a database: what is newest in it (0: it is empty), or what others believe. */
struct clock_trust trust_begin(int64_t wall_ms, int64_t newest_ms);

/* `passed_ms` were seen to pass since the last step (0 after a restart), and the clock now shows wall_ms. */
void trust_step(struct clock_trust *t, int64_t wall_ms, int64_t passed_ms);

/* The time by which rows may be judged old: never later than the clock, never later than what is believed. */
int64_t trust_now(const struct clock_trust *t, int64_t wall_ms);

/* How far the clock is ahead of what is believed (negative: behind). */
int64_t trust_offset(const struct clock_trust *t, int64_t wall_ms);

/* How much longer the clock has to hold to be believed; 0: it is. */
int64_t trust_wait(const struct clock_trust *t, int64_t wall_ms);

/* The time on which several witnesses agree: the lower middle one, so that no single one moves it far. Sorts them. */
int64_t trust_of_many(int64_t *times_ms, size_t count);
