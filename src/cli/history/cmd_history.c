/* SPDX-License-Identifier: Apache-2.0
 * whirr history: the past as plots with marks of events, as lists, or as data.
 */
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ask/history_source.h"
#include "ask/progress.h"
#include "base/cleanup.h"
#include "base/json_reader.h"
#include "base/moment.h"
#include "base/os/console.h"
#include "base/words.h"
#include "cli/cli_show.h"
#include "format/plot/plot.h"
#include "format/table/grid.h"
#include "model/limit.h"

/* ---- marks of events, and lists ---- */

/* "memory_used_mb" becomes "memory used": the unit is shown beside it. */
static void history_title(const char *metric, char *text, size_t size)
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

enum { MARK_TEXT_SIZE = 256 };

struct history_marks {
    struct plot_mark list[PLOT_MARKS_MAX];
    char texts[PLOT_MARKS_MAX][MARK_TEXT_SIZE];
    size_t count, left_out;
};

struct event_mark {
    const json_t *json;
    double at;
    int grade;
};

static int grade_of(const json_t *event)
{
    const char *severity = json_text(event, "severity");
    return strcmp(severity, "critical") == 0 ? 2 : strcmp(severity, "warning") == 0 ? 1 : 0;
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

/* The most severe events in an answer of /api/history/events, in order of time. */
static void history_marks_read(struct history_marks *marks, struct str answer)
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
        const char *text = json_text(events[i].json, "text");
        marks->list[i] = (struct plot_mark){.at = events[i].at, .ink = inks[events[i].grade], .sign = (char)('a' + i)};
        char who[24] = "";
        if (json_is_integer(gpu) && strncmp(text, "GPU ", 4) != 0) /* findings name the GPU themselves */
            snprintf(who, sizeof who, "GPU %d: ", (int)json_integer_value(gpu));
        snprintf(marks->texts[i], sizeof marks->texts[i], "%s%s", who, text);
    }
}

