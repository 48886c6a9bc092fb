/* SPDX-License-Identifier: Apache-2.0
 * whirr report: who used the GPUs, for how long, and what it cost.
 */
#include <stdio.h>
#include <string.h>

#include "ask/answers.h"
#include "ask/history_source.h"
#include "base/cleanup.h"
#include "base/words.h"
#include "cli/cli_fleet.h"
#include "cli/cli_show.h"
#include "cli/command.h"
#include "remedy/effect.h"

/* ---- --remedies: how often remedies did what was expected of them ---- */

/* Of the daemon, which knows what it measured and learned; without one, what this user's commands measured. */
static void find_effects(struct cli *cli, struct effects *all)
{
    struct error err = {0};
    AUTO_JSON json_t *answer = alert_ask(cli, "GET", "/api/remedies", NULL, &err);
    const json_t *list = json_object_get(answer, "effects");
    effects_read(all);
    for (size_t i = json_array_size(list); i-- > 0;) { /* newest first */
        struct effect e = {.code = REMEDY_FAULT};
        if (answer_read(&effect_answer, json_array_get(list, i), &e, NULL) && e.gpu[0])
            (void)effects_put(all, &e);
    }
}

static void show_hits(struct buf *out, const struct effect_hits *h)
{
    int64_t expected, measured;
    buf_printf(out, "  %-16s %3zu measured", remedy_row(h->code)->code, h->measured);
    if (h->expected)
        buf_printf(out, "   %zu of %zu as expected", h->hit, h->expected);
    if (reading_get(h->expected_mw, &expected) && reading_get(h->measured_mw, &measured))
        buf_printf(out, "   last: %+lld W, expected %+lld W", words_whole(measured, 1000), words_whole(expected, 1000));
    buf_char(out, '\n');
}

struct told_hits {
    const struct effect_hits *list;
    size_t count;
};

ANSWER_TABLE(remedies_answer, struct told_hits)
{
    OBJECTS("hits", list, count, effect_hits_answer, NULL);
}

static int report_remedies(struct cli *cli)
{
    AUTO_EFFECTS struct effects all = {0};
    struct effect_hits hits[REMEDY_COUNT];
    AUTO_BUF struct buf out = BUF(FRAME_MAX);
    size_t hit = 0, expected = 0;
    find_effects(cli, &all);
    size_t count = effects_hits(&all, hits, ARRAY_LEN(hits));
    for (size_t i = 0; i < count; i++) {
        hit += hits[i].hit;
        expected += hits[i].expected;
    }
    if (cli->json)
        return show_answer(cli, &remedies_answer, &(struct told_hits){hits, count});
    if (!count)
        buf_text(&out, "No remedy was measured yet. To measure one: whirr do 1, or whirr try 1, after whirr why.\n");
    else if (expected)
        buf_printf(&out, "Remedies had the expected effect, within a fifth, in %zu of %zu cases.\n", hit, expected);
    else
        buf_text(&out, "No remedy had an expectation yet: each was measured for the first time.\n");
    for (size_t i = 0; i < count; i++)
        show_hits(&out, &hits[i]);
    return show_text(&out);
}

/* ---- the history ---- */

#define GPU_FIELDS \
    "gpu_index,gpu_name,hours,busy_hours,utilization_percent,temperature_max_celsius,energy_kwh,cost,co2_grams,parked_kwh"
#define OWNER_FIELDS \
    "kind,name,hours,busy_hours,memory_gib_hours,idle_gib_hours,processes,energy_kwh,cost,co2_grams,share_percent,parked_kwh"
#define MODEL_FIELDS                                                                                                             \
    OWNER_FIELDS ",generated_tokens,prompt_tokens,tokens_per_joule,prompt_tokens_per_joule,joules_per_thousand_tokens,cost_per_" \
                 "million_tokens,requests,joules_per_request"
#define LIMIT_FIELDS "kind,name,words,side,hours,busy_hours,processes,energy_kwh,cost,share_percent"

static const char *const kinds[] = {"user", "container", "pod", "job", "command", "model", "limit", NULL};

static const char *fields_of(const char *by)
{
    if (!by)
        return GPU_FIELDS;
    return strcmp(by, "limit") == 0 ? LIMIT_FIELDS : strcmp(by, "model") == 0 ? MODEL_FIELDS : OWNER_FIELDS;
}

