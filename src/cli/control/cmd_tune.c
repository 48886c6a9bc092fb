/* SPDX-License-Identifier: Apache-2.0
 * whirr tune: finds the power limit that costs little speed.
 */
#include <string.h>

#include "base/words.h"
#include "cli/control/tune.h"

enum { STEPS = 8, KEEP_PERCENT = 95 };

static int show_result(struct cli *cli, const struct tune_result *r, double keep)
{
    AUTO_BUF struct buf out = BUF(1 << 20);
    if (cli->json)
        tune_json(AS_JSON_LINE(cli, &out), r, keep);
    else
        tune_table(&out, &cli->page, r, keep);
    return show_text(&out);
}

static int64_t planned_ms(const struct tune_plan *p)
{
    return p->warmup_ms + (int64_t)(p->count + 1) * (p->settle_ms + p->measure_ms);
}

static const void *next_limit(const struct answer_at *at, struct answer_step *step)
{
    const struct tune_plan *p = at->record;
    if (step->at == p->count)
        return NULL;
    step->item.real = (double)p->limits[step->at++] / 1000;
    return &step->item;
}

ANSWER_MAKER(make_index, struct tune_plan, number, of->setting->gpu_index);
ANSWER_MAKER(make_seconds, struct tune_plan, real, (double)planned_ms(of) / MS_PER_S);

ANSWER_TABLE(steps_answer, struct tune_plan)
{
    MADE(INT, "gpu_index", make_index, NULL);
    EACH(NUMBER, "limits_watts", next_limit, NULL);
    MADE(NUMBER, "seconds", make_seconds, "How long it takes");
}

static int show_steps(const struct tune_plan *p)
{
    AUTO_BUF struct buf out = BUF(1 << 16);
    char words[WORDS_SIZE];
    int64_t ms = planned_ms(p);
    if (p->cli->json)
        return show_answer(p->cli, &steps_answer, p);
    buf_printf(&out, "GPU %d  power limits of", p->setting->gpu_index);
    for (size_t i = 0; i < p->count; i++)
        buf_printf(&out, "%s%lld", i ? ", " : " ", (long long)(p->limits[i] / 1000));
    buf_printf(&out, " W; takes %s\nNothing was changed (dry run).\n", words_duration(ms, words));
    return show_text(&out);
}

/* EXIT_FINE, or prints what is wrong. */
static int read_span(const struct cli *cli, const char *name, int64_t *ms)
{
    const char *text = options_value(cli->options, name, NULL);
    if (text && (!duration_parse(str_from(text), ms) || *ms <= 0))
        return cli_usage(cli, "'--%s %s' is not %s", name, text, DURATION_SYNTAX);
    return EXIT_FINE;
}

static int read_options(struct tune_plan *p, int64_t *steps, double *keep)
{
    const struct options *o = p->cli->options;
    const char *count = options_value(o, "steps", NULL), *share = options_value(o, "keep", NULL);
    int64_t percent = KEEP_PERCENT;
    bool command = o->argument_count > 0;
    p->server = options_value(o, "server", NULL);
    p->rate = options_value(o, "rate", NULL);
    p->warmup_ms = command ? 20 * MS_PER_S : 0;
    p->settle_ms = 5 * MS_PER_S;
    p->measure_ms = 10 * MS_PER_S;
    if (command == (p->server != NULL))
        return cli_usage(p->cli, "a workload is needed to measure the speed: whirr set best -- python bench.py, or --server NAME "
                                 "for one that is running");
    if (p->rate && !command)
        return cli_usage(p->cli, "--rate reads what a command prints");
    if (count && (!str_to_i64(str_from(count), steps) || *steps < 2 || *steps > TUNE_POINTS_MAX))
        return cli_usage(p->cli, "'--steps %s' is not a number from 2 to %d", count, TUNE_POINTS_MAX);
    if (share && (!str_to_i64(str_from(share), &percent) || percent < 1 || percent > 100))
        return cli_usage(p->cli, "'--keep %s' is not a percentage", share);
    *keep = (double)percent / 100;
    int status = read_span(p->cli, "warmup", &p->warmup_ms);
    status = status == EXIT_FINE ? read_span(p->cli, "settle", &p->settle_ms) : status;
    return status == EXIT_FINE ? read_span(p->cli, "measure", &p->measure_ms) : status;
}

