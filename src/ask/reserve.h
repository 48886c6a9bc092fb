/* SPDX-License-Identifier: Apache-2.0
 * Room on a GPU that was just given away by `whirr wait`: who got it takes a while to use it, and until then it looks free. A small
 * file of this user's runtime directory, locked for the moment of a look, keeps two who wait from getting the same room.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

/* So long room stays reserved that is not used. */
enum { RESERVE_MS = 120000, RESERVE_KEY_SIZE = 128 };

/* Reserves `bytes` of the `free_bytes` in the place that `key` names (a UUID). False: others have it reserved already. Where no
 * file can be kept, nothing is reserved and the answer is that of the driver. */
bool reserve_room(const char *key, int64_t bytes, int64_t free_bytes, struct wall now);

/* ---- The list in the file, without the file. ---- */

enum { RESERVE_MAX = 256 };

struct reservation {
    char key[RESERVE_KEY_SIZE];
    struct wall at;
    int64_t bytes, free_bytes; /* what is reserved; what was free then */
};

struct reservations {
    size_t count;
    struct reservation list[RESERVE_MAX]; /* oldest first */
};

/* Drops what is too old, from the future, or used by now; then adds one, if there is room for it. */
bool reservations_take(struct reservations *r, const char *key, int64_t bytes, int64_t free_bytes, struct wall now);
