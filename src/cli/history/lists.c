/* SPDX-License-Identifier: Apache-2.0
 * Marks of events below plots, and lists of events and processes.
 */
#include "cli/history/show.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/json_reader.h"
#include "base/moment.h"
#include "format/plot/plot.h"
#include "format/table/grid.h"

void history_title(const char *metric, char *text, size_t size)
{
    static const char *const ends[] = {
        "_pages_per_second", "_bytes_per_second", "_percent", "_watts", "_celsius", "_mb", "_mhz", "_joules", "_volts", "_seconds"};
    struct str name = str_from(metric);
    for (size_t i = 0; i < ARRAY_LEN(ends); i++)
        if (str_ends(name, ends[i]) && name.len > strlen(ends[i])) {
            name.len -= strlen(ends[i]);
            break;
        }
    str_copy(text, size, name);
    for (char *p = text; *p; p++)
        if (*p == '_')
            *p = ' ';
}

static double time_of(const json_t *value)
{
    struct wall at;
    const char *text = json_string_value(value);
    return text && wall_parse(str_from(text), &at) ? (double)at.ms / MS_PER_S : NAN;
}

/* ---- marks ---- */

struct event_mark {
    const json_t *json;
    double at;
    int grade;
};

static int grade_of(const json_t *event)
{
    const char *severity = json_string_value(json_object_get(event, "severity"));
    return !severity ? 0 : strcmp(severity, "critical") == 0 ? 2 : strcmp(severity, "warning") == 0 ? 1 : 0;
}

static int worst_first(const void *a, const void *b)
{
    const struct event_mark *left = a, *right = b;
    if (left->grade != right->grade)
        return right->grade - left->grade;
    return (left->at < right->at) - (left->at > right->at);
}

static int oldest_first(const void *a, const void *b)
{
    const struct event_mark *left = a, *right = b;
    return (left->at > right->at) - (left->at < right->at);
}

void history_marks_read(struct history_marks *marks, struct str answer)
{
    static const enum ink inks[] = {INK_STRONG, INK_WARN, INK_BAD};
    AUTO_JSON json_t *doc = answer.len ? json_loadb(answer.at, answer.len, 0, NULL) : NULL;
    const json_t *list = json_object_get(doc, "events");
    size_t count = json_array_size(list);
    AUTO_FREE struct event_mark *events = calloc(count + 1, sizeof *events);
    *marks = (struct history_marks){0};
    for (size_t i = 0; events && i < count; i++) {
        const json_t *event = json_array_get(list, i);
        events[i] = (struct event_mark){event, time_of(json_object_get(event, "at")), grade_of(event)};
    }
    if (events && count) {
        qsort(events, count, sizeof *events, worst_first);
        marks->count = MIN_OF(count, (size_t)PLOT_MARKS_MAX);
        marks->left_out = count - marks->count;
        qsort(events, marks->count, sizeof *events, oldest_first);
    }
    for (size_t i = 0; i < marks->count; i++) {
        const json_t *gpu = json_object_get(events[i].json, "gpu_index");
        const char *text = json_string_value(json_object_get(events[i].json, "text"));
        marks->list[i] = (struct plot_mark){.at = events[i].at, .ink = inks[events[i].grade], .sign = (char)('a' + i)};
        char who[24] = "";
        if (json_is_integer(gpu) && !(text && strncmp(text, "GPU ", 4) == 0)) /* findings name the GPU themselves */
            snprintf(who, sizeof who, "GPU %d: ", (int)json_integer_value(gpu));
        snprintf(marks->texts[i], sizeof marks->texts[i], "%s%s", who, text ? text : "");
    }
}

