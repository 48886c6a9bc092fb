/* SPDX-License-Identifier: Apache-2.0
 * The report for people, made from its JSON.
 */
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json_reader.h"
#include "base/moment.h"
#include "base/words.h"
#include "format/table/grid.h"
#include "format/table/table.h"

enum { ROWS_OF_ALL = 6, ROWS_OF_ONE = 200, LISTED = 6 };

static double report_number_of(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

static bool has_number(const json_t *object, const char *key)
{
    return json_is_number(json_object_get(object, key));
}

static bool any_number(const json_t *rows, const char *key)
{
    for (size_t i = 0; i < json_array_size(rows); i++)
        if (has_number(json_array_get(rows, i), key))
            return true;
    return false;
}

static void title(struct buf *out, const struct page *page, const char *text)
{
    buf_char(out, '\n');
    page_ink(out, page, INK_STRONG, str_from(text));
    buf_char(out, '\n');
}

static void show_celsius(char text[NUMBER_SIZE], const struct page *page, const json_t *object, const char *key)
{
    show_temperature(text, page, reading_ok(llround(report_number_of(object, key) * 1000)));
}

/* The name of a row. */
static const char *name_of(const json_t *row, bool limits)
{
    const char *kind = json_text(row, "kind"), *name = json_text(row, limits ? "words" : "name");
    if (strcmp(kind, "unattributed") == 0)
        return "(not attributed)";
    if (strcmp(kind, "others") == 0)
        return "(others)";
    return name[0] ? name : limits ? "(not judged)" : "(none)";
}

/* The side of a limit, for people. */
static const char *side_of(const struct page *page, const json_t *row)
{
    static const char *const words[][2] = {{"gpu", "GPU"}, {"link", "link"}, {"host", "host"}, {"others", "other programs"}};
    size_t i = NAME_FIND(words, str_from(json_text(row, "side")));
    return i < ARRAY_LEN(words) ? words[i][1] : page_dash(page);
}

enum figure { COUNT, HOURS, AMOUNT, KWH, MONEY, CO2, PERCENT, RATIO, SIDE };

static void cell(struct grid *g, const struct page *page, const json_t *row, const char *key, enum figure figure)
{
    char text[NUMBER_SIZE], lasted[WORDS_SIZE];
    double value = report_number_of(row, key);
    bool little = value > 0 && value < 0.95; /* "57m" is more telling than 0.95 hours */
    if (figure == SIDE)
        snprintf(text, sizeof text, "%s", side_of(page, row));
    else if (!has_number(row, key))
        snprintf(text, sizeof text, "%s", page_dash(page));
    else if (figure == HOURS && little)
        snprintf(text, sizeof text, "%s", words_duration(llround(value * 3600) * 1000, lasted));
    else if (figure == CO2)
        snprintf(text, sizeof text, value < 1000 ? "%.0f g" : "%.1f kg", value < 1000 ? value : value / 1000);
    else
        snprintf(text, sizeof text,
                 figure == AMOUNT && little                             ? "%.2g"
                 : figure == KWH && value < 10                          ? "%.3f"
                 : figure == MONEY                                      ? "%.2f"
                 : figure == PERCENT                                    ? "%.1f%%"
                 : figure == RATIO && value < 1000                      ? "%.3g"
                 : figure == HOURS || figure == AMOUNT || figure == KWH ? "%.1f"
                                                                        : "%.0f",
                 value);
    grid_add(g, INK_PLAIN, text);
}

/* The columns behind the name. */
static const struct {
    struct grid_column column;
    const char *key;
    enum figure figure;
    const char *where; /* only where a row has a number under this key; NULL: always */
} of_group[] = {
    {{"HOURS", RIGHT, 0}, "hours", HOURS, NULL},
    {{"BUSY", RIGHT, 3}, "busy_hours", HOURS, NULL},
    {{"KWH", RIGHT, 0}, "energy_kwh", KWH, NULL},
    {{"SHARE", RIGHT, 2}, "share_percent", PERCENT, NULL},
    {{"COST", RIGHT, 1}, "cost", MONEY, NULL},
    {{"GIB·H", RIGHT, 4}, "memory_gib_hours", AMOUNT, NULL},
    {{"IDLE GIB·H", RIGHT, 5}, "idle_gib_hours", AMOUNT, NULL},
    {{"PROCESSES", RIGHT, 6}, "processes", COUNT, NULL},
    {{"SIDE", LEFT, 0}, "side", SIDE, NULL}, /* of limits alone */
    {{"TOKENS", RIGHT, 0}, "generated_tokens", COUNT, "generated_tokens"},
    {{"TOKENS/J", RIGHT, 0}, "tokens_per_joule", RATIO, "generated_tokens"},
    {{"J/KTOK", RIGHT, 2}, "joules_per_thousand_tokens", RATIO, "generated_tokens"},
    {{"J/REQUEST", RIGHT, 3}, "joules_per_request", RATIO, "generated_tokens"},
    {{"COST/MTOK", RIGHT, 1}, "cost_per_million_tokens", RATIO, "generated_tokens"},
    {{"PARKED KWH", RIGHT, 1}, "parked_kwh", KWH, "parked_kwh"},
    {{"CO2", RIGHT, 1}, "co2_grams", CO2, "co2_grams"},
};

static void groups(struct buf *out, const struct page *page, const json_t *body, const char *key, const char *what, size_t most)
{
    const bool limits = strcmp(key, "limits") == 0;
    const json_t *rows = json_object_get(body, key);
    struct grid_column columns[ARRAY_LEN(of_group) + 1] = {{what, LEFT, 0}};
    size_t chosen[ARRAY_LEN(of_group) + 1], width = 1, count = json_array_size(rows);
    for (size_t i = 0; i < ARRAY_LEN(of_group); i++)
        if (of_group[i].figure == SIDE ? limits : !of_group[i].where || any_number(rows, of_group[i].where)) {
            chosen[width] = i;
            columns[width++] = of_group[i].column;
        }
    AUTO_GRID struct grid g;
    grid_init(&g, columns, width);
    for (size_t i = 0; i < count; i++) {
        const json_t *row = json_array_get(rows, i);
        bool none = strcmp(json_text(row, "kind"), "unattributed") == 0;
        /* The last row is the unattributed rest, so that the rows add up. */
        if (i >= most && !none)
            continue;
        grid_add(&g, none || !json_text(row, "name")[0] ? INK_FAINT : INK_PLAIN, name_of(row, limits));
        for (size_t k = 1; k < width; k++)
            cell(&g, page, row, of_group[chosen[k]].key, of_group[chosen[k]].figure);
    }
    buf_char(out, '\n');
    grid_write(out, page, &g);
    if (count > most + 1) {
        char text[64];
        snprintf(text, sizeof text, "and %zu more", count - most - 1);
        page_wrap(out, page, INK_FAINT, text, 0, 0);
    }
}

static void cards(struct buf *out, const struct page *page, const json_t *body)
{
    static const struct grid_column columns[] = {{"GPU", RIGHT, 0},  {"NAME", LEFT, 4},     {"HOURS", RIGHT, 0},
                                                 {"BUSY", RIGHT, 0}, {"UTIL", RIGHT, 3},    {"KWH", RIGHT, 0},
                                                 {"COST", RIGHT, 1}, {"HOTTEST", RIGHT, 2}, {"ENERGY FROM", LEFT, 5}};
    const json_t *rows = json_object_get(body, "gpus");
    AUTO_GRID struct grid g;
    grid_init(&g, columns, ARRAY_LEN(columns));
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        char heat[NUMBER_SIZE];
        show_celsius(heat, page, row, "temperature_max_celsius");
        cell(&g, page, row, "gpu_index", COUNT);
        grid_add(&g, INK_PLAIN, json_text(row, "gpu_name"));
        cell(&g, page, row, "hours", HOURS);
        cell(&g, page, row, "busy_hours", HOURS);
        cell(&g, page, row, "utilization_percent", PERCENT);
        cell(&g, page, row, "energy_kwh", KWH);
        cell(&g, page, row, "cost", MONEY);
        grid_add(&g, INK_PLAIN, has_number(row, "temperature_max_celsius") ? heat : page_dash(page));
        grid_add(&g, INK_PLAIN, json_text(row, "energy_from")[0] ? json_text(row, "energy_from") : page_dash(page));
    }
    buf_char(out, '\n');
    grid_write(out, page, &g);
}

