/* SPDX-License-Identifier: Apache-2.0
 * The reason of a placement in words. Not for others.
 */
#pragma once

#include "insight/fit/placement.h"

void placement_words(const struct capacity *c, const struct placement_wish *wish, struct placement *p);
