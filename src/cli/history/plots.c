/* SPDX-License-Identifier: Apache-2.0
 * Turns the API's documents into plots with marks and a legend.
 */
#include "cli/history/show.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/moment.h"
#include "base/words.h"
#include "format/plot/plot.h"
#include "model/limit.h"

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
    const char *of = json_string_value(json_object_get(series, "of")), *host = json_string_value(json_object_get(series, "host"));
    const char *process = json_string_value(json_object_get(series, "process"));
    json_int_t pid = json_integer_value(json_object_get(series, "pid"));
    int gpu = (int)json_integer_value(json_object_get(series, "gpu_index"));
    char who[64] = "";
    if (process)
        snprintf(who, sizeof who, "%s on ", process);
    else if (pid)
        snprintf(who, sizeof who, "process %lld on ", (long long)pid);
    if (of && strcmp(of, "host") == 0)
        snprintf(text, size, "%s", host ? host : "host");
    else
        snprintf(text, size, "%sGPU %d%s%s", who, gpu, many_hosts && host ? " of " : "", many_hosts && host ? host : "");
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
            const char *name = json_string_value(json_object_get(metric, "name")),
                       *unit = json_string_value(json_object_get(metric, "unit"));
            if (s->curve_count == PLOTS_MAX) {
                s->left_out++;
                continue;
            }
            struct curve *c = &s->curves[s->curve_count++];
            *c = (struct curve){.series = i};
            name_series(series, many_hosts, c->label, sizeof c->label);
            history_title(name ? name : "", c->title, sizeof c->title);
            snprintf(c->unit, sizeof c->unit, "%s", unit ? unit : "");
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

int history_show_plots(struct buf *out, const struct page *page, const struct plot_view *view, struct str answer, struct str events,
                       struct error *err)
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
