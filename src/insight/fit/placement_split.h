/* SPDX-License-Identifier: Apache-2.0
 * The packing behind placement: given the room on each GPU, can the copies be laid out? Not for others.
 */
#pragma once

#include "insight/fit/placement.h"

enum { BUSY_PERMILLE = 500 }; /* a GPU at work is chosen after those that rest */

/* rooms: by position; -1: not to be used. Lays out all copies over `n` GPUs each and fills out->copies, or returns false. */
bool split_try(const struct capacity *c, const struct placement_wish *wish, const int64_t *rooms, size_t n, struct placement *out);
/* How much more room would be needed, over the best choice of GPUs; > 0. */
int64_t split_shortage(const struct capacity *c, const struct placement_wish *wish, const int64_t *rooms, size_t n);
/* Whole cards of the same maker can share one copy; the most that any maker has. */
size_t split_largest_group(const struct capacity *c, const int64_t *rooms);
