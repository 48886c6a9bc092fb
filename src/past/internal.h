/* SPDX-License-Identifier: Apache-2.0
 * What the files of `told` share. Private to told*.c.
 */
#pragma once

#include "past/explain.h"

/* The gap that a moment lies in. */
int gap_around(struct store *s, const char *host, struct wall at, struct wall now, struct told_gap *ret, struct error *err);
/* Looks up whether the daemon ran, and says it. */
int gap_finish(struct store *s, const char *host, struct wall now, struct told_gap *gap, struct error *err);
/* All gaps of the span. */
int gaps_within(struct store *s, const char *host, struct told_span *told, struct error *err);
/* Its sentences. */
void told_say_span(struct told_span *told);