/* Prints rows for scripts: one per GPU, or per user, container, pod, job, command, model or limit. */
static int print_fields(struct cli *cli, struct past_question *q, const char *by)
{
    char rows[32] = "gpus";
    struct error err = {0};
    AUTO_JSON json_t *body = NULL;
    json_t *row;
    size_t i;
    int status = past_fetch(cli, q, &body);
    if (status != EXIT_FINE)
        return status;
    if (by)
        snprintf(rows, sizeof rows, "%ss", by);
    AUTO_BUF struct buf out = BUF(64 << 20);
    struct fields *f = fields_open(cli, "since,until", fields_of(by), &err);
    int rc = f ? 0 : err.code;
    json_array_foreach(json_object_get(body, rows), i, row)
    {
        json_object_set(row, "since", json_object_get(body, "since"));
        json_object_set(row, "until", json_object_get(body, "until"));
        if (rc == 0)
            rc = fields_row(f, &out, row, &err);
    }
    fields_close(f);
    return rc < 0 ? cli_error(cli, &err) : show_text(&out);
}

static int report_run(struct cli *cli)
{
    struct past_question q = {0};
    struct error err = {0};
    if (options_has(cli->options, "fleet"))
        return fleet_run(cli, FLEET_REPORT);
    if (options_has(cli->options, "remedies"))
        return report_remedies(cli);
    if (options_has(cli->options, "source") || options_has(cli->options, "sysroot"))
        return cli_usage(cli, "a report reads the history, not a source; for another history: --store");
    int status = fields_check(cli);
    if (status != EXIT_FINE)
        return status;
    if (past_report_read(&q, options_parameter, cli->options, clock_wall(cli->env.clock), MOMENT_LOCAL, &err) < 0)
        return cli_usage(cli, "--%s", err.text);
    const char *by = options_value(cli->options, "by", NULL);
    return fields_wanted(cli) ? print_fields(cli, &q, by) : past_show(cli, &q, by);
}

static const struct option_spec options[] = {
    {.name = "since", .argument = "TIME", .help = "Start: -7d (default), \"yesterday\", 2026-11-01, all"},
    {.name = "until", .argument = "TIME", .help = "End (default: now)"},
    {.name = "by",
     .argument = "WHAT",
     .values = kinds,
     .help = "Show only this breakdown, with all rows: user, container, pod, job (Slurm), command, model or limit"},
    {.name = "price", .argument = "PRICE", .help = "Price per kWh instead of energy.price_per_kwh"},
    {.name = "currency", .argument = "TEXT", .help = "Currency instead of energy.currency"},
    {.name = "remedies", .help = "Show how often remedies had the expected effect"},
    {.name = "hot", .argument = "CELSIUS", .help = "Temperature from which a GPU counts as hot (default: 80)"},
    FIELDS_OPTIONS,
    {OPTION_STORED_HOST},
    {OPTION_STORE},
    {.name = "fleet",
     .argument = "URL",
     .help = "Report energy and cost of all hosts of this Prometheus, VictoriaMetrics or PostgreSQL"},
    {FLEET_OPTION_ALL},
};

const struct command command_report = {
    .name = "report",
    .group = HELP_PAST,
    .summary = "Report hours, energy and cost by user, container, pod, job, model or limit",
    .details = "Reads the history that `whirr serve` keeps. Hours count the time a process was on a GPU, busy hours the time it "
               "was computing; two processes of one user on the same GPU count once. A GPU's energy comes from its own counter, or "
               "from power over time if it has none; each process gets its share, and what can't be attributed to any process has "
               "a row of its own. Memory held without computing is listed with its owner. "
               "By limit, each minute of a process counts for what limited it the longest in that minute.",
    OPTIONS(options),
    .examples = {{"whirr report", "the last seven days: hours, energy, cost, idle memory, hot spells"},
                 {"whirr report --since 'last month' --until 'this month' --by user",
                  "last month, by user (or container, pod, job, command, model)"},
                 {"whirr report --since yesterday --until today --price 0.30 --by limit",
                  "yesterday with cost, by what limited the programs"}},
    .remote = true,
    .run = report_run,
};
