/* SPDX-License-Identifier: Apache-2.0
 * What the past minutes say about one GPU: work that ended, how long it has been calm or busy, whether it cools down.
 */
#pragma once

#include "insight/why/facts.h"

/* Fills f->past; everything else in f is there already. */
void past_collect(struct facts *f);
