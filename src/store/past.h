/* SPDX-License-Identifier: Apache-2.0
 * A moment of the past as the engine would have shown it: a snapshot and the minutes before it, for explanations.
 */
#pragma once

#include "model/recent.h"
#include "store/query.h"

/* The newest sample of each GPU of the host at `at` (not older than ten minutes; where samples were cleaned up, the minute's
 * means), the processes of that minute, and the ten minutes before. The snapshot has one reference. -ENODATA when nothing was
 * stored then. */
int store_past(struct store *s, const char *host, struct wall at, struct snapshot **ret, struct recent *recent, struct error *err);
