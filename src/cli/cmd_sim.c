/* SPDX-License-Identifier: Apache-2.0
 * whirr sim: what the simulated machine can play.
 */
#include <stdio.h>

#include "base/cleanup.h"
#include "base/json_writer.h"
#include "cli/show.h"
#include "source/sim/sim.h"

static void list_json(struct buf *out, const struct sim_scenario *scenarios, size_t count)
{
    struct json_writer j = JSON_WRITER_PRETTY(out);
    jw_object(&j);
    jw_key_array(&j, "scenarios");
    for (size_t i = 0; i < count; i++) {
        jw_object(&j);
        jw_key_text(&j, "name", scenarios[i].name);
        jw_key_text(&j, "what", scenarios[i].what);
        jw_key_text(&j, "timeline", scenarios[i].timeline);
        jw_key_int(&j, "gpus", scenarios[i].gpus);
        jw_key_text(&j, "cards", scenarios[i].cards);
        jw_key_text(&j, "finding", finding_code_name(scenarios[i].finding));
        jw_key_text(&j, "limit", limit_name(scenarios[i].limit));
        jw_end(&j);
    }
    jw_end(&j);
    jw_key_array(&j, "models");
    const char *name, *full_name;
    for (size_t i = 0; (name = sim_card(i, &full_name)) != NULL; i++) {
        jw_object(&j);
        jw_key_text(&j, "name", name);
        jw_key_text(&j, "gpu_name", full_name);
        jw_end(&j);
    }
    jw_end(&j);
    jw_end(&j);
    buf_char(out, '\n');
}

static void list_text(struct buf *out, const struct page *page, const struct sim_scenario *scenarios, size_t count)
{
    int width = 0;
    for (size_t i = 0; i < count; i++)
        width = MAX_OF(width, width_of(scenarios[i].name));
    page_wrap(out, page, INK_PLAIN, "Scenarios of `--source sim:scenario=NAME`:", 0, 0);
    for (size_t i = 0; i < count; i++) {
        buf_text(out, "  ");
        page_cell(out, page, INK_STRONG, LEFT, scenarios[i].name, width);
        buf_text(out, "  ");
        page_wrap(out, page, INK_PLAIN, scenarios[i].what, width + 4, width + 4);
        if (scenarios[i].timeline && scenarios[i].timeline[0]) {
            buf_printf(out, "%*s", width + 4, "");
            char course[256];
            snprintf(course, sizeof course, "%s; %s%s%s", scenarios[i].timeline, finding_code_name(scenarios[i].finding),
                     scenarios[i].limit ? ", limited by " : "", limit_words(scenarios[i].limit));
            page_wrap(out, page, INK_FAINT, course, width + 4, width + 4);
        }
    }
    AUTO_BUF struct buf cards = BUF(8192);
    const char *name;
    buf_text(&cards, "GPUs of `model=NAME`:");
    for (size_t i = 0; (name = sim_card(i, NULL)) != NULL; i++)
        buf_printf(&cards, " %s", name);
    page_wrap(out, page, INK_PLAIN, cards.at, 2, 0);
}

static int sim_run(struct cli *cli)
{
    AUTO_BUF struct buf out = BUF(1024 * 1024);
    const struct sim_scenario *scenarios;
    size_t count = sim_scenarios(&scenarios);
    const char *what = cli->options->argument_count ? cli->options->arguments[0] : "list";
    if (strcmp(what, "list") != 0)
        return cli_unknown(cli, "subcommand", what, (const char *const[]){"list"}, 1);
    if (cli->json)
        list_json(&out, scenarios, count);
    else
        list_text(&out, &cli->page, scenarios, count);
    return show_text(&out);
}

static const struct example examples[] = {
    {"whirr sim list", "the scenarios"},
    {"whirr --source sim:scenario=overheat", "show one of them"},
    {"whirr --source sim:gpus=8,model=h100 --watch", "eight GPUs of one model"},
};

const struct command command_sim = {
    .alone = true,
    .name = "sim",
    .group = HELP_RUN,
    .summary = "List the scenarios of the simulator",
    .arguments = "list",
    .arguments_max = 1,
    .examples = examples,
    .example_count = ARRAY_LEN(examples),
    .run = sim_run,
};
