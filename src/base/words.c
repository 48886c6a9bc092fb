/* SPDX-License-Identifier: Apache-2.0
 * Numbers from and to text, and the nearest name.
 */
#include "base/words.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"

struct size_unit {
    const char *name;
    int64_t size;
};

/* From large to small; the second name of a unit is only parsed. */
static const struct size_unit duration_units[] = {
    {"w", 7 * 86400000LL}, {"d", 86400000}, {"h", 3600000}, {"m", 60000}, {"min", 60000}, {"s", 1000}, {"ms", 1},
};
static const struct size_unit byte_units[] = {
    {"TiB", 1LL << 40}, {"T", 1LL << 40}, {"TB", 1000000000000}, {"GiB", 1LL << 30}, {"G", 1LL << 30}, {"GB", 1000000000},
    {"MiB", 1LL << 20}, {"M", 1LL << 20}, {"MB", 1000000},       {"KiB", 1LL << 10}, {"K", 1LL << 10}, {"kB", 1000},
    {"B", 1},
};

static const struct size_unit *find_unit(const struct size_unit *units, size_t count, struct str name)
{
    for (size_t i = 0; i < count; i++)
        if (strlen(units[i].name) == name.len && strncasecmp(units[i].name, name.at, name.len) == 0)
            return &units[i];
    return NULL;
}

/* "1.5h30m" -> 1.5, "h"; keeps the rest. */
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
        const struct size_unit *u = find_unit(duration_units, ARRAY_LEN(duration_units), unit);
        if (!u || u->size >= previous)
            return false;
        previous = u->size;
        total += number * (double)u->size;
        s = str_trim(s);
    }
    return to_integer(total, ret_ms);
}

void duration_exact(int64_t ms, char text[WORDS_SIZE])
{
    for (size_t i = 0; i < ARRAY_LEN(duration_units) && ms > 0; i++) {
        /* Skip weeks: "90d" reads better. */
        if (i > 0 && ms % duration_units[i].size == 0) {
            snprintf(text, WORDS_SIZE, "%lld%s", (long long)(ms / duration_units[i].size), duration_units[i].name);
            return;
        }
    }
    snprintf(text, WORDS_SIZE, "%lldms", (long long)ms);
    if (ms == 0)
        snprintf(text, WORDS_SIZE, "0s");
}

bool bytes_parse(struct str text, int64_t *ret)
{
    struct str s = str_trim(text), unit;
    double number;
    if (!take_amount(&s, &number, &unit) || s.len)
        return false;
    if (unit.len == 0)
        return number == floor(number) && to_integer(number, ret);
    const struct size_unit *u = find_unit(byte_units, ARRAY_LEN(byte_units), unit);
    return u && to_integer(number * (double)u->size, ret);
}

void bytes_exact(int64_t bytes, char text[WORDS_SIZE])
{
    static const struct size_unit exact[] = {{"TiB", 1LL << 40}, {"GiB", 1LL << 30}, {"MiB", 1LL << 20}, {"KiB", 1LL << 10}};
    for (size_t i = 0; i < ARRAY_LEN(exact) && bytes > 0; i++) {
        if (bytes % exact[i].size == 0) {
            snprintf(text, WORDS_SIZE, "%lld%s", (long long)(bytes / exact[i].size), exact[i].name);
            return;
        }
    }
    snprintf(text, WORDS_SIZE, "%lldB", (long long)bytes);
}

static bool is_of_number(char c)
{
    return (c >= '0' && c <= '9') || c == '.' || c == ',';
}

