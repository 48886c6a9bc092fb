/* SPDX-License-Identifier: Apache-2.0
 * The host itself: name, CPU, memory, swap, load, pressure, network and disk, from procfs and sysfs below the sysroot. Never
 * blocks to measure: rates are taken between two calls, and are PENDING on the first.
 */
#pragma once

#include "base/env.h"
#include "model/host.h"

struct machine;

struct machine *machine_new(const struct env *env);
void machine_free(struct machine *m);
/* Rates are taken over at least so long (200 ms unless set): one-shots that must answer at once take less, and are coarser. */
void machine_set_window(struct machine *m, int64_t ms);
void machine_sample(struct machine *m, struct host *out);
