/* SPDX-License-Identifier: Apache-2.0
 * Units of the expression language. A unit is a product of base units (bytes, degrees, watts, seconds, ...) and a factor, so
 * memory_used_mb (MiB) compares with 20GiB, bytes per second times seconds yield bytes, and degrees never mix with watts.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

enum unit_base { UNIT_BYTE, UNIT_CELSIUS, UNIT_WATT, UNIT_SECOND, UNIT_VOLT, UNIT_RPM, UNIT_BASES };

struct unit {
    int8_t power[UNIT_BASES];
    bool plain;    /* a bare number: adopts the unit of the other operand */
    bool written;  /* a literal with a unit, like 20GiB: converts to the metric's unit */
    double factor; /* in base units */
};

#define UNIT_PLAIN ((struct unit){.plain = true, .factor = 1})
#define UNIT_COUNT ((struct unit){.factor = 1})

/* The unit in a metric's suffix: "_mb" is MiB, "_percent" is 1/100, ... Without a suffix it is a count. */
struct unit unit_of_name(const char *name);
/* The unit after a number: "GiB", "C", "W", "%", "ms", ... Returns the length of the longest match, or 0. */
size_t unit_parse(struct str text, struct unit *ret);

bool unit_same_kind(struct unit a, struct unit b); /* convertible into each other; plain numbers match any unit */
bool unit_is_time(struct unit u);
/* The unit of a sum or comparison; multiply a number in `a` by *scale_a to convert. Requires the same kind. */
struct unit unit_join(struct unit a, struct unit b, double *scale_a, double *scale_b);
/* False if the exponents get absurdly large. */
bool unit_multiply(struct unit a, struct unit b, int sign, struct unit *ret);

/* "an amount of memory", "a temperature": for messages. */
const char *unit_kind_name(struct unit u);
/* Formats a number for people: "20.5 GiB", "85 °C", "42%", "3". */
void unit_format(struct buf *out, double number, struct unit u);
