/* SPDX-License-Identifier: Apache-2.0
 * The host itself: name, CPU, memory, swap, load, pressure, network and disk. Never blocks to measure: rates span two calls, and
 * are PENDING on the first. Values that the system lacks are absent with a reason.
 */
#pragma once

#include "base/env.h"
#include "base/str.h"
#include "model/host.h"

struct machine;

struct machine *machine_new(const struct env *env);
void machine_free(struct machine *m);
/* Minimum interval of rates (default 200 ms; 30 ms for the first): one-shots that must answer at once use a shorter, coarser
 * one. */
void machine_set_window(struct machine *m, int64_t ms);
void machine_sample(struct machine *m, struct host *out);
/* Time until a sample measures new rates; 0: now. */
int64_t machine_left_ms(const struct machine *m);
/* The last sample if it is younger than that and has rates, else a new one. */
void machine_glance(struct machine *m, int64_t max_age_ms, struct host *out);
/* Memory and swap only, which need no earlier sample. */
void machine_read_memory(const struct env *env, struct host *out);

/* An InfiniBand port that had a link: it should have one. */
struct machine_port {
    char name[48], model[48]; /* "mlx5_0/1", "MT4129" */
    bool up;
};
enum { MACHINE_PORTS_MAX = 32 };
size_t machine_ports(const struct machine *m, struct machine_port list[MACHINE_PORTS_MAX]);
/* A port of before the start should have a link, or needn't any more (`forgotten`) until it has one. */
void machine_expect_port(struct machine *m, const char *name, const char *model, bool forgotten);

/* ---- for the system backends: the common part of each struct machine ---- */

struct machine_window {
    const struct env *env;
    int64_t window_ms;
    bool measured; /* a first sample exists */
    struct mono at;
    struct host last; /* its rates are reused while the interval is too short */
    struct mono last_at;
};
void machine_window_init(struct machine_window *w, const struct env *env);
/* Time until new rates; 0: now. */
int64_t machine_window_left_ms(const struct machine_window *w, struct mono now);
/* The increment as a share of `elapsed`; false: the counter decreased. */
bool machine_share(uint64_t before, uint64_t now, uint64_t elapsed, int64_t *ret_permille);
/* Increments per second; PENDING in the first window, absent with the reason if rc is an error. */
void machine_window_rates(const struct machine_window *w, int rc, int64_t elapsed_ms, const uint64_t sums[2], struct reading *in,
                          struct reading *out);
/* Copies readings of the last sample. */
void machine_window_keep(const struct machine_window *w, struct host *out, const enum host_metric *which, size_t count);

/* ---- Rates from counters of things that come and go (network interfaces, disks): sums what each grew by since the last round.
 * ---- */

enum { COUNTERS_MAX = 512, COUNTER_NAME_SIZE = 40 };

struct counter {
    char name[COUNTER_NAME_SIZE];
    bool counted;     /* the caller's choice when first seen */
    bool seen;        /* in this round */
    uint64_t in, out; /* of the last round */
    uint64_t own;     /* a third value for the caller's use */
};

struct counters {
    size_t count;
    struct counter items[COUNTERS_MAX]; /* the sum ignores further ones */
};

/* The counter of this name; *is_new if just added. NULL: too many. */
struct counter *counters_find(struct counters *c, struct str name, bool *is_new);
/* Stores the new values and, unless only_start, adds the increments to the sums; a reset counter restarts. */
void counter_advance(struct counter *c, bool only_start, uint64_t in, uint64_t out, uint64_t *in_sum, uint64_t *out_sum);
/* Removes counters not advanced since the last call. */
void counters_sweep(struct counters *c);