static void bullet(struct buf *out, const struct page *page, const char *text)
{
    buf_text(out, page->utf8 ? "  • " : "  - ");
    page_wrap(out, page, INK_PLAIN, text, 4, 4);
}

static void show_time(const json_t *object, const char *key, const struct page *page, char text[MOMENT_TEXT_SIZE])
{
    struct wall at = {0};
    wall_parse(str_from(json_text(object, key)), &at);
    moment_format(at, page->now, text);
}

static void show_times(const json_t *object, const struct page *page, char since[MOMENT_TEXT_SIZE], char until[MOMENT_TEXT_SIZE])
{
    moment_format_span(json_moment(object, "since"), json_moment(object, "until"), page->now, since, until);
}

static void idle_memory(struct buf *out, const struct page *page, const json_t *body)
{
    const json_t *rows = json_object_get(body, "idle_memory");
    for (size_t i = 0; i < json_array_size(rows) && i < LISTED; i++) {
        const json_t *row = json_array_get(rows, i);
        char line[512], since[MOMENT_TEXT_SIZE], until[MOMENT_TEXT_SIZE], held[WORDS_SIZE], lasted[WORDS_SIZE];
        const char *user = json_text(row, "user"), *container = json_text(row, "container");
        if (i == 0)
            title(out, page, "Held without computing");
        show_times(row, page, since, until);
        double hours = report_number_of(row, "hours");
        words_bytes(llround(report_number_of(row, "gib_hours") / (hours > 0 ? hours : 1) * 1073741824), held);
        words_duration(llround(hours * 3600) * 1000, lasted);
        char energy[WORDS_SIZE + 40] = "", drawn[WORDS_SIZE];
        if (has_number(row, "energy_kwh") && report_number_of(row, "energy_kwh") > 0)
            snprintf(energy, sizeof energy, "; idle meanwhile, the GPU drew %s",
                     words_energy(llround(report_number_of(row, "energy_kwh") * 3.6e9), drawn));
        snprintf(line, sizeof line, "%.1f GiB·h on GPU %.0f by %s (pid %.0f%s%s%s%s): %s for %s, %s %s %s%s",
                 report_number_of(row, "gib_hours"), report_number_of(row, "gpu_index"), json_text(row, "short_name"),
                 report_number_of(row, "pid"), user[0] ? ", " : "", user, container[0] ? ", " : "", container, held, lasted, since,
                 page_dash(page), until, energy);
        bullet(out, page, line);
    }
}