void history_marks_legend(struct buf *out, const struct page *page, const struct history_marks *marks, int width, double until)
{
    struct wall now = {(int64_t)(until * MS_PER_S)};
    for (size_t i = 0; i < marks->count; i++) {
        char when[MOMENT_TEXT_SIZE];
        AUTO_BUF struct buf text = BUF(1024);
        moment_format((struct wall){(int64_t)(marks->list[i].at * MS_PER_S)}, now, when);
        page_ink(out, page, marks->list[i].ink, (struct str){&marks->list[i].sign, 1});
        buf_printf(out, "  %s  ", when);
        page_fit(&text, page, str_from(marks->texts[i]), MAX_OF(width - 5 - (int)strlen(when), 10));
        buf_printf(out, "%s\n", buf_view(&text).at);
    }
    if (marks->left_out)
        buf_printf(out, "and %zu more events: `whirr history --events`\n", marks->left_out);
}

/* ---- lists ---- */

static void add_number(struct grid *g, const struct page *page, const json_t *row, const char *key)
{
    const json_t *value = json_object_get(row, key);
    char text[48];
    snprintf(text, sizeof text, "%.0f", json_number_value(value));
    grid_add(g, INK_PLAIN, json_is_number(value) ? text : page_dash(page));
}

/* Adds a number in the unit that fits its size. */
static void add_reading(struct grid *g, const struct page *page, const json_t *row, const char *key, double scale,
                        void (*show)(char text[NUMBER_SIZE], const struct page *page, struct reading reading))
{
    const json_t *value = json_object_get(row, key);
    char text[NUMBER_SIZE];
    show(text, page,
         json_is_number(value) ? reading_ok(llround(json_number_value(value) * scale)) : reading_absent(READING_UNREAD));
    grid_add(g, INK_PLAIN, text);
}

static void add_time(struct grid *g, const struct page *page, const json_t *row, const char *key, struct wall now)
{
    char text[MOMENT_TEXT_SIZE];
    double at = time_of(json_object_get(row, key));
    if (!isnan(at))
        moment_format((struct wall){(int64_t)(at * MS_PER_S)}, now, text);
    grid_add(g, INK_PLAIN, isnan(at) ? page_dash(page) : text);
}

static void add_text(struct grid *g, const struct page *page, enum ink ink, const char *text)
{
    grid_add(g, ink, text[0] ? text : page_dash(page));
}

/* Adds the limit that applied longest, with its share if there were several. */
static void add_limit(struct grid *g, const struct page *page, const json_t *row)
{
    const json_t *limits = json_object_get(row, "limits"), *first = json_array_get(limits, 0);
    char text[96];
    snprintf(text, sizeof text, json_array_size(limits) > 1 ? "%s %.0f%%" : "%s", json_text(first, "words"),
             json_number_value(json_object_get(first, "share_percent")));
    add_text(g, page, INK_PLAIN, text);
}

static void add_process_row(struct grid *g, const struct page *page, const json_t *row, struct wall now)
{
    add_number(g, page, row, "gpu_index");
    add_number(g, page, row, "pid");
    add_text(g, page, INK_PLAIN, json_text(row, "user"));
    add_text(g, page, INK_STRONG, json_text(row, "short_name"));
    add_time(g, page, row, "first_seen", now);
    if (json_is_false(json_object_get(row, "ended")))
        grid_add(g, INK_GOOD, "running");
    else
        add_time(g, page, row, "last_seen", now);
    add_reading(g, page, row, "memory_peak_mb", 1048576, show_bytes);
    add_reading(g, page, row, "memory_mean_mb", 1048576, show_bytes);
    add_reading(g, page, row, "utilization_mean_percent", 10, show_percent);
    add_reading(g, page, row, "energy_joules", 1000, show_energy);
    add_limit(g, page, row);
    add_text(g, page, INK_PLAIN, json_text(row, "container"));
    add_text(g, page, INK_PLAIN, json_text(row, "command"));
}

/* Adds the energy that no process explains, so that the column adds up. */
static void add_remainder(struct grid *g, const struct page *page, const json_t *row)
{
    add_number(g, page, row, "gpu_index");
    add_text(g, page, INK_PLAIN, "");
    add_text(g, page, INK_PLAIN, "");
    add_text(g, page, INK_FAINT, "(not attributed)");
    for (int i = 0; i < 5; i++)
        add_text(g, page, INK_PLAIN, "");
    add_reading(g, page, row, "energy_joules", 1000, show_energy);
    for (int i = 0; i < 3; i++)
        add_text(g, page, INK_PLAIN, "");
}