static void history_marks_legend(struct buf *out, const struct page *page, const struct history_marks *marks, int width,
                                 double until)
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
                        void (*format)(char text[NUMBER_SIZE], const struct page *page, struct reading reading))
{
    const json_t *value = json_object_get(row, key);
    char text[NUMBER_SIZE];
    format(text, page,
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

static int history_show_list(struct buf *out, const struct page *page, bool events, struct str answer, struct error *err)
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

/* ---- curves of an answer ---- */

struct plot_view {
    int width, height;
    bool each; /* one plot per GPU */
    enum plot_style style;
    double since, until;
};

enum { PLOTS_MAX = 256 };

/* One metric of one GPU, host or process. */
struct curve {
    char label[128], title[64], unit[16];
    size_t series;
    double *numbers; /* times, mean, min, max: `count` of each */
    size_t count;
};

struct scene {
    const struct page *page;
    const struct plot_view *view;
    struct curve curves[PLOTS_MAX];
    size_t curve_count, series_count;
    size_t left_out;
    struct history_marks marks;
    double since, until;
};

static double value_at(const json_t *array, size_t i)
{
    const json_t *value = json_array_get(array, i);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

static bool fill_curve(struct curve *c, const json_t *series, const json_t *metric)
{
    static const char *const keys[] = {"mean", "min", "max"};
    const json_t *times = json_object_get(series, "times");
    c->count = json_array_size(times);
    c->numbers = calloc(4 * c->count + 1, sizeof *c->numbers);
    for (size_t i = 0; c->numbers && i < c->count; i++) {
        c->numbers[i] = value_at(times, i);
        for (size_t k = 0; k < ARRAY_LEN(keys); k++)
            c->numbers[(k + 1) * c->count + i] = value_at(json_object_get(metric, keys[k]), i);
    }
    return c->numbers != NULL;
}

static void name_series(const json_t *series, bool many_hosts, char *text, size_t size)
{
    const char *host = json_text(series, "host"), *process = json_text(series, "process");
    json_int_t pid = json_integer_value(json_object_get(series, "pid"));
    int gpu = (int)json_integer_value(json_object_get(series, "gpu_index"));
    char who[64] = "";
    if (process[0])
        snprintf(who, sizeof who, "%s on ", process);
    else if (pid)
        snprintf(who, sizeof who, "process %lld on ", (long long)pid);
    if (strcmp(json_text(series, "of"), "host") == 0)
        snprintf(text, size, "%s", host[0] ? host : "host");
    else
        snprintf(text, size, "%sGPU %d%s%s", who, gpu, many_hosts && host[0] ? " of " : "", many_hosts ? host : "");
}

static int read_series(struct scene *s, const json_t *doc)
{
    const json_t *list = json_object_get(doc, "series");
    s->series_count = json_array_size(list);
    bool many_hosts = false;
    for (size_t i = 1; i < s->series_count; i++)
        many_hosts |=
            !json_equal(json_object_get(json_array_get(list, i), "host"), json_object_get(json_array_get(list, 0), "host"));
    for (size_t i = 0; i < s->series_count; i++) {
        const json_t *series = json_array_get(list, i), *metrics = json_object_get(series, "metrics");
        for (size_t m = 0; m < json_array_size(metrics); m++) {
            const json_t *metric = json_array_get(metrics, m);
            if (s->curve_count == PLOTS_MAX) {
                s->left_out++;
                continue;
            }
            struct curve *c = &s->curves[s->curve_count++];
            *c = (struct curve){.series = i};
            name_series(series, many_hosts, c->label, sizeof c->label);
            history_title(json_text(metric, "name"), c->title, sizeof c->title);
            str_copy(c->unit, sizeof c->unit, str_from(json_text(metric, "unit")));
            if (!fill_curve(c, series, metric))
                return -ENOMEM;
        }
    }
    return 0;
}

/* ---- plots ---- */

static struct plot_line line_of(const struct curve *c, bool labeled)
{
    return (struct plot_line){.label = labeled ? c->label : "",
                              .times = c->numbers,
                              .mean = c->numbers + c->count,
                              .min = c->numbers + 2 * c->count,
                              .max = c->numbers + 3 * c->count,
                              .count = c->count};
}

static struct plot plot_of(const struct scene *s, const struct curve *c)
{
    return (struct plot){.title = c->title,
                         .unit = c->unit,
                         .lines = {line_of(c, false)},
                         .line_count = 1,
                         .since = s->since,
                         .until = s->until,
                         .width = s->view->width,
                         .height = s->view->height,
                         .style = s->view->style,
                         .marks = s->marks.list,
                         .mark_count = s->marks.count};
}

/* Puts the curves of one metric into a single plot if colors can distinguish them. */
static size_t plots_gather(const struct scene *s, struct plot *plots, const char **headings)
{
    bool together = !s->view->each && s->page->color && s->series_count > 1 && s->view->style == PLOT_BRAILLE;
    size_t count = 0;
    for (size_t i = 0; i < s->curve_count; i++) {
        const struct curve *c = &s->curves[i];
        size_t at = count;
        for (size_t k = 0; together && k < count; k++)
            if (strcmp(plots[k].title, c->title) == 0 && strcmp(plots[k].unit, c->unit) == 0 &&
                plots[k].line_count < PLOT_LINES_MAX)
                at = k;
        if (at < count) {
            plots[at].lines[plots[at].line_count++] = line_of(c, true);
            continue;
        }
        plots[count] = plot_of(s, c);
        plots[count].lines[0].label = together ? c->label : "";
        bool first = i == 0 || s->curves[i - 1].series != c->series;
        headings[count++] = !together && first ? c->label : NULL;
    }
    return count;
}

static void write_range(struct buf *out, const struct scene *s, const json_t *doc)
{
    char since[MOMENT_TEXT_SIZE], until[MOMENT_TEXT_SIZE], step[WORDS_SIZE], line[256];
    double seconds = json_number_value(json_object_get(doc, "step_seconds"));
    struct wall now = s->page->now.ms ? s->page->now : (struct wall){(int64_t)(s->until * MS_PER_S)};
    moment_format_span((struct wall){(int64_t)(s->since * MS_PER_S)}, (struct wall){(int64_t)(s->until * MS_PER_S)}, now, since,
                       until);
    words_duration((int64_t)(seconds * MS_PER_S), step);
    snprintf(line, sizeof line, "%s to %s%sa point every %s, from %s", since, until, page_dot(s->page), step,
             json_string_value(json_object_get(doc, "level")));
    AUTO_BUF struct buf fitted = BUF(512);
    int room = s->view->width - (json_is_true(json_object_get(doc, "simulated")) ? 13 : 0);
    page_fit(&fitted, s->page, str_from(line), room);
    page_ink(out, s->page, INK_FAINT, buf_view(&fitted));
    buf_char(out, '\n');
}

/* Writes all plots; returns the width of the axis on the left. */
static int write_plots(struct buf *out, const struct scene *s, struct plot *plots, const char *const *headings, size_t count)
{
    int margin = 0;
    for (size_t i = 0; i < count; i++)
        margin = MAX_OF(margin, plot_margin(&plots[i]));
    for (size_t i = 0; i < count; i++) {
        plots[i].margin = margin;
        plots[i].with_times = i + 1 == count || headings[i + 1];
        if (headings[i] && s->series_count > 1) {
            buf_char(out, '\n');
            page_ink(out, s->page, INK_LABEL, str_from(headings[i]));
            buf_char(out, '\n');
        }
        plot_write(out, s->page, &plots[i]);
    }
    if (s->left_out)
        buf_printf(out, "%zu more plots are left out; name some GPUs or metrics.\n", s->left_out);
    return margin;
}

/* ---- limits of a process ---- */

/* The limit at a moment; LIMIT_UNJUDGED: unknown. */
static enum limit limit_at(const json_t *series, double at, double step)
{
    const json_t *times = json_object_get(series, "times"), *limits = json_object_get(series, "limits");
    enum limit limit = LIMIT_UNJUDGED;
    for (size_t i = 0; i < json_array_size(limits); i++) {
        const char *code = json_string_value(json_array_get(limits, i));
        double since = value_at(times, i);
        if (code && at >= since && at < since + step)
            limit_from_name(code, &limit);
    }
    return limit;
}

/* A band below the plots: a letter per column, and a legend of the limits. */
static void write_limits(struct buf *out, const struct scene *s, const json_t *series, double step, int margin)
{
    char letters[LIMIT_COUNT] = {0}, next = 'A';
    int columns = MAX_OF(s->view->width - margin, 10);
    AUTO_BUF struct buf band = BUF(4096), legend = BUF(4096);
    for (int i = 0; i < columns; i++) {
        enum limit limit = limit_at(series, s->since + (s->until - s->since) * (i + 0.5) / columns, step);
        if (limit && !letters[limit]) {
            letters[limit] = next++;
            buf_printf(&legend, "%s%c %s", legend.len ? ", " : "limited by: ", letters[limit], limit_words(limit));
        }
        buf_char(&band, limit ? letters[limit] : ' ');
    }
    if (next == 'A')
        return;
    page_ink(out, s->page, INK_FAINT, buf_view(&legend));
    buf_printf(out, "\n%*s%s\n", margin, "", buf_view(&band).at);
}

/* Without --since, the plot begins with the first data. */
static void choose_range(struct scene *s)
{
    s->since = s->view->since;
    s->until = s->view->until;
    if (s->since > 0)
        return;
    double first = s->until;
    for (size_t i = 0; i < s->curve_count; i++)
        if (s->curves[i].count)
            first = fmin(first, s->curves[i].numbers[0]);
    s->since = fmin(first, s->until - 1);
}

static int show_scene(struct buf *out, struct scene *s, const json_t *doc, struct str events)
{
    AUTO_FREE struct plot *plots = calloc(PLOTS_MAX, sizeof *plots);
    AUTO_FREE const char **headings = calloc(PLOTS_MAX, sizeof *headings);
    if (!plots || !headings || read_series(s, doc) < 0)
        return -ENOMEM;
    choose_range(s);
    size_t points = 0;
    for (size_t i = 0; i < s->curve_count; i++)
        points += s->curves[i].count;
    if (points == 0) {
        buf_text(out, "Nothing was stored in that time.\n");
        return 0;
    }
    history_marks_read(&s->marks, events);
    if (json_is_true(json_object_get(doc, "simulated"))) {
        page_simulated(out, s->page);
        buf_text(out, "  ");
    }
    write_range(out, s, doc);
    size_t count = plots_gather(s, plots, headings);
    int margin = write_plots(out, s, plots, headings, count);
    for (size_t i = 0; i < s->series_count; i++)
        write_limits(out, s, json_array_get(json_object_get(doc, "series"), i),
                     json_number_value(json_object_get(doc, "step_seconds")), margin);
    history_marks_legend(out, s->page, &s->marks, s->view->width, s->until);
    return 0;
}

static int history_show_plots(struct buf *out, const struct page *page, const struct plot_view *view, struct str answer,
                              struct str events, struct error *err)
{
    AUTO_JSON json_t *doc = json_loadb(answer.at, answer.len, 0, NULL);
    struct scene *s = calloc(1, sizeof *s);
    int rc = !doc ? error_set(err, -EPROTO, "cannot understand the answer") : s ? 0 : error_set(err, -ENOMEM, "out of memory");
    if (rc == 0) {
        s->page = page;
        s->view = view;
        rc = show_scene(out, s, doc, events);
        if (rc < 0)
            error_set(err, rc, "out of memory");
    }
    for (size_t i = 0; s && i < s->curve_count; i++)
        free(s->curves[i].numbers);
    free(s);
    return rc;
}

/* ---- the command ---- */

enum { ANSWER_MAX = 64 << 20, HEIGHT_MAX = 13, HEIGHT_USUAL = 9, WIDTH_MAX = 900, MARKS_READ_MAX = 1000 };

struct history_request {
    const struct cli *cli;
    char metrics[2048];
    size_t points;
};

/* Without these, --csv prints all columns as stored. */
static bool chooses_fields(const struct options *o)
{
    return options_has(o, "fields") || options_has(o, "template");
}

static bool parameter(void *user, const char *key, char *value, size_t size)
{
    const struct history_request *asked = user;
    const struct options *o = asked->cli->options;
    if (strcmp(key, "metric") == 0) {
        str_copy(value, size, str_from(asked->metrics));
        return asked->metrics[0] != '\0';
    }
    if (strcmp(key, "points") == 0 && !options_has(o, "points")) {
        snprintf(value, size, "%zu", asked->points);
        return true;
    }
    if (strcmp(key, "format") == 0) {
        bool lines = options_has(o, "jsonl") || chooses_fields(o);
        str_copy(value, size, str_from(lines ? "jsonl" : options_has(o, "csv") ? "csv" : "json"));
        return true;
    }
    if (strcmp(key, "sort") == 0) {
        str_copy(value, size, str_from("energy"));
        return options_has(o, "processes") && !options_has(o, "csv") && !options_has(o, "jsonl") && !chooses_fields(o);
    }
    return options_parameter(asked->cli->options, key, value, size);
}

static int number_option(const struct cli *cli, const char *name, int64_t min, int64_t max, int *ret, struct error *err)
{
    const char *text = options_value(cli->options, name, NULL);
    int64_t number;
    if (!text)
        return 0;
    if (!str_to_i64(str_from(text), &number) || number < min || number > max)
        return error_set(err, -EINVAL, "'--%s %s' is not a number from %lld to %lld", name, text, (long long)min, (long long)max);
    *ret = (int)number;
    return 0;
}

/* The height at which all plots fit on the terminal; a default without a terminal. */
static int height_for(const struct cli *cli, size_t plots)
{
    int columns = 0, all = 0;
    if (!cli->terminal || !console_size(&columns, &all) || all == 0)
        return HEIGHT_USUAL;
    int rows = (all - 6) / (int)MAX_OF(plots, (size_t)1) - 3;
    return MIN_OF(MAX_OF((rows - 1) | 1, 5), (int)HEIGHT_MAX); /* odd, so that halves and quarters of the axis fall on rows */
}

static enum plot_style style_of(const struct cli *cli)
{
    const char *style = options_value(cli->options, "style", "auto");
    if (strcmp(style, "blocks") == 0 && cli->page.utf8)
        return PLOT_BLOCKS;
    return strcmp(style, "ascii") == 0 || !cli->page.utf8 ? PLOT_ASCII : PLOT_BRAILLE;
}

/* Reads the events of the period. If that fails, the plots have no marks. */
static void ask_events(struct history_source *source, const struct history_question *q, struct buf *out)
{
    struct history_question *events = malloc(sizeof *events);
    struct error err;
    if (!events)
        return;
    *events = *q;
    events->kind = HISTORY_EVENTS;
    events->limit = MARKS_READ_MAX;
    if (strchr(events->gpus, ','))
        events->gpus[0] = '\0';
    if (history_source_get(source, events, out, &err) < 0)
        buf_done(out);
    free(events);
}

static int show_history(const struct cli *cli, struct history_source *source, const struct history_question *q,
                        struct plot_view *view, struct error *err)
{
    AUTO_BUF struct buf answer = BUF(ANSWER_MAX), events = BUF(ANSWER_MAX), out = BUF(ANSWER_MAX);
    struct progress *shown = progress_begin("reading the history");
    int rc = history_source_get(source, q, &answer, err);
    progress_end(shown);
    if (rc < 0)
        return rc;
    if (cli->json)
        return show_text(&answer) == EXIT_FINE ? 0 : -EIO;
    if (q->kind == HISTORY_SERIES) {
        ask_events(source, q, &events);
        rc = history_show_plots(&out, &cli->page, view, buf_view(&answer), buf_view(&events), err);
    } else {
        rc = history_show_list(&out, &cli->page, q->kind == HISTORY_EVENTS, buf_view(&answer), err);
    }
    return rc < 0 ? rc : show_text(&out) == EXIT_FINE ? 0 : -EIO;
}

/* ---- chosen fields: each line of the download is one row ---- */

struct row_reader {
    struct fields *fields;
    struct buf line; /* the incomplete last line of the download */
    struct error err;
};

static int take_line(struct row_reader *r, struct str line)
{
    AUTO_BUF struct buf out = BUF(1 << 20);
    AUTO_JSON json_t *row = json_loadb(line.at, line.len, 0, NULL);
    int rc = row ? fields_row(r->fields, &out, row, &r->err) : error_set(&r->err, -EPROTO, "cannot understand the answer");
    return rc < 0 ? rc : fwrite(buf_view(&out).at, 1, out.len, stdout) == out.len ? 0 : error_set(&r->err, -EPIPE, "cannot write");
}

static int take_piece(void *user, struct str piece)
{
    struct row_reader *r = user;
    buf_str(&r->line, piece);
    struct str rest = buf_view(&r->line), line;
    while (!r->err.code && memchr(rest.at, '\n', rest.len) && str_cut(&rest, '\n', &line))
        take_line(r, line);
    if (r->line.failed)
        error_set(&r->err, -E2BIG, "a row of the answer is too long");
    memmove(r->line.at, rest.at, rest.len);
    r->line.len = rest.len;
    return r->err.code;
}

static int download_fields(struct cli *cli, struct history_source *source, const struct history_question *q, struct error *err)
{
    static const char *const times[] = {
        [HISTORY_SERIES] = "time", [HISTORY_PROCESSES] = "first_seen,last_seen", [HISTORY_EVENTS] = "at"};
    struct row_reader r = {.fields = fields_open(cli, times[q->kind], "", err), .line = BUF(4 << 20)};
    int rc = r.fields ? history_source_download(source, q, take_piece, &r, err) : err->code;
    if (r.err.code) {
        *err = r.err;
        rc = r.err.code;
    }
    fields_close(r.fields);
    buf_done(&r.line);
    return rc;
}

static int answer_history(struct cli *cli, const struct history_question *q, struct plot_view *view, struct error *err)
{
    struct history_source *source = NULL;
    int rc = history_source_open(cli, cli->settings, &source, err);
    if (rc == 0 && chooses_fields(cli->options))
        rc = download_fields(cli, source, q, err);
    else if (rc == 0 && q->format != HISTORY_JSON)
        rc = history_source_download(source, q, history_write_piece, stdout, err);
    else if (rc == 0)
        rc = show_history(cli, source, q, view, err);
    if (rc == 0 && fflush(stdout) != 0)
        rc = error_set(err, errno == EPIPE ? -EPIPE : -EIO, "cannot write: %s", strerror(errno));
    history_source_close(source);
    return rc;
}

static int history_run(struct cli *cli)
{
    const struct options *o = cli->options;
    struct error err = {0};
    AUTO_FREE struct history_question *q = malloc(sizeof *q);
    struct history_request asked = {.cli = cli};
    struct plot_view view = {
        .width = cli->page.width ? cli->page.width : 80, .each = options_has(o, "each"), .style = style_of(cli)};
    if (!q)
        return cli_fail("out of memory");
    if (options_has(o, "source"))
        return cli_usage(cli, "the past comes from the history, not from a source; for another history: --store");
    tzset();
    for (size_t i = 0; i < o->argument_count; i++)
        snprintf(asked.metrics + strlen(asked.metrics), sizeof asked.metrics - strlen(asked.metrics), "%s%s", i ? "," : "",
                 o->arguments[i]);
    enum history_kind kind = options_has(o, "events")      ? HISTORY_EVENTS
                             : options_has(o, "processes") ? HISTORY_PROCESSES
                                                           : HISTORY_SERIES;
    if (number_option(cli, "width", PLOT_WIDTH_LEAST, WIDTH_MAX, &view.width, &err) < 0 ||
        number_option(cli, "height", PLOT_HEIGHT_LEAST, 100, &view.height, &err) < 0)
        return cli_usage(cli, "%s", err.text);
    if (cli->json + options_has(o, "csv") + options_has(o, "jsonl") > 1)
        return cli_usage(cli, "--json, --csv and --jsonl can't be combined");
    int status = fields_check(cli);
    if (status != EXIT_FINE)
        return status;
    if (options_has(o, "jsonl") && chooses_fields(o))
        return cli_usage(cli, "--jsonl can't be combined with --fields or --template");
    /* A character has two columns of dots: one point for each. */
    asked.points = cli->json ? QUESTION_POINTS_DEFAULT : (size_t)MAX_OF(2 * (view.width - 6), 20);
    if (history_question_read(q, kind, parameter, &asked, clock_wall(cli->env.clock), MOMENT_LOCAL, &err) < 0)
        return cli_usage(cli, "%s", err.text);
    view.since = options_has(o, "since") ? (double)q->since_ms / MS_PER_S : 0; /* 0: where the answer begins */
    view.until = (double)q->until_ms / MS_PER_S;
    if (!view.height)
        view.height = height_for(cli, q->metric_count);
    int rc = answer_history(cli, q, &view, &err);
    if (cli->failure_status == EXIT_USAGE) /* an unknown field */
        return cli_usage(cli, "%s", err.text);
    if (rc < 0 && rc != -EPIPE)
        return cli_fail("%s", err.text[0] ? err.text : "cannot show the answer: it is too large, or out of memory");
    return rc == 0 ? EXIT_FINE : EXIT_FAILED;
}

static const char *const styles[] = {"auto", "braille", "blocks", "ascii", NULL};

static const struct option_spec options[] = {
    {.name = "since", .argument = "TIME", .help = "Start: -6h (default), 03:10, yesterday, 2026-11-14T03:10, all"},
    {.name = "until", .argument = "TIME", .help = "End (default: now)"},
    {.name = "step", .argument = "DURATION", .help = "auto (default), a duration like 30s or 1h, or raw for --csv and --jsonl"},
    {.name = "points", .argument = "N", .help = "With --json: points of each series (default: 1000)"},
    {.name = "process", .argument = "NAME|PID", .help = "Show these processes instead of whole GPUs"},
    {.name = "of", .known_as = "host", .argument = "NAME", .help = "Show this host of the history, * for all (default: this one)"},
    {.name = "each", .help = "Draw one plot per GPU instead of one line each"},
    {.name = "width", .argument = "COLUMNS", .help = "Columns to use (default: the terminal's)"},
    {.name = "height", .argument = "ROWS", .help = "Rows per plot (default: whatever fits)"},
    {.name = "style",
     .argument = "STYLE",
     .values = styles,
     .help = "braille (dots), blocks or ascii (default: the best the terminal supports)"},
    {.name = "processes", .help = "List who used the GPUs instead of plots, most energy first"},
    {.name = "events", .help = "List what happened instead of plots"},
    FIELDS_OPTIONS,
    {.name = "jsonl", .help = "Print one JSON object per line; streams any amount"},
    {OPTION_STORE},
};

const struct command command_history = {
    .name = "history",
    .group = HELP_PAST,
    .summary = "Plot the past in the terminal, or print it as JSON or CSV",
    .details =
        "Asks the daemon, or reads the history database directly if none is running. A point is the mean of its step; the faint "
        "band behind a line runs from minimum to maximum. A gap means nothing was stored. Letters below the time axis mark events, "
        "which are listed at the end. Metrics are named as in `whirr status --json` (see `whirr help metrics`); util, vram, power, "
        "temp, fan and clock are short names for the usual ones; host metrics begin with `host.`.",
    .arguments = "[METRIC...]",
    .offers = {{.repeated = true, .complete = COMPLETE_METRIC}},
    .arguments_max = 64,
    OPTIONS(options),
    .examples = {{"whirr history", "the last six hours"},
                 {"whirr history power temp --since -1d --gpu 0", "two metrics of one GPU over a day"},
                 {"whirr history --processes --since 03:10 --until 03:20", "who used the GPUs last night"}},
    .remote = true,
    .run = history_run,
};
