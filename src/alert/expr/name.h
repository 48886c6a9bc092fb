/* SPDX-License-Identifier: Apache-2.0
 * The names that expressions may use: every metric of GPUs, processes and the host, their states and words, and the verdict. The
 * names come from existing tables; this file joins them and reads a name's value from a subject.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/str.h"
#include "model/snapshot.h"

/* Units of the expression language. A unit is a product of base units (bytes, degrees, watts, seconds, ...) and a factor, so
 * memory_used_mb (MiB) compares with 20GiB, bytes per second times seconds yield bytes, and degrees never mix with watts. */

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

enum { NAME_SIZE = 64 };

/* What a rule is evaluated for: the narrowest scope among its names. */
enum alert_scope { SCOPE_HOST, SCOPE_GPU, SCOPE_PROCESS };

enum value_type {
    VALUE_UNKNOWN, /* absent: neither 0 nor false */
    VALUE_BOOL,
    VALUE_NUMBER,
    VALUE_TEXT,
    VALUE_WORDS, /* a set: throttle_reasons, findings */
};

/* One bit per word, in the order of name_word(). */
typedef unsigned __int128 word_set;
#define WORD_BIT(i) ((word_set)1 << (i))

struct value {
    enum value_type type;
    bool truth;
    double number;   /* in the unit of its name */
    struct str text; /* points into the subject */
    word_set words;
};

enum name_kind {
    NAME_GPU_METRIC,
    NAME_GPU_PROPERTY,
    NAME_GPU_OTHER,
    NAME_PROCESS_METRIC,
    NAME_PROCESS_OTHER,
    NAME_HOST_METRIC,
    NAME_HOST_OTHER,
    NAME_HOST_JUDGED, /* used without the prefix "host." */
    NAME_KINDS
};

struct alert_name {
    char text[NAME_SIZE]; /* "temperature_celsius", "process.memory_mb", "host.cpu_percent" */
    enum name_kind kind;
    size_t index; /* in its table */
    enum alert_scope scope;
    enum value_type type;
    struct unit unit;
    const char *help;
};

/* Condition of the daemon's history database; zeroed: unknown. */
struct store_facts {
    struct reading failing;      /* 1 while it can't be written */
    struct reading full_seconds; /* until it reaches its size limit */
};

/* What an expression is evaluated on. */
struct subject {
    const struct snapshot *snapshot;
    const struct store_facts *store; /* may be NULL */
    const struct gpu *gpu;           /* NULL: the host alone */
    const struct process *process;   /* NULL: no process */
};

/* All names in order; false after the last. */
bool name_at(size_t position, struct alert_name *ret);
/* Accepts the prefix "gpu." for GPUs and "host." for the host. */
bool name_find(struct str text, struct alert_name *ret);
/* The name that was probably meant; false if none is similar. */
bool name_nearest(struct str text, char ret[NAME_SIZE]);
struct value name_read(const struct alert_name *name, const struct subject *subject);

/* The possible values of a text, in order; NULL after the last, or if any text is. Catches typos like `state == "lsot"`. */
const char *name_word(const struct alert_name *name, size_t position);
const char *scope_name(enum alert_scope scope); /* "host", "gpu", "process" */