bool price_parse(struct str text, double *ret, char currency[CURRENCY_SIZE])
{
    struct str s = str_trim(text), before, behind;
    char number[24];
    size_t from = 0, to;
    while (from < s.len && !is_of_number(s.at[from]))
        from++;
    for (to = from; to < s.len && is_of_number(s.at[to]); to++)
        ;
    before = str_trim((struct str){s.at, from});
    behind = str_trim((struct str){s.at + to, s.len - to});
    struct str named = before.len ? before : behind;
    if (to - from >= sizeof number || (before.len && behind.len) || named.len >= CURRENCY_SIZE)
        return false;
    str_copy(number, sizeof number, (struct str){s.at + from, to - from});
    char *comma = strchr(number, ',');
    if (comma)
        *comma = '.';
    for (size_t i = 0; i < named.len; i++) /* a minus isn't a currency */
        if (!((named.at[i] | 0x20) >= 'a' && (named.at[i] | 0x20) <= 'z') && named.at[i] != '$' && !(named.at[i] & 0x80))
            return false;
    if (!str_to_double(str_from(number), ret))
        return false;
    str_copy(currency, CURRENCY_SIZE, named);
    return true;
}

const char *words_person(const char *name)
{
    return name[0] ? name : "somebody";
}

long long words_whole(int64_t value, int64_t unit)
{
    return (value + (value < 0 ? -unit : unit) / 2) / unit;
}

/* The two largest units; the second only if the first is a small number. Truncated, not rounded: never overstate an age. */
const char *words_duration(int64_t ms, char out[WORDS_SIZE])
{
    static const struct {
        const char *name, *below;
        long long seconds, below_seconds, alone_from;
    } units[] = {{"d", "h", 86400, 3600, 10}, {"h", "m", 3600, 60, 24}, {"m", "s", 60, 1, 10}};
    const char *sign = ms < 0 ? "-" : "";
    long long length = llabs((long long)ms), s = length / 1000;
    if (length > 0 && length < 1000)
        snprintf(out, WORDS_SIZE, "%s%lldms", sign, length);
    else if (s < 10 && length / 100 % 10)
        snprintf(out, WORDS_SIZE, "%s%lld.%llds", sign, s, length / 100 % 10);
    else
        snprintf(out, WORDS_SIZE, "%s%llds", sign, s);
    for (size_t i = 0; i < ARRAY_LEN(units) && s >= 60; i++) {
        long long n = s / units[i].seconds, rest = s % units[i].seconds / units[i].below_seconds;
        if (n == 0)
            continue;
        if (n >= units[i].alone_from || rest == 0) /* 28 days and 23 hours are 29 days */
            snprintf(out, WORDS_SIZE, "%s%lld%s", sign, i ? n : (s + 43200) / 86400, units[i].name);
        else
            snprintf(out, WORDS_SIZE, "%s%lld%s %lld%s", sign, n, units[i].name, rest, units[i].below);
        break;
    }
    return out;
}

static const char *bytes_words(int64_t bytes, const char *behind, char out[WORDS_SIZE])
{
    static const char *const names[] = {"KiB", "MiB", "GiB", "TiB"};
    double value = (double)bytes / 1024;
    size_t unit = 0;
    /* 1000 MiB become 1.0 GiB: four digits say no more than two. */
    while ((fabs(value) >= 999.5 || (bytes == 0 && unit == 0)) && unit + 1 < ARRAY_LEN(names)) {
        value /= 1024;
        unit++;
    }
    bool tenths = unit >= 2 || (unit == 1 && fabs(value) < 9.95 && fabs(value - round(value)) >= 0.05);
    if (unit == 0) /* never show something as 0 */
        value = value < 0 ? floor(value) : ceil(value);
    snprintf(out, WORDS_SIZE, "%.*f %s%s", tenths ? 1 : 0, value, names[unit], behind);
    return out;
}

const char *words_bytes(int64_t bytes, char out[WORDS_SIZE])
{
    return bytes_words(bytes, "", out);
}

const char *words_rate(int64_t bytes_per_s, char out[WORDS_SIZE])
{
    return bytes_words(bytes_per_s, "/s", out);
}

const char *words_percent(int64_t permille, char out[WORDS_SIZE])
{
    if (permille > 0 && permille < 5)
        snprintf(out, WORDS_SIZE, "<1%%");
    else
        snprintf(out, WORDS_SIZE, "%lld%%", words_whole(permille, 10));
    return out;
}

const char *words_temperature(int64_t mdegc, char out[WORDS_SIZE])
{
    snprintf(out, WORDS_SIZE, "%lld °C", words_whole(mdegc, 1000));
    return out;
}

