/* SPDX-License-Identifier: Apache-2.0
 * Durations ("30s", "1h30m") and amounts of memory ("20GiB") as people write them, both ways.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

enum { UNITS_TEXT_SIZE = 32 };

#define DURATION_SYNTAX "a duration like \"250ms\", \"30s\", \"5m\", \"1h30m\" or \"7d\""
#define BYTES_SYNTAX "an amount like \"512MiB\", \"20GiB\" or a number of bytes"

/* ms, s, m (or min), h, d, w, each at most once and from large to small; 0 needs no unit. Not negative. */
bool duration_parse(struct str text, int64_t *ret_ms);
/* The shortest text that duration_parse reads back to the same. */
void duration_format(int64_t ms, char text[UNITS_TEXT_SIZE]);

/* KiB, MiB, GiB, TiB; K, M, G, T for short; kB, MB, GB, TB are powers of ten. Not negative. */
bool bytes_parse(struct str text, int64_t *ret);
/* In the largest unit that divides it: "20GiB", "1500B". */
void bytes_format(int64_t bytes, char text[UNITS_TEXT_SIZE]);
