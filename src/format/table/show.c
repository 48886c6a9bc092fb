/* SPDX-License-Identifier: Apache-2.0
 * Numbers for people: three digits that matter, a unit, and a dash where nothing is known.
 */
#include <stdio.h>

#include "base/cleanup.h"
#include "format/table/page.h"

struct unit {
    const char *name;
    double bytes;
};

static const struct unit units[] = {{"B", 1}, {"KiB", 1024}, {"MiB", 1048576}, {"GiB", 1073741824}, {"TiB", 1099511627776}};

/* The largest unit in which the number is at least 1 (MiB at least where `least` says so). */
static const struct unit *unit_of(double bytes, size_t least)
{
    size_t i = ARRAY_LEN(units) - 1;
    while (i > least && bytes < units[i].bytes)
        i--;
    return &units[i];
}

static void with_unit(char text[NUMBER_SIZE], double bytes, const char *behind, size_t least)
{
    const struct unit *unit = unit_of(bytes, least);
    double value = bytes / unit->bytes;
    bool whole = unit->bytes < units[3].bytes || value >= 100;
    snprintf(text, NUMBER_SIZE, "%.*f %s%s", whole ? 0 : 1, value, unit->name, behind);
}

static void dash(char text[NUMBER_SIZE], const struct page *page)
{
    snprintf(text, NUMBER_SIZE, "%s", page_dash(page));
}

void show_bytes(char text[NUMBER_SIZE], const struct page *page, struct reading bytes)
{
    int64_t value;
    if (reading_get(bytes, &value))
        with_unit(text, (double)value, "", 2);
    else
        dash(text, page);
}

void show_rate(char text[NUMBER_SIZE], const struct page *page, struct reading bytes_per_s)
{
    int64_t value;
    if (reading_get(bytes_per_s, &value))
        with_unit(text, (double)value, "/s", 0);
    else
        dash(text, page);
}

void show_bytes_of(char text[NUMBER_SIZE], const struct page *page, struct reading used, struct reading total)
{
    int64_t part, whole;
    if (!reading_get(total, &whole)) {
        show_bytes(text, page, used);
        return;
    }
    const struct unit *unit = unit_of((double)whole, 2);
    int decimals = unit->bytes < units[3].bytes || (double)whole / unit->bytes >= 1000 ? 0 : 1;
    if (reading_get(used, &part))
        snprintf(text, NUMBER_SIZE, "%.*f/%.*f %s", decimals, (double)part / unit->bytes, decimals, (double)whole / unit->bytes,
                 unit->name);
    else
        snprintf(text, NUMBER_SIZE, "%s/%.*f %s", page_dash(page), decimals, (double)whole / unit->bytes, unit->name);
}

void show_percent(char text[NUMBER_SIZE], const struct page *page, struct reading permille)
{
    int64_t value;
    if (!reading_get(permille, &value))
        dash(text, page);
    else if (value > 0 && value < 5)
        snprintf(text, NUMBER_SIZE, "<1 %%");
    else
        snprintf(text, NUMBER_SIZE, "%lld %%", (long long)((value + 5) / 10));
}

void show_watts(char text[NUMBER_SIZE], const struct page *page, struct reading mw)
{
    int64_t value;
    if (!reading_get(mw, &value))
        dash(text, page);
    else
        snprintf(text, NUMBER_SIZE, value < 9950 ? "%.1f W" : "%.0f W", (double)value / 1000);
}

void show_age(char text[NUMBER_SIZE], const struct page *page, int64_t ms)
{
    long long s = ms / MS_PER_S;
    if (ms < 0)
        dash(text, page);
    else if (s < 60)
        snprintf(text, NUMBER_SIZE, "%llds", s);
    else if (s < 3600)
        snprintf(text, NUMBER_SIZE, "%lldm%02llds", s / 60, s % 60);
    else if (s < 86400)
        snprintf(text, NUMBER_SIZE, "%lldh%02lldm", s / 3600, s / 60 % 60);
    else
        snprintf(text, NUMBER_SIZE, "%lldd%02lldh", s / 86400, s / 3600 % 24);
}