static int tune_run(struct cli *cli)
{
    const struct options *o = cli->options;
    struct tune_plan plan = {.cli = cli};
    struct tune_result result = {0};
    struct error err = {0};
    AUTO_CHANGES struct change_list changes = {0};
    int64_t steps = STEPS;
    double keep = 0;
    int status = read_options(&plan, &steps, &keep);
    status = status == EXIT_FINE ? change_plan(cli, CONTROL_POWER, "stock", &changes) : status;
    if (status != EXIT_FINE)
        return status;
    const struct change *c = &changes.at[0];
    if (!c->state.now_known || c->state.now.low <= c->state.least)
        return cli_fail("GPU %d has no lower power limit to try", c->setting.gpu_index);
    plan.setting = &c->setting;
    plan.denied = c->denied;
    plan.count = tune_limits(c->state.now.low, c->state.least, (size_t)steps, plan.limits);
    if (options_has(o, "dry-run"))
        return show_steps(&plan);
    result = (struct tune_result){.gpu_index = c->setting.gpu_index, .rate = plan.rate, .planned = plan.count};
    memcpy(result.gpu, c->setting.gpu, sizeof result.gpu);
    int rc = tune_measure(&plan, o->argument_count ? o->arguments : NULL, &result, &err);
    return rc < 0 ? cli_fail("%s", err.text) : show_result(cli, &result, keep);
}

static const struct option_spec options[] = {
    {.name = "server", .argument = "NAME", .help = "Measure a program that is already running, by part of its name"},
    {.name = "rate", .argument = "TEXT", .help = "Its speed is the number beside TEXT in what the command prints, like \"it/s\""},
    {.name = "steps", .argument = "N", .help = "How many limits, from the present one to the lowest (default: 8)"},
    {.name = "keep", .argument = "PERCENT", .help = "Speed that the best limit must keep (default: 95)"},
    {.name = "warmup", .argument = "DURATION", .help = "Time for the command to begin its work (default: 20s)"},
    {.name = "settle", .argument = "DURATION", .help = "Time at each limit before it is measured (default: 5s)"},
    {.name = "measure", .argument = "DURATION", .help = "Time over which each limit is measured (default: 10s)"},
    {.name = "dry-run", .help = "Show the limits and how long it takes; change nothing"},
};

const struct command command_tune = {
    .name = "tune",
    .place = "set best",
    .hidden = true,
    .group = HELP_ACT,
    .summary = "Find the power limit that costs little speed",
    .details =
        "Runs a command, or watches a server that runs already, at power limits from the present one down to the lowest, and "
        "measures work and power at each: what the command prints beside --rate, tokens per second of a model server (with a "
        "daemon), else the activity of the multiprocessors times their clock, which is only a guess. The best limit is the "
        "lowest that keeps --keep percent of the speed and saves energy. Each limit is a lease: the old one is back at the "
        "end, also when whirr is killed. The command is stopped at the end; its output goes to stderr. Needs root, or the "
        "helper whirr-control with [control] allow (docs/leases.md).",
    .exits = "0 fine; 1 it failed, was refused or stopped; 2 wrong usage or configuration.",
    .arguments = "[-- COMMAND...]",
    .arguments_max = ARGUMENTS_MAX,
    OPTIONS(options),
    .examples = {{"whirr set best --rate it/s -- python train.py", "by what it prints"},
                 {"whirr set best --server vllm --gpu 0", "a server under its real load"},
                 {"whirr set best --dry-run --server vllm", "which limits, and how long"}},
    .run = tune_run,
};