const char *words_power(int64_t mw, char out[WORDS_SIZE])
{
    snprintf(out, WORDS_SIZE, mw > 0 && mw < 9950 ? "%.1f W" : "%.0f W", (double)mw / 1000);
    return out;
}

const char *words_energy(int64_t mj, char out[WORDS_SIZE])
{
    double kwh = (double)mj / 3.6e9;
    if (kwh < 0.01)
        snprintf(out, WORDS_SIZE, "%.3g kJ", (double)mj / 1e6);
    else
        snprintf(out, WORDS_SIZE, "%.2f kWh", kwh);
    return out;
}

void nearest_init(struct nearest *n, const char *wanted)
{
    *n = (struct nearest){.wanted = wanted, .distance = SIZE_MAX};
}

/* A third of the letters may be wrong, or one in a short word: "foo" isn't a typo of "pod". Counted in halves, so that a name
 * that contains the typed text ranks after all typos and before all others. */
static size_t farthest(const char *wanted)
{
    size_t len = strlen(wanted);
    return 2 * MAX_OF(len / 3, (size_t)1) + 1;
}

static size_t slips(const char *wanted, const char *candidate)
{
    size_t len = strlen(wanted), other = strlen(candidate), longer = len > other ? len - other : other - len;
    if (2 * longer > farthest(wanted) || (len < 3 && strcmp(wanted, candidate) != 0))
        return SIZE_MAX / 2;
    return 2 * str_distance(wanted, candidate);
}

static size_t distance(const char *wanted, const char *candidate)
{
    size_t len = strlen(wanted), typed = slips(wanted, candidate);
    const char *dot = strchr(candidate, '.');
    if (len >= 2 && strncmp(wanted, candidate, len) == 0) /* a prefix of the name */
        return MIN_OF(typed, (size_t)2);
    if (dot) /* "host." may be omitted */
        typed = MIN_OF(typed, slips(wanted, dot + 1) + 1);
    return len >= 3 && strstr(candidate, wanted) ? MIN_OF(typed, farthest(wanted)) : typed;
}

/* The first words of `candidate`, as many as `wanted` has: "temperature" of "temperature_celsius"; "" if that is all of it. */
static void first_words(const char *wanted, const char *candidate, char first[NEAREST_SIZE])
{
    const char *end = candidate + strcspn(candidate, "_");
    for (; *end && (wanted = strchr(wanted, '_')); wanted++)
        end += 1 + strcspn(end + 1, "_");
    str_copy(first, NEAREST_SIZE, (struct str){candidate, *end ? (size_t)(end - candidate) : 0});
}

void nearest_try(struct nearest *n, const char *candidate)
{
    char first[NEAREST_SIZE];
    size_t d = distance(n->wanted, candidate);
    first_words(n->wanted, candidate, first);
    if (first[0])
        d = MIN_OF(d, slips(n->wanted, first) + 1); /* rank after equally near whole names */
    bool shorter = d == n->distance && str_starts(str_from(candidate), n->wanted) && strlen(candidate) < strlen(n->best);
    if (d < n->distance || shorter) { /* of two completions, prefer the shorter */
        n->distance = d;
        snprintf(n->best, sizeof n->best, "%s", candidate);
    }
}

const char *nearest_found(const struct nearest *n)
{
    return n->distance <= farthest(n->wanted) ? n->best : NULL;
}

const char *nearest_text(const struct nearest *n, char *text, size_t size)
{
    const char *found = nearest_found(n);
    snprintf(text, size, found ? ", did you mean '%s'?" : "%s", found ? found : "");
    return text;
}

const char *nearest_name(const char *wanted, const char *const *names, size_t count)
{
    struct nearest n;
    const char *best = NULL;
    nearest_init(&n, wanted);
    for (size_t i = 0; i < count; i++) {
        nearest_try(&n, names[i]);
        if (strcmp(n.best, names[i]) == 0)
            best = names[i];
    }
    return nearest_found(&n) ? best : NULL;
}
