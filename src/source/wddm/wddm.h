/* SPDX-License-Identifier: Apache-2.0
 * The wddm source with a table of functions of one's own.
 */
#pragma once

#include "source/source.h"
#include "source/wddm/calls.h"

/* -ENODEV: no GPU, or no counters of GPUs. The table is copied. */
int wddm_open_with(const struct env *env, const struct wddm_calls *calls, struct source **ret, struct error *err);