static void hot_spells(struct buf *out, const struct page *page, const json_t *body)
{
    const json_t *rows = json_object_get(body, "hot_spells");
    for (size_t i = 0; i < json_array_size(rows) && i < LISTED; i++) {
        const json_t *row = json_array_get(rows, i);
        char line[400], since[MOMENT_TEXT_SIZE], until[MOMENT_TEXT_SIZE], lasted[NUMBER_SIZE], part[NUMBER_SIZE], slowed[64] = "",
                                                                                                                  heading[64];
        const char *process = json_text(row, "process"), *user = json_text(row, "user");
        if (i == 0) {
            show_celsius(part, page, body, "hot_celsius");
            snprintf(heading, sizeof heading, "Longest at %s or more", part);
            title(out, page, heading);
        }
        show_times(row, page, since, until);
        show_age(lasted, page, (int64_t)(report_number_of(row, "duration_seconds") * 1000));
        /* An hour only tells that it was hot at some time. */
        bool coarse = report_number_of(row, "resolution_seconds") >= 3600;
        if (coarse && report_number_of(row, "slowed_percent") > 0) {
            show_age(part, page,
                     (int64_t)(report_number_of(row, "duration_seconds") * 10 * report_number_of(row, "slowed_percent")));
            snprintf(slowed, sizeof slowed, ", throttling for %s of it", part);
        } else if (report_number_of(row, "slowed_percent") > 0) {
            snprintf(slowed, sizeof slowed, ", slowed down for %.0f%% of it", report_number_of(row, "slowed_percent"));
        }
        show_celsius(part, page, row, "temperature_max_celsius");
        snprintf(line, sizeof line, "GPU %.0f %s %s, %s %s %s%s, up to %s%s%s%s%s%s%s", report_number_of(row, "gpu_index"),
                 coarse ? "at some time within" : "for", lasted, since, page_dash(page), until,
                 coarse ? " (only hours are kept of that time)" : "", part, slowed, process[0] ? "; mostly " : "", process,
                 process[0] && user[0] ? " (" : "", process[0] ? user : "", process[0] && user[0] ? ")" : "");
        bullet(out, page, line);
    }
}

static void findings(struct buf *out, const struct page *page, const json_t *body)
{
    const json_t *rows = json_object_get(body, "findings");
    for (size_t i = 0; i < json_array_size(rows) && i < LISTED; i++) {
        const json_t *row = json_array_get(rows, i);
        char line[512], since[MOMENT_TEXT_SIZE], until[MOMENT_TEXT_SIZE], lasted[WORDS_SIZE], often[32] = "";
        if (i == 0)
            title(out, page, "What was found");
        show_times(row, page, since, until);
        if (report_number_of(row, "times") > 1)
            snprintf(often, sizeof often, "%.0f times, ", report_number_of(row, "times"));
        snprintf(line, sizeof line, "%s (%s): %s%s in all, %s %s %s", json_text(row, "headline"), json_text(row, "severity"), often,
                 words_duration(llround(report_number_of(row, "duration_seconds")) * 1000, lasted), since, page_dash(page), until);
        bullet(out, page, line);
    }
}

