/* SPDX-License-Identifier: Apache-2.0
 * whirr help, and --help of all commands on one screen: usage, three examples, the command's own options. The common options
 * have a page of their own.
 */
#include <stdio.h>

#include "base/cleanup.h"
#include "base/words.h"
#include "cli/command.h"
#include "model/metric.h"

/* ---- of a command ---- */

static void title(struct buf *out, const struct page *page, const char *text)
{
    buf_char(out, '\n');
    page_wrap(out, page, INK_STRONG, text, 0, 0);
}

static void two_columns(struct buf *out, const struct page *page, enum ink ink, const char *left, const char *right, int width)
{
    int used = width_of(left);
    buf_text(out, "  ");
    page_cell(out, page, ink, LEFT, left, MAX_OF(used, width));
    if (used > width) {
        buf_printf(out, "\n%*s", width + 2, "");
    }
    buf_text(out, "  ");
    page_wrap(out, page, INK_PLAIN, right, width + 4, width + 4);
}

static void option_words(char *text, size_t size, const struct option_spec *spec)
{
    char letter[8] = "";
    if (spec->letter)
        snprintf(letter, sizeof letter, "-%c, ", spec->letter);
    if (!spec->argument)
        snprintf(text, size, "%s--%s", letter, spec->name);
    else if (spec->optional)
        snprintf(text, size, "%s--%s[=%s]", letter, spec->name, spec->argument);
    else
        snprintf(text, size, "%s--%s %s", letter, spec->name, spec->argument);
}

static void option_list(struct buf *out, const struct page *page, const struct option_spec *specs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char words[96];
        if (specs[i].hidden)
            continue;
        option_words(words, sizeof words, &specs[i]);
        two_columns(out, page, INK_PLAIN, words, specs[i].help, 22);
    }
}

static void paragraph(struct buf *out, const struct page *page, const char *text)
{
    buf_char(out, '\n');
    page_wrap(out, page, INK_PLAIN, text, 0, 0);
}

/* The commands that are placed in this one: "set power". */
static void inner_list(struct buf *out, const struct page *page, const struct command *command)
{
    size_t length = strlen(command->name);
    bool any = false;
    for (size_t i = 0; i < command_count; i++) {
        const struct command *c = command_table[i];
        if (!c->place || strncmp(c->place, command->name, length) != 0 || c->place[length] != ' ' || c->place[length + 1] == '-')
            continue;
        if (!any)
            title(out, page, "Subcommands");
        any = true;
        two_columns(out, page, INK_STRONG, c->place + length + 1, c->summary, 11);
    }
}

void help_command(struct buf *out, const struct page *page, const struct command *command, bool full)
{
    char line[256];
    snprintf(line, sizeof line, "%s.", command->summary);
    page_wrap(out, page, INK_PLAIN, line, 0, 0);
    snprintf(line, sizeof line, "Usage: whirr %s [OPTIONS]%s%s", command_shown_name(command), command->arguments ? " " : "",
             command->arguments ? command->arguments : "");
    paragraph(out, page, line);
    if (command->examples[0].line)
        title(out, page, "Examples");
    for (size_t i = 0; i < EXAMPLES && command->examples[i].line; i++)
        two_columns(out, page, INK_MEMORY, command->examples[i].line, command->examples[i].what, 32);
    if (full && command->details)
        paragraph(out, page, command->details);
    inner_list(out, page, command);
    if (command->option_count)
        title(out, page, "Options");
    option_list(out, page, command->options, command->option_count);
    snprintf(line, sizeof line, "Exit status: %s", command->exits ? command->exits : COMMAND_EXITS);
    paragraph(out, page, line);
    snprintf(line, sizeof line, "More: `whirr %s --help -v`, `whirr help options`", command_shown_name(command));
    page_wrap(out, page, INK_FAINT, command->details && !full ? line : "More: `whirr help options`", 0, 0);
}

