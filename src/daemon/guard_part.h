/* SPDX-License-Identifier: Apache-2.0
 * The guard as a part of the daemon: the workers of the configuration, requests, events and counters. A worker with a mistake is
 * logged and left out; at a reload it stays as it was.
 */
#pragma once

#include "insight/fit/capacity.h"

struct guard_part;

/* What its workers hold and could give back. */
size_t guard_part_holds(struct guard_part *p, const struct snapshot *s, struct capacity_hold *list, size_t max);
