/* SPDX-License-Identifier: Apache-2.0
 * whirr help.
 */

#include "base/cleanup.h"
#include "base/words.h"
#include "cli/command.h"

static int run_help(struct cli *cli)
{
    static const char *const topics[] = {"all", "metrics", "options"};
    AUTO_BUF struct buf out = BUF(1024 * 1024);
    const char *name = cli->options->argument_count ? cli->options->arguments[0] : NULL;
    if (name && strcmp(name, "metrics") == 0) {
        manual_metrics(&out, &cli->page);
        return show_text(&out);
    }
    if (name && strcmp(name, "all") == 0) {
        help_all(&out, &cli->page);
        return show_text(&out);
    }
    if (name && strcmp(name, "options") == 0) {
        help_options(&out, &cli->page);
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
