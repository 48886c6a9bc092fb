/* SPDX-License-Identifier: Apache-2.0
 * whirr top: the live view.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/os/place.h"
#include "cli/cli_fleet.h"
#include "cli/command.h"
#include "config/config.h"
#include "tui/setup.h"
#include "tui/theme.h"
#include "tui/top.h"

enum { INTERVAL_MS = 1000, INTERVAL_LEAST_MS = 100, HEIGHT_UNKNOWN = 24 };

static void prefs_place(char *path, size_t size)
{
    const char *config = env_variable("XDG_CONFIG_HOME"), *home = env_variable("HOME");
    path[0] = '\0';
    if (config && path_is_whole(config))
        snprintf(path, size, "%s/whirr/top.toml", config);
    else if (home && path_is_whole(home))
        snprintf(path, size, "%s/.config/whirr/top.toml", home);
    path_normalise(path);
}

/* "120x40" */
static bool read_size(const char *text, struct live_options *o)
{
    struct str rest = str_from(text), width;
    int64_t w, h;
    if (!str_cut(&rest, 'x', &width) || !str_to_i64(width, &w) || !str_to_i64(rest, &h) || w < 20 || w > 500 || h < 6 || h > 300)
        return false;
    o->width = (int)w;
    o->height = (int)h;
    return true;
}

/* COLORTERM announces 16 million colors where the terminal's description knows only 256. */
static bool has_direct_color(void)
{
    const char *term = getenv("TERM"), *colors = getenv("COLORTERM");
    return term && colors && strncmp(term, "xterm", 5) == 0 && (strcmp(colors, "truecolor") == 0 || strcmp(colors, "24bit") == 0);
}

/* A view of all hosts in a database. Their metrics arrive about every 15 s, so asking every second gains nothing. */
static int choose_fleet(struct cli *cli, struct live_options *live)
{
    enum { FLEET_INTERVAL_MS = 5000 };
    const struct options *o = cli->options;
    live->fleet_first = options_has(o, "fleet");
    live->fleet_interval_ms = FLEET_INTERVAL_MS;
    if (!live->fleet_first) { /* a configured fleet connects only when its view is opened */
        bool own = !cli->host && !options_has(o, "source") && !live->record && cli->settings && cli->settings->fleet.url[0];
        live->fleet = own ? cli->settings->fleet.url : NULL;
        return EXIT_FINE;
    }
    if (live->record)
        return cli_usage(cli, "--record takes one host, not --fleet");
    live->fleet = fleet_url(cli);
    if (options_has(o, "interval"))
        live->fleet_interval_ms = MAX_OF(live->interval_ms, (int64_t)MS_PER_S);
    live->interval_ms = INTERVAL_MS;
    return fleet_check_url(cli);
}

static int top_run(struct cli *cli)
{
    const struct options *o = cli->options;
    char prefs[4096];
    struct error err = {0};
    struct top_settings settings = top_defaults;
    struct live_options live = {.interval_ms = INTERVAL_MS,
                                .record = options_value(o, "record", NULL),
                                .prefs = prefs,
                                .allow_signals = options_has(o, "allow-signals"),
                                .read_only = options_has(o, "read-only"),
                                .direct_color = has_direct_color(),
                                .mouse = !options_has(o, "no-mouse"),
                                .width = cli->page.width,
                                .height = HEIGHT_UNKNOWN};
    const char *lines = getenv("LINES"), *size = options_value(o, "size", NULL);
    int64_t number;
    if (options_seconds(o, "interval", &live.interval_ms, &err) < 0)
        return cli_usage(cli, "%s", err.text);
    live.interval_ms = MAX_OF(live.interval_ms, (int64_t)INTERVAL_LEAST_MS);
    if (lines && str_to_i64(str_from(lines), &number) && number >= 6 && number <= 300)
        live.height = (int)number;
    if (size && !read_size(size, &live))
        return cli_usage(cli, "invalid value '%s' for --size; expected WIDTHxHEIGHT, like 120x40", size);
    if (cli->host_count > 1 && (live.record || options_has(o, "once")))
        return cli_usage(cli, "--%s takes one --host", live.record ? "record" : "once");
    if (cli->json)
        return cli_usage(cli, "top draws; for JSON use: whirr status --json, whirr ps --json");
    prefs_place(prefs, sizeof prefs);
    if (!options_has(o, "once")) /* a script gets the same whatever was set on the screen */
        prefs_load(prefs, &settings);
    if (options_has(o, "theme"))
        str_copy(settings.theme, sizeof settings.theme, str_from(options_value(o, "theme", "")));
    if (options_has(o, "sort"))
        str_copy(settings.sort, sizeof settings.sort, str_from(process_sort_key(options_value(o, "sort", ""))));
    int status = choose_fleet(cli, &live);
    if (status != EXIT_FINE)
        return status;
    const char *term = getenv("TERM");
    bool dumb = !cli->terminal && isatty(STDOUT_FILENO) && (!term || !term[0] || strcmp(term, "dumb") == 0);
    return options_has(o, "once") || dumb ? live_once(cli, &settings, &live) : live_run(cli, &settings, &live);
}

