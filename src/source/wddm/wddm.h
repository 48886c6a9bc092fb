/* SPDX-License-Identifier: Apache-2.0
 * The wddm source with a custom function table.
 */
#pragma once

#include "source/source.h"
#include "source/wddm/wddm_calls.h"

/* -ENODEV: no GPU, or no GPU counters. Copies the table. */
int wddm_open_with(const struct env *env, const struct wddm_calls *calls, struct source **ret, struct error *err);