/* What people come for, on one screen of 24 lines. A row is shown if its command is part of this program. */
static const struct {
    const char *command, *line, *what, *more;
} come_for[] = {
    {"status", "whirr", "all GPUs at a glance", "no GPU? whirr --source sim"},
    {"why", "whirr why", "why is it loud, hot or slow?", "whirr why train.py, --at 03:10"},
    {"do", "whirr do 1", "do what the answer advises", "whirr try 1, whirr undo 1"},
    {"top", "whirr top", "live, with processes and the past", NULL},
    {"ps", "whirr ps", "who uses it: memory, watts, what limits each", NULL},
    {"fit", "whirr fit 70B", "will it fit, and where?", "whirr fit 24GiB, model.gguf"},
    {"run", "whirr run -- CMD", "on a free GPU with --gpus 1", "whirr wait, reserve, lease"},
    {"free", "whirr free", "free the GPU, say for a game; models come back", NULL},
    {"set", "whirr set", "quiet, power, clocks, fan: for a time, then back", NULL},
    {"check", "whirr check", "test a GPU: memory, speed, link", NULL},
    {"history", "whirr history", "plots", "whirr report: energy, cost"},
    {"health", "whirr health", "the state of each GPU, for people and schedulers", NULL},
    {"alert", "whirr alert", "alerts, and silences", "whirr notify: chat, mail"},
    {"serve", "whirr serve", "the daemon: page, API, metrics, history", NULL},
    {"setup", "whirr setup", "five questions, and it runs as a service", NULL},
    {"doctor", "whirr doctor", "what whirr can't see, and how to fix it", NULL},
    {"status", "whirr --host X", "another host, with any command: whirr --host X why", NULL},
};

void help_overview(struct buf *out, const struct page *page)
{
    enum { LEFT_WIDTH = 17, MIDDLE_WIDTH = 29 };
    page_wrap(out, page, INK_PLAIN, "whirr shows what your GPUs are doing, why they're loud or slow, and what to do.", 0, 0);
    buf_char(out, '\n');
    for (size_t i = 0; i < ARRAY_LEN(come_for); i++) {
        if (!command_find(come_for[i].command))
            continue;
        buf_text(out, "  ");
        page_cell(out, page, INK_MEMORY, LEFT, come_for[i].line, LEFT_WIDTH);
        page_cell(out, page, INK_PLAIN, LEFT, come_for[i].what, come_for[i].more ? MIDDLE_WIDTH : 0);
        if (come_for[i].more) {
            buf_text(out, "  ");
            page_cell(out, page, INK_FAINT, LEFT, come_for[i].more, 0);
        }
        buf_char(out, '\n');
    }
    paragraph(out, page, "More: `whirr COMMAND --help`, `whirr help all`, `whirr help options`");
}

static void help_all(struct buf *out, const struct page *page)
{
    page_wrap(out, page, INK_PLAIN, "Usage: whirr [COMMAND] [OPTIONS]", 0, 0);
    for (int group = 0; group < HELP_COUNT; group++) {
        title(out, page, command_groups[group]);
        for (size_t i = 0; i < command_count; i++)
            if (!command_table[i]->hidden && (int)command_table[i]->group == group)
                two_columns(out, page, INK_STRONG, command_table[i]->name, command_table[i]->summary, 11);
    }
    paragraph(out, page, "More: `whirr COMMAND --help`, `whirr help options`");
}

/* Lists the commands without an option: "--json is not for run, record, ..." */
static void list_without(struct buf *out, const struct page *page, const char *option)
{
    char line[512];
    int used = snprintf(line, sizeof line, "--%s is not for", option);
    for (size_t i = 0, count = 0; i < command_count; i++)
        if (!command_table[i]->hidden && command_lacks(command_table[i], option) && used < (int)sizeof line)
            used += snprintf(line + used, sizeof line - (size_t)used, "%s %s", count++ ? "," : "", command_table[i]->name);
    page_wrap(out, page, INK_PLAIN, line, 0, 0);
}

static void help_options(struct buf *out, const struct page *page)
{
    page_wrap(out, page, INK_PLAIN, "Commands accept these options, before or after their name.", 0, 0);
    title(out, page, "Options");
    option_list(out, page, global_options.specs, global_options.count);
    buf_char(out, '\n');
    list_without(out, page, "json");
    list_without(out, page, "gpu");
    paragraph(out, page, "Exit status: " COMMAND_EXITS);
}

