/* SPDX-License-Identifier: Apache-2.0
 * The host itself: name, CPU, memory, swap, load, pressure, network and disk. Never blocks to measure: rates are taken between two
 * calls, and are PENDING on the first. What the system does not tell is absent with its reason.
 */
#pragma once

#include "base/env.h"
#include "model/host.h"

struct machine;

struct machine *machine_new(const struct env *env);
void machine_free(struct machine *m);
/* Rates are taken over at least so long (200 ms unless set; the first over 30 ms): one-shots that must answer at once take less,
 * and are coarser. */
void machine_set_window(struct machine *m, int64_t ms);
void machine_sample(struct machine *m, struct host *out);
/* Until a sample takes new rates; 0: it does so now. */
int64_t machine_left_ms(const struct machine *m);
/* The last sample where it is younger than that and has its rates; else a new one. */
void machine_glance(struct machine *m, int64_t max_age_ms, struct host *out);
/* Memory and swap alone, which need no look before. */
void machine_read_memory(const struct env *env, struct host *out);

/* ---- For the systems alone: what the machine of each begins with. ---- */

struct machine_window {
    const struct env *env;
    int64_t window_ms;
    bool measured; /* there is a first sample */
    struct mono at;
    struct host last; /* its rates are given while the window is too short */
};
void machine_window_init(struct machine_window *w, const struct env *env);
/* Until new rates are taken; 0: now. */
int64_t machine_window_left_ms(const struct machine_window *w, struct mono now);
/* Its share of the time between; false: the counter ran backwards. */
bool machine_share(uint64_t before, uint64_t now, uint64_t elapsed, int64_t *ret_permille);
/* What was gained, a second; PENDING in the first window, and absent with the reason where rc is an error. */
void machine_window_rates(const struct machine_window *w, int rc, int64_t elapsed_ms, const uint64_t sums[2], struct reading *in,
                          struct reading *out);
/* Those of the last sample. */
void machine_window_keep(const struct machine_window *w, struct host *out, const enum host_metric *which, size_t count);