static const struct option_spec options[] = {
    {.name = "once", .help = "Print one frame as text"},
    {.name = "interval", .letter = 'd', .argument = "SECONDS", .help = "Time between samples (default: 1)"},
    {.name = "sort",
     .argument = "KEY",
     .values = process_sort_names,
     .any_case = true,
     .help = "Sort processes by a column of the table (default: gpu)"},
    {.name = "theme", .argument = "NAME", .values = theme_names, .help = "Colors: default, blind (color-blind safe), light, mono"},
    {.name = "allow-signals", .help = "Don't ask whether x may signal processes at all; each signal is confirmed"},
    {.name = "read-only", .help = "Forbid signals and nice values"},
    {.name = "record", .argument = "FILE", .complete = COMPLETE_FILE, .help = "Write every sample to this recording"},
    {FLEET_OPTION},
    {.name = "no-mouse", .help = "Leave the mouse to the terminal"},
    {.name = "size", .argument = "WxH", .help = "With --once: the size of the frame (default: the terminal's width, 24 lines)"},
};

/* The list that the key ? shows. */
static void top_manual(struct buf *out)
{
    enum { ABOUT = 9 };
    buf_text(out, "# KEYS\n\n");
    for (size_t i = 0; i < top_help_count; i++) {
        char about[ABOUT + 1];
        AUTO_BUF struct buf keys = BUF(1024);
        str_copy(about, sizeof about, (struct str){top_help[i], ABOUT});
        buf_text(&keys, top_help[i] + ABOUT);
        for (; i + 1 < top_help_count && top_help[i + 1][0] == ' '; i++)
            buf_printf(&keys, "; %s", top_help[i + 1] + ABOUT);
        about[strcspn(about, " ")] = '\0';
        manual_item(out, about, keys.at ? keys.at : "");
    }
}

const struct command command_top = {
    .name = "top",
    .summary = "Show GPUs, processes and what is going on, live",
    .details = "The first line says why. Below are the GPUs with their course over time, then the processes. With a daemon (`whirr "
               "serve`) "
               "the past is there from the first frame: left and right move through it, `g` goes to a time (\"03:10\", \"-2h\"), "
               "`n` comes "
               "back to now. `?` lists all keys.\n\n"
               "Nothing is changed unless a dialog is answered with y; the first time it asks whether processes may be signaled at "
               "all. "
               "W keeps theme, order, columns and window in $XDG_CONFIG_HOME/whirr/top.toml; --once does not read it.",
    OPTIONS(options),
    .examples = {{"whirr top", "GPUs, processes and why, live"},
                 {"whirr --host gpu1 --host gpu2 top", "several hosts; Enter shows one of them"},
                 {"whirr top --fleet http://prometheus:9090", "all hosts, worst first"}},
    .gpus = true,
    .remote = true,
    .manual = top_manual,
    .lacks = "json",
    .run = top_run,
};
