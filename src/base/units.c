/* SPDX-License-Identifier: Apache-2.0
 * Durations and amounts of memory, from and to text.
 */
#include "base/units.h"

#include <math.h>
#include <stdio.h>

#include "base/cleanup.h"

struct unit {
    const char *name;
    int64_t size;
};

/* From large to small; the second name of a size is only read. */
static const struct unit duration_units[] = {
    {"w", 7 * 86400000LL}, {"d", 86400000}, {"h", 3600000}, {"m", 60000}, {"min", 60000}, {"s", 1000}, {"ms", 1},
};
static const struct unit byte_units[] = {
    {"TiB", 1LL << 40}, {"T", 1LL << 40}, {"TB", 1000000000000}, {"GiB", 1LL << 30}, {"G", 1LL << 30}, {"GB", 1000000000},
    {"MiB", 1LL << 20}, {"M", 1LL << 20}, {"MB", 1000000},       {"KiB", 1LL << 10}, {"K", 1LL << 10}, {"kB", 1000},
    {"B", 1},
};

static const struct unit *find_unit(const struct unit *units, size_t count, struct str name)
{
    for (size_t i = 0; i < count; i++)
        if (strlen(units[i].name) == name.len && strncasecmp(units[i].name, name.at, name.len) == 0)
            return &units[i];
    return NULL;
}

/* "1.5h30m" -> 1.5, "h"; the rest stays. */
static bool take_amount(struct str *s, double *number, struct str *unit)
{
    size_t digits = 0;
    while (digits < s->len && ((s->at[digits] >= '0' && s->at[digits] <= '9') || s->at[digits] == '.'))
        digits++;
    if (!str_to_double((struct str){s->at, digits}, number))
        return false;
    *s = (struct str){s->at + digits, s->len - digits};
    while (s->len && s->at[0] == ' ')
        *s = (struct str){s->at + 1, s->len - 1};
    size_t letters = 0;
    while (letters < s->len && ((s->at[letters] | 0x20) >= 'a' && (s->at[letters] | 0x20) <= 'z'))
        letters++;
    *unit = (struct str){s->at, letters};
    *s = (struct str){s->at + letters, s->len - letters};
    return true;
}

static bool to_integer(double value, int64_t *ret)
{
    if (!(value >= 0) || value > 9.0e18)
        return false;
    *ret = (int64_t)llround(value);
    return true;
}

bool duration_parse(struct str text, int64_t *ret_ms)
{
    struct str s = str_trim(text), unit;
    double total = 0, number;
    int64_t previous = INT64_MAX;
    if (str_is(s, "0")) {
        *ret_ms = 0;
        return true;
    }
    if (s.len == 0)
        return false;
    while (s.len) {
        if (!take_amount(&s, &number, &unit))
            return false;
        const struct unit *u = find_unit(duration_units, ARRAY_LEN(duration_units), unit);
        if (!u || u->size >= previous)
            return false;
        previous = u->size;
        total += number * (double)u->size;
        s = str_trim(s);
    }
    return to_integer(total, ret_ms);
}

void duration_format(int64_t ms, char text[UNITS_TEXT_SIZE])
{
    for (size_t i = 0; i < ARRAY_LEN(duration_units) && ms > 0; i++) {
        /* Weeks read worse than "90d". */
        if (i > 0 && ms % duration_units[i].size == 0) {
            snprintf(text, UNITS_TEXT_SIZE, "%lld%s", (long long)(ms / duration_units[i].size), duration_units[i].name);
            return;
        }
    }
    snprintf(text, UNITS_TEXT_SIZE, "%lldms", (long long)ms);
    if (ms == 0)
        snprintf(text, UNITS_TEXT_SIZE, "0s");
}

bool bytes_parse(struct str text, int64_t *ret)
{
    struct str s = str_trim(text), unit;
    double number;
    if (!take_amount(&s, &number, &unit) || s.len)
        return false;
    if (unit.len == 0)
        return number == floor(number) && to_integer(number, ret);
    const struct unit *u = find_unit(byte_units, ARRAY_LEN(byte_units), unit);
    return u && to_integer(number * (double)u->size, ret);
}

void bytes_format(int64_t bytes, char text[UNITS_TEXT_SIZE])
{
    static const struct unit exact[] = {{"TiB", 1LL << 40}, {"GiB", 1LL << 30}, {"MiB", 1LL << 20}, {"KiB", 1LL << 10}};
    for (size_t i = 0; i < ARRAY_LEN(exact) && bytes > 0; i++) {
        if (bytes % exact[i].size == 0) {
            snprintf(text, UNITS_TEXT_SIZE, "%lld%s", (long long)(bytes / exact[i].size), exact[i].name);
            return;
        }
    }
    snprintf(text, UNITS_TEXT_SIZE, "%lldB", (long long)bytes);
}