static void held_by_leases(struct buf *out, const struct page *page, const json_t *body)
{
    const json_t *rows = json_object_get(body, "leases");
    for (size_t i = 0; i < json_array_size(rows) && i < LISTED; i++) {
        const json_t *row = json_array_get(rows, i);
        char line[256], held[WORDS_SIZE], used[WORDS_SIZE];
        if (i == 0)
            title(out, page, "GPUs held by leases");
        words_duration(llround(report_number_of(row, "hours") * 3600) * 1000, held);
        words_duration(llround(report_number_of(row, "used_hours") * 3600) * 1000, used);
        snprintf(line, sizeof line, "%s: %s of GPU time in %.0f %s, used for %s%s", json_text(row, "user"), held,
                 report_number_of(row, "leases"), report_number_of(row, "leases") == 1 ? "lease" : "leases", used,
                 report_number_of(row, "open") > 0 ? " so far as they have ended" : "");
        bullet(out, page, line);
    }
}

static void energy_origin(struct buf *out, const struct page *page, const json_t *body)
{
    const json_t *t = json_object_get(body, "totals");
    double all = report_number_of(t, "energy_joules"), counted = report_number_of(t, "counter_joules"),
           given = report_number_of(t, "attributed_joules");
    char line[400], parked[96] = "";
    if (all <= 0)
        return;
    if (has_number(t, "parked_kwh"))
        snprintf(parked, sizeof parked, ", %.0f%% of all by contexts that were open on a resting GPU",
                 100 * report_number_of(t, "parked_kwh") * 3.6e6 / all);
    snprintf(
        line, sizeof line,
        "Energy: %.0f%% from the GPUs' own counters, %.0f%% integrated from power readings; %.0f%% is explained by processes%s; "
        "the rest is not attributed (idle power, hidden processes, unknown shares, whirr not running).",
        100 * counted / all, 100 - 100 * counted / all, 100 * given / all, parked);
    buf_char(out, '\n');
    page_wrap(out, page, INK_FAINT, line, 0, 0);
}

static void notes(struct buf *out, const struct page *page, const json_t *body)
{
    const json_t *gaps = json_object_get(body, "gaps");
    char line[320], from[MOMENT_TEXT_SIZE];
    energy_origin(out, page, body);
    if (json_text(body, "processes_from")[0]) {
        show_time(body, "processes_from", page, from);
        snprintf(line, sizeof line, "What processes used before %s is no longer kept; the GPUs' energy is.", from);
        page_wrap(out, page, INK_FAINT, line, 0, 0);
    }
    if (json_array_size(gaps)) {
        char missing[WORDS_SIZE];
        snprintf(line, sizeof line, "Of this time %s are not stored: %s%s",
                 words_duration(llround(report_number_of(body, "missing_seconds")) * 1000, missing),
                 json_text(json_array_get(gaps, 0), "text"), json_array_size(gaps) > 1 ? " And others." : "");
        page_wrap(out, page, INK_FAINT, line, 0, 0);
    }
}

/* Many hosts have no models, pods or jobs: omit an empty table. */
static bool has_names(const json_t *rows)
{
    for (size_t i = 0; i < json_array_size(rows); i++)
        if (json_text(json_array_get(rows, i), "name")[0])
            return true;
    return false;
}

int table_report(struct buf *out, const struct page *page, const json_t *body, const char *by)
{
    static const struct {
        const char *by, *key, *title;
        bool seldom;
    } kinds[] = {
        {"user", "users", "USER", false},       {"container", "containers", "CONTAINER", false}, {"pod", "pods", "POD", true},
        {"job", "jobs", "JOB", true},           {"command", "commands", "COMMAND", false},       {"model", "models", "MODEL", true},
        {"limit", "limits", "LIMITED BY", true}};
    char since[MOMENT_TEXT_SIZE], until[MOMENT_TEXT_SIZE], line[200];
    if (!json_is_object(json_object_get(body, "totals")))
        return -EPROTO;
    page_simulated_line(out, page, json_is_true(json_object_get(body, "simulated")));
    show_times(body, page, since, until);
    snprintf(line, sizeof line, "%s %s %s  %s", since, page_dash(page), until, json_text(body, "host"));
    page_wrap(out, page, INK_LOAD, line, 0, 0);
    page_wrap(out, page, INK_STRONG, json_text(body, "answer"), 0, 0);
    if (json_array_size(json_object_get(body, "gpus")) == 0)
        return 0;
    cards(out, page, body);
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (by ? strcmp(by, kinds[i].by) == 0 : !kinds[i].seldom || has_names(json_object_get(body, kinds[i].key)))
            groups(out, page, body, kinds[i].key, kinds[i].title, by ? ROWS_OF_ONE : ROWS_OF_ALL);
    idle_memory(out, page, body);
    hot_spells(out, page, body);
    findings(out, page, body);
    held_by_leases(out, page, body);
    notes(out, page, body);
    return 0;
}