/* ---- metrics: each with its names and meaning ---- */

static void item(struct buf *out, const struct page *page, const char *key, const char *prometheus, const char *help)
{
    buf_text(out, "  ");
    page_cell(out, page, INK_STRONG, LEFT, key, width_of(key));
    if (prometheus[0]) {
        buf_text(out, "  ");
        page_ink(out, page, INK_FAINT, str_from(prometheus));
    }
    buf_text(out, "\n      ");
    page_wrap(out, page, INK_PLAIN, help, 6, 6);
}

static void heading(struct buf *out, const struct page *page, const char *text)
{
    page_wrap(out, page, INK_STRONG, text, 0, 0);
}

static void help_metrics(struct buf *out, const struct page *page)
{
    heading(out, page, "Metrics of a GPU: key in JSON, and name in Prometheus");
    for (size_t i = 0; i < METRIC_COUNT; i++)
        item(out, page, metric_table[i].json, metric_table[i].prometheus, metric_table[i].help);
    buf_char(out, '\n');
    heading(out, page, "Properties of a GPU");
    for (size_t i = 0; i < PROPERTY_COUNT; i++)
        item(out, page, property_table[i].json, "", property_table[i].help);
    buf_char(out, '\n');
    heading(out, page, "Metrics of a process on a GPU");
    for (size_t i = 0; i < PROCESS_METRIC_COUNT; i++)
        item(out, page, process_metric_table[i].json, "", process_metric_table[i].help);
    buf_char(out, '\n');
    heading(out, page, "Metrics of the host, host.NAME in alert rules");
    for (size_t i = 0; i < HOST_METRIC_COUNT; i++)
        item(out, page, host_metric_table[i].json, host_metric_table[i].prometheus, host_metric_table[i].help);
}

/* ---- the command ---- */

static int run_help(struct cli *cli)
{
    static const char *const topics[] = {"all", "metrics", "options"};
    static void (*const write[])(struct buf * out, const struct page *page) = {help_all, help_metrics, help_options};
    AUTO_BUF struct buf out = BUF(1024 * 1024);
    const char *name = cli->options->argument_count ? cli->options->arguments[0] : NULL;
    for (size_t i = 0; name && i < ARRAY_LEN(topics); i++)
        if (strcmp(name, topics[i]) == 0) {
            write[i](&out, &cli->page);
            return show_text(&out);
        }
    const char *words[] = {name, cli->options->argument_count > 1 ? cli->options->arguments[1] : NULL, NULL}, *inner = NULL;
    int count = words[1] ? 2 : 1;
    const struct command *command = name ? command_find(name) : NULL;
    if (command)
        command = command_inner(command, words, &count, &inner);
    if (words[1] && !inner)
        return cli_usage(cli, "'%s' has no help of its own", words[1]);
    if (name && !command)
        return nearest_name(name, topics, ARRAY_LEN(topics)) ? cli_unknown(cli, "topic", name, topics, ARRAY_LEN(topics))
                                                             : command_unknown(name);
    if (options_has(cli->options, "scdoc")) {
        if (command)
            manual_command(&out, command);
        else
            manual_overview(&out);
    } else if (command)
        help_command(&out, &cli->page, command, options_has(cli->options, "verbose"));
    else
        help_overview(&out, &cli->page);
    return show_text(&out);
}

static const struct option_spec options[] = {
    {.name = "scdoc", .hidden = true, .help = "Print the source of a man page"},
};

const struct command command_help = {
    .alone = true,
    .name = "help",
    .group = HELP_SETUP,
    .summary = "Show help for whirr, a command, all commands, options or metrics",
    .arguments = "[COMMAND|all|options|metrics]",
    .offers = {{.complete = COMPLETE_COMMAND}},
    .arguments_max = 2,
    OPTIONS(options),
    .examples = {{"whirr help ps", "usage, examples and options of one command; -v for more"},
                 {"whirr help all", "every command; whirr help options: what all of them accept"},
                 {"whirr help metrics", "every reading: JSON key, Prometheus name, meaning"}},
    .lacks = "json gpu",
    .run = run_help,
};