/* Adds the end of an event; only findings have a duration. */
static void add_end(struct grid *g, const struct page *page, const json_t *row, struct wall now)
{
    const json_t *data = json_object_get(row, "data"), *lasted = json_object_get(data, "duration_seconds");
    double end = time_of(json_object_get(row, "at")) + json_number_value(lasted);
    char text[MOMENT_TEXT_SIZE];
    if (!json_is_number(lasted) || isnan(end)) {
        grid_add(g, INK_PLAIN, page_dash(page));
    } else if (json_is_false(json_object_get(data, "ended"))) {
        grid_add(g, INK_PLAIN, "ongoing");
    } else {
        moment_format((struct wall){(int64_t)(end * MS_PER_S)}, now, text);
        grid_add(g, INK_PLAIN, text);
    }
}

static void add_event(struct grid *g, const struct page *page, const json_t *row, struct wall now)
{
    int grade = grade_of(row);
    add_time(g, page, row, "at", now);
    add_end(g, page, row, now);
    add_number(g, page, row, "gpu_index");
    add_text(g, page, INK_PLAIN, json_text(row, "kind"));
    add_text(g, page, grade == 2 ? INK_BAD : grade == 1 ? INK_WARN : INK_PLAIN, json_text(row, "severity"));
    add_text(g, page, INK_PLAIN, json_text(row, "text"));
}

int history_show_list(struct buf *out, const struct page *page, bool events, struct str answer, struct error *err)
{
    static const struct grid_column process_columns[] = {
        {"GPU", RIGHT, 0},       {"PID", RIGHT, 0},      {"USER", LEFT, 1},    {"NAME", LEFT, 0},  {"FROM", LEFT, 2},
        {"TO", LEFT, 2},         {"PEAK", RIGHT, 0},     {"MEAN", RIGHT, 3},   {"UTIL", RIGHT, 1}, {"ENERGY", RIGHT, 0},
        {"LIMITED BY", LEFT, 3}, {"CONTAINER", LEFT, 5}, {"COMMAND", LEFT, 4},
    };
    static const struct grid_column event_columns[] = {{"FROM", LEFT, 0}, {"TO", LEFT, 2},       {"GPU", RIGHT, 0},
                                                       {"KIND", LEFT, 0}, {"SEVERITY", LEFT, 1}, {"WHAT", LEFT, 0}};
    AUTO_JSON json_t *doc = json_loadb(answer.at, answer.len, 0, NULL);
    if (!doc)
        return error_set(err, -EPROTO, "cannot understand the answer");
    const json_t *rows = json_object_get(doc, events ? "events" : "processes");
    page_simulated_line(out, page, json_is_true(json_object_get(doc, "simulated")));
    double until = time_of(json_object_get(doc, "until"));
    struct wall now = {isnan(until) ? 0 : (int64_t)(until * MS_PER_S)};
    AUTO_GRID struct grid g;
    if (events)
        grid_init(&g, event_columns, ARRAY_LEN(event_columns));
    else
        grid_init(&g, process_columns, ARRAY_LEN(process_columns));
    for (size_t i = 0; i < json_array_size(rows); i++) {
        if (events)
            add_event(&g, page, json_array_get(rows, i), now);
        else
            add_process_row(&g, page, json_array_get(rows, i), now);
    }
    const json_t *rest = json_object_get(doc, "not_attributed");
    for (size_t i = 0; i < json_array_size(rest) && json_array_size(rows); i++)
        add_remainder(&g, page, json_array_get(rest, i));
    if (json_array_size(rows) == 0)
        buf_text(out, events ? "No events in that time.\n" : "No process used the GPUs in that time.\n");
    else
        grid_write(out, page, &g);
    if (json_is_string(json_object_get(doc, "next_cursor")))
        buf_text(out, "There is more; for all of it: --csv or --jsonl\n");
    return 0;
}
