/* SPDX-License-Identifier: Apache-2.0
 * Numbers and names as people write them: the one parser and the one formatter for each kind of number, and the name that was
 * probably meant. Doesn't handle absent readings: see format/table/page.h.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

enum { WORDS_SIZE = 32 };

#define DURATION_SYNTAX "a duration like \"250ms\", \"30s\", \"5m\", \"1h30m\" or \"7d\""
#define BYTES_SYNTAX "an amount like \"512MiB\" or \"20GiB\""

/* ms, s, m (or min), h, d, w, each at most once, from large to small; 0 needs no unit. Not negative. */
bool duration_parse(struct str text, int64_t *ret_ms);
/* For settings: the shortest text that duration_parse reads back to the same value. */
void duration_exact(int64_t ms, char text[WORDS_SIZE]);

/* KiB, MiB, GiB, TiB; K, M, G, T for short; kB, MB, GB, TB are powers of ten. Not negative. */
bool bytes_parse(struct str text, int64_t *ret);
/* For settings: in the largest unit that divides it, "20GiB", "1500B". */
void bytes_exact(int64_t bytes, char text[WORDS_SIZE]);

/* "0.30", "0,30", "0.30 EUR", "0.30EUR", "€0.30": not negative. `currency` is "" if none is named. */
enum { CURRENCY_SIZE = 16 };
bool price_parse(struct str text, double *ret, char currency[CURRENCY_SIZE]);

/* For sentences and tables; each returns `out`. */
const char *words_duration(int64_t ms, char out[WORDS_SIZE]); /* "300ms", "1.5s", "45s", "7m 5s", "48m", "2h 48m", "1d 2h", "90d" */
const char *words_bytes(int64_t bytes, char out[WORDS_SIZE]); /* "512 KiB", "3.5 MiB", "340 MiB", "5.5 GiB", "1.2 TiB" */
const char *words_rate(int64_t bytes_per_s, char out[WORDS_SIZE]);  /* "3.5 MiB/s" */
const char *words_percent(int64_t permille, char out[WORDS_SIZE]);  /* "35%", "<1%" */
const char *words_temperature(int64_t mdegc, char out[WORDS_SIZE]); /* "71 °C"; "71 C" on a terminal without UTF-8 */
const char *words_power(int64_t mw, char out[WORDS_SIZE]);          /* "3.7 W", "134 W" */
const char *words_energy(int64_t mj, char out[WORDS_SIZE]);         /* "0.86 kWh"; below 0.01 kWh "21.4 kJ" */

const char *words_person(const char *name); /* who did something, where known */

/* Whole numbers, rounded: permille to %, mdegC to degrees, mW to W, kHz to MHz. */
long long words_whole(int64_t value, int64_t unit);

/* Finds the name that `wanted` probably means: try every name, then ask for the result. */
enum { NEAREST_SIZE = 160 };
struct nearest {
    const char *wanted;
    size_t distance;
    char best[NEAREST_SIZE];
};
void nearest_init(struct nearest *n, const char *wanted);
void nearest_try(struct nearest *n, const char *candidate);
/* NULL if none is near enough. */
const char *nearest_found(const struct nearest *n);
/* ", did you mean 'x'?" or "". */
const char *nearest_text(const struct nearest *n, char *text, size_t size);
/* The same in one call; NULL or one of `names`. */
const char *nearest_name(const char *wanted, const char *const *names, size_t count);
