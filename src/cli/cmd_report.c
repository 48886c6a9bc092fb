/* SPDX-License-Identifier: Apache-2.0
 * whirr report: who used the GPUs, for how long, and what it cost.
 */
#include "ask/past.h"
#include "cli/command.h"

#include "base/cleanup.h"

static const char *const kinds[] = {"user", "container", "command", "model", NULL};

static int run(struct cli *cli)
{
    struct past_question q = {0};
    struct error err = {0};
    if (options_has(&cli->options, "source") || options_has(&cli->options, "sysroot"))
        return cli_usage(cli, "a report is made from the history, not from a source: --store names another one");
    return past_report_of(cli, &q, &err) < 0 ? cli_usage(cli, "%s", err.text) : past_show(cli, &q);
}

static const struct option_spec options[] = {
    {.name = "since", .argument = "TIME", .help = "From then on: -7d (default), \"yesterday\", 2026-11-01"},
    {.name = "until", .argument = "TIME", .help = "Up to then instead of up to now"},
    {.name = "by", .argument = "WHAT", .values = kinds, .help = "Only by user, container, command or model, and all rows of it"},
    {.name = "price", .argument = "PRICE", .help = "Price of a kilowatt-hour instead of energy.price_per_kwh"},
    {.name = "currency", .argument = "TEXT", .help = "Its currency instead of energy.currency"},
    {.name = "hot", .argument = "CELSIUS", .help = "From this temperature on a card counts as hot (default: 80)"},
    PAST_OPTION_HOST,
    OPTION_STORE,
};

static const struct example examples[] = {
    {"whirr report", "the last seven days: hours, energy, costs, idle memory, hot spells"},
    {"whirr report --since -30d --by user", "a month, user by user (or container, command, model)"},
    {"whirr report --since yesterday --until today --price 0.30", "yesterday, with costs"},
    {"whirr report --json | jq '.users[] | [.name, .energy_kwh]'", "for a spreadsheet"},
};

const struct command command_report = {
    .name = "report",
    .summary = "Who used the GPUs, for how long, with how much energy, and what it cost",
    .details =
        "From the history that `whirr serve` keeps. Hours are those in which a process was on a card, busy ones those in which it "
        "computed; two processes of one user on the same card count once. The energy of a card is what its own counter says, or "
        "its power over time where it has none; each process gets its part of it, and what no process can be given is a row of "
        "its own. Memory that was held without computing is named with its holder.",
    .options = options,
    .option_count = ARRAY_LEN(options),
    .examples = examples,
    .example_count = ARRAY_LEN(examples),
    .run = run,
};
