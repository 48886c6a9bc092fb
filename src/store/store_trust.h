/* SPDX-License-Identifier: Apache-2.0
 * The time, as far as a database may believe it before it deletes anything. Pure functions of plain data; knows no database.
 *
 * A wall clock can be wrong by seconds or years, in both directions, for a moment or for days. The time that a running program has
 * seen pass can't be wrong. So `believed` advances with that time alone; where the clock disagrees (it was set, the host was off,
 * a virtual machine was restored), that is a claim, and a claim is believed once it has held for hours of seen time.
 *
 *   clock      ───────────┐ +30 d ┌──────────────        a leap that is undone: never believed, nothing is deleted
 *   believed   ───────────────────────────────────
 *
 *   clock      ─────      off 3 weeks     ┌───────────────────────
 *   believed   ─────                      ────── held for hours ──┘
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct clock_trust {
    int64_t believed_ms; /* since 1970; 0: unknown yet */
    int64_t claim_ms;    /* what the clock claims instead, advanced with seen time; 0: nothing */
    int64_t held_ms;     /* how much seen time the claim has held */
};

/* Starts with a database: newest_ms is its newest row (0: empty), or what other hosts believe. */
struct clock_trust trust_begin(int64_t wall_ms, int64_t newest_ms);

/* `passed_ms` have been seen to pass since the last step (0 after a restart), and the clock now shows wall_ms. */
void trust_step(struct clock_trust *t, int64_t wall_ms, int64_t passed_ms);

/* The time that decides which rows are old: never later than the clock or the believed time. */
int64_t trust_now(const struct clock_trust *t, int64_t wall_ms);

/* How far the clock is ahead of the believed time (negative: behind). */
int64_t trust_offset(const struct clock_trust *t, int64_t wall_ms);

/* How much longer the clock must hold to be believed; 0: it is. */
int64_t trust_wait(const struct clock_trust *t, int64_t wall_ms);

/* The time on which several witnesses agree: the lower median, so that no single one moves it far. Sorts them. */
int64_t trust_of_many(int64_t *times_ms, size_t count);
