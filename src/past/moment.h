/* SPDX-License-Identifier: Apache-2.0
 * A moment of the past as the engine would have shown it: a snapshot and the minutes before it, for explanations.
 */
#pragma once

#include "model/recent.h"
#include "store/query.h"

/* Each GPU of the host at `at`: its last sample (where samples were cleaned up, the means of the minute or hour), the processes
 * that were on it, and the ten minutes before. *level says what it was made from; the snapshot has one reference. -ENODATA when
 * nothing was stored then: no sample is so near that it can speak for the moment. */
int store_past(struct store *s, const char *host, struct wall at, struct snapshot **ret, struct recent *recent, enum level *level,
               struct error *err);
