/* SPDX-License-Identifier: Apache-2.0
 * The table of units and their algebra.
 */
#include "alert/expr/name.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/words.h"

enum { POWER_MAX = 4 };
#define KIB 1024.0
#define MIB (KIB * 1024)
#define GIB (MIB * 1024)
#define TIB (GIB * 1024)

/* clang-format off */
#define BYTES    {[UNIT_BYTE] = 1}
#define RATE     {[UNIT_BYTE] = 1, [UNIT_SECOND] = -1}
#define DEGREES  {[UNIT_CELSIUS] = 1}
#define WATTS    {[UNIT_WATT] = 1}
#define JOULES   {[UNIT_WATT] = 1, [UNIT_SECOND] = 1}
#define SECONDS  {[UNIT_SECOND] = 1}
#define HERTZ    {[UNIT_SECOND] = -1}
#define VOLTS    {[UNIT_VOLT] = 1}
#define TURNS    {[UNIT_RPM] = 1}
#define NOTHING  {0}

struct unit_spelling {
    const char *text;
    int8_t power[UNIT_BASES];
    double factor;
};

static const struct unit_spelling written[] = {
    {"B", BYTES, 1}, {"KiB", BYTES, KIB}, {"MiB", BYTES, MIB}, {"GiB", BYTES, GIB}, {"TiB", BYTES, TIB},
    {"kB", BYTES, 1e3}, {"KB", BYTES, 1e3}, {"MB", BYTES, 1e6}, {"GB", BYTES, 1e9}, {"TB", BYTES, 1e12},
    {"B/s", RATE, 1}, {"KiB/s", RATE, KIB}, {"MiB/s", RATE, MIB}, {"GiB/s", RATE, GIB},
    {"kB/s", RATE, 1e3}, {"KB/s", RATE, 1e3}, {"MB/s", RATE, 1e6}, {"GB/s", RATE, 1e9},
    {"C", DEGREES, 1}, {"°C", DEGREES, 1}, {"degC", DEGREES, 1},
    {"W", WATTS, 1}, {"mW", WATTS, 1e-3}, {"kW", WATTS, 1e3},
    {"J", JOULES, 1}, {"kJ", JOULES, 1e3}, {"Wh", JOULES, 3600}, {"kWh", JOULES, 3.6e6},
    {"ms", SECONDS, 1e-3}, {"s", SECONDS, 1}, {"min", SECONDS, 60}, {"m", SECONDS, 60}, {"h", SECONDS, 3600},
    {"d", SECONDS, 86400}, {"w", SECONDS, 604800},
    {"Hz", HERTZ, 1}, {"kHz", HERTZ, 1e3}, {"MHz", HERTZ, 1e6}, {"GHz", HERTZ, 1e9},
    {"V", VOLTS, 1}, {"mV", VOLTS, 1e-3}, {"rpm", TURNS, 1}, {"RPM", TURNS, 1}, {"%", NOTHING, 0.01},
};

/* A longer ending stands before its own suffix. */
static const struct unit_spelling endings[] = {
    {"_bytes_per_second", RATE, 1}, {"_mb_per_second", RATE, MIB}, {"_mb", BYTES, MIB}, {"_gb", BYTES, GIB}, {"_bytes", BYTES, 1},
    {"_celsius", DEGREES, 1}, {"_watts", WATTS, 1}, {"_joules", JOULES, 1}, {"_seconds", SECONDS, 1}, {"_mhz", HERTZ, 1e6},
    {"_volts", VOLTS, 1}, {"_rpm", TURNS, 1}, {"_percent", NOTHING, 0.01},
};
/* clang-format on */

static struct unit from(const struct unit_spelling *s)
{
    struct unit u = {.factor = s->factor};
    memcpy(u.power, s->power, sizeof u.power);
    return u;
}

struct unit unit_of_name(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(endings); i++)
        if (str_ends(str_from(name), endings[i].text))
            return from(&endings[i]);
    return UNIT_COUNT;
}

size_t unit_parse(struct str text, struct unit *ret)
{
    size_t longest = 0;
    for (size_t i = 0; i < ARRAY_LEN(written); i++) {
        size_t len = strlen(written[i].text);
        if (len > longest && str_starts(text, written[i].text)) {
            longest = len;
            *ret = from(&written[i]);
            ret->written = true;
        }
    }
    return longest;
}

