/* SPDX-License-Identifier: Apache-2.0
 * Units of the expression language. A unit is a product of base units (bytes, degrees, watts, seconds, ...) and a factor, so that
 * memory_used_mb (MiB) and 20GiB can be compared, bytes per second times seconds are bytes, and degrees are never taken for watts.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

enum unit_base { UNIT_BYTE, UNIT_CELSIUS, UNIT_WATT, UNIT_SECOND, UNIT_VOLT, UNIT_RPM, UNIT_BASES };

struct unit {
    int8_t power[UNIT_BASES];
    bool plain;    /* a bare number: takes the unit of what it meets */
    bool written;  /* a number with a unit, like 20GiB: gives way to the unit of a metric */
    double factor; /* in base units */
};

#define UNIT_PLAIN ((struct unit){.plain = true, .factor = 1})
#define UNIT_COUNT ((struct unit){.factor = 1})

/* The unit that ends a metric's name: "_mb" is MiB, "_percent" is 1/100, ... A count without one. */
struct unit unit_of_name(const char *name);
/* The unit behind a number: "GiB", "C", "W", "%", "ms", ... The longest that `text` begins with; 0 when there is none. */
size_t unit_parse(struct str text, struct unit *ret);

bool unit_same_kind(struct unit a, struct unit b); /* one can be converted to the other; plain numbers fit everything */
bool unit_is_time(struct unit u);
/* What a sum or comparison of both is in; a number in `a` times *scale_a is in it. Only for the same kind. */
struct unit unit_join(struct unit a, struct unit b, double *scale_a, double *scale_b);
/* False: the powers grow beyond all sense. */
bool unit_multiply(struct unit a, struct unit b, int sign, struct unit *ret);

/* "an amount of memory", "a temperature": for messages. */
const char *unit_kind_name(struct unit u);
/* "20.5 GiB", "85 °C", "42%", "3": a number in the unit for people. */
void unit_format(struct buf *out, double number, struct unit u);
