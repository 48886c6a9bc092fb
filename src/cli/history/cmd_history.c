/* SPDX-License-Identifier: Apache-2.0
 * whirr history: the past as plots, lists or data.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ask/history_source.h"
#include "ask/progress.h"
#include "base/cleanup.h"
#include "base/os/console.h"
#include "cli/fields.h"
#include "cli/history/show.h"

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

static int show_answer(const struct cli *cli, struct history_source *source, const struct history_question *q,
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
        rc = show_answer(cli, source, q, view, err);
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
    OPTION_STORE,
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