static bool same_powers(struct unit a, struct unit b)
{
    return memcmp(a.power, b.power, sizeof a.power) == 0;
}

bool unit_same_kind(struct unit a, struct unit b)
{
    return a.plain || b.plain || same_powers(a, b);
}

bool unit_is_time(struct unit u)
{
    static const int8_t seconds[UNIT_BASES] = SECONDS;
    return memcmp(u.power, seconds, sizeof seconds) == 0;
}

struct unit unit_join(struct unit a, struct unit b, double *scale_a, double *scale_b)
{
    *scale_a = *scale_b = 1;
    if (a.plain)
        return b;
    if (b.plain)
        return a;
    struct unit in = a.written && !b.written ? b : a;
    *scale_a = a.factor / in.factor;
    *scale_b = b.factor / in.factor;
    return in;
}

bool unit_multiply(struct unit a, struct unit b, int sign, struct unit *ret)
{
    struct unit u = {.plain = a.plain && b.plain, .written = (a.plain || a.written) && (b.plain || b.written)};
    for (size_t i = 0; i < UNIT_BASES; i++) {
        int power = a.power[i] + sign * b.power[i];
        if (power > POWER_MAX || power < -POWER_MAX)
            return false;
        u.power[i] = (int8_t)power;
    }
    /* A plain factor keeps the unit: half of some MiB is in MiB. */
    u.factor = sign > 0 ? a.factor * b.factor : a.factor / b.factor;
    if (!(u.factor > 1e-60 && u.factor < 1e60))
        return false;
    *ret = u;
    return true;
}

const char *unit_kind_name(struct unit u)
{
    static const struct {
        int8_t power[UNIT_BASES];
        const char *name;
    } kinds[] = {
        {BYTES, "an amount of memory"}, {RATE, "bytes per second"},    {DEGREES, "a temperature"}, {WATTS, "a power"},
        {JOULES, "an energy"},          {SECONDS, "a time"},           {HERTZ, "a frequency"},     {VOLTS, "a voltage"},
        {TURNS, "a fan speed"},         {NOTHING, "a share or count"},
    };
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (memcmp(u.power, kinds[i].power, sizeof u.power) == 0)
            return kinds[i].name;
    return "a mix of units";
}

/* Rounds to three significant digits; integers stay exact. */
static void number_text(struct buf *out, double number, const char *unit)
{
    double size = fabs(number);
    int digits = size >= 100 || number == floor(number) ? 0 : size >= 10 ? 1 : 2;
    char text[64];
    snprintf(text, sizeof text, "%.*f", digits, number);
    if (digits)
        for (size_t len = strlen(text); text[len - 1] == '0' || text[len - 1] == '.'; len--) {
            bool point = text[len - 1] == '.';
            text[len - 1] = '\0';
            if (point)
                break;
        }
    buf_printf(out, "%s%s%s", text, unit[0] && unit[0] != '%' ? " " : "", unit);
}

void unit_format(struct buf *out, double number, struct unit u)
{
    static const struct {
        int8_t power[UNIT_BASES];
        const char *name;
        double factor;
    } shown[] = {
        {DEGREES, "°C", 1}, {WATTS, "W", 1}, {JOULES, "J", 1}, {HERTZ, "MHz", 1e6}, {VOLTS, "V", 1}, {TURNS, "rpm", 1},
    };
    static const int8_t bytes[UNIT_BASES] = BYTES, rate[UNIT_BASES] = RATE;
    double base = number * u.factor;
    char text[WORDS_SIZE];
    if (memcmp(u.power, bytes, sizeof bytes) == 0) {
        buf_text(out, words_bytes(llround(base), text));
    } else if (memcmp(u.power, rate, sizeof rate) == 0) {
        buf_text(out, words_rate(llround(base), text));
    } else if (unit_is_time(u) && fabs(base) < 1e12) {
        buf_text(out, words_duration(llround(base * 1000), text));
    } else if (u.factor == 0.01 && same_powers(u, UNIT_COUNT)) {
        number_text(out, number, "%");
    } else {
        for (size_t i = 0; i < ARRAY_LEN(shown); i++)
            if (memcmp(u.power, shown[i].power, sizeof u.power) == 0) {
                number_text(out, base / shown[i].factor, shown[i].name);
                return;
            }
        number_text(out, number, "");
    }
}
