/* SPDX-License-Identifier: Apache-2.0
 * whirr tune: finds the power limit that costs little speed. Performance of a GPU at several limits under one load, and the knee in
 * that series, as a table with bars and as JSON.
 */
#include "cli/control/change.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "answer/answer.h"
#include "base/cleanup.h"
#include "base/words.h"

enum { STEPS = 8, KEEP_PERCENT = 95, STEP_MW = 5000, BAR = 20, DRIFT_PERCENT = 5, WORDS = 192 };

static const struct {
    const char *name, *words;
} works[TUNE_WORKS] = {
    [TUNE_RATE] = {"rate", ""},
    [TUNE_TOKENS] = {"tokens_per_second", "tokens/s"},
    [TUNE_SM] = {"sm_activity_times_clock", "MHz x SM activity"},
    [TUNE_LOAD] = {"utilization_times_clock", "MHz x utilization"},
};

/* Limits from the present one down to the lowest, in multiples of 5 W; returns how many. */
static size_t tune_limits(int64_t now_mw, int64_t least_mw, size_t steps, int64_t limits[TUNE_POINTS_MAX])
{
    size_t count = 0;
    steps = MIN_OF(MAX_OF(steps, (size_t)2), (size_t)TUNE_POINTS_MAX);
    for (size_t i = 0; i < steps; i++) {
        int64_t mw = now_mw - (now_mw - least_mw) * (int64_t)i / (int64_t)(steps - 1);
        if (i > 0 && i + 1 < steps)
            mw = mw / STEP_MW * STEP_MW;
        mw = MAX_OF(mw, least_mw);
        if (!count || mw < limits[count - 1])
            limits[count++] = mw;
    }
    return count;
}

/* Energy for the same work, relative to the first limit. */
static double tune_energy_share(const struct tune_result *r, size_t at)
{
    const struct tune_point *first = &r->points[0], *p = &r->points[at];
    return p->work > 0 && first->watts > 0 ? p->watts / p->work * first->work / first->watts : NAN;
}

/* The lowest limit that keeps this share of the first one's speed; -1: none does, or heat spoiled the first measurement. */
static int tune_knee(const struct tune_result *r, double keep)
{
    int knee = -1;
    for (size_t i = 1; i < r->count && !r->points[0].hot; i++)
        if (!r->points[i].hot && r->points[i].work >= keep * r->points[0].work && tune_energy_share(r, i) < 1)
            knee = (int)i;
    return knee;
}

static long long watts_of(int64_t mw)
{
    return (long long)((mw + 500) / 1000);
}

static long percent(double share)
{
    return lround(share * 100);
}

/* "at 330 of 450 W it keeps 96% of its speed and saves 26% of its energy" */
static const char *tune_words(const struct tune_result *r, int knee, char out[WORDS])
{
    const struct tune_point *first = &r->points[0];
    if (knee >= 0)
        snprintf(out, WORDS, "at %lld of %lld W it keeps %ld%% of its speed and saves %ld%% of its energy",
                 watts_of(r->points[knee].limit_mw), watts_of(first->limit_mw), percent(r->points[knee].work / first->work),
                 percent(1 - tune_energy_share(r, (size_t)knee)));
    else if (first->hot)
        snprintf(out, WORDS, "heat slows it at its present limit of %lld W: cool it first", watts_of(first->limit_mw));
    else
        snprintf(out, WORDS, "no lower limit keeps its speed and saves energy");
    return out;
}

static bool drifted(const struct tune_result *r)
{
    return r->again > 0 && fabs(r->again / r->points[0].work - 1) * 100 > DRIFT_PERCENT;
}

static void share_cell(struct buf *out, const struct page *page, enum ink ink, double share)
{
    char text[16];
    snprintf(text, sizeof text, "%ld%%", percent(share));
    page_bar(out, page, ink, isnan(share) ? reading_absent(READING_FAILED) : reading_ok((int64_t)lround(MIN_OF(share, 1.0) * 1000)),
             BAR);
    page_cell(out, page, INK_PLAIN, RIGHT, isnan(share) ? page_dash(page) : text, 5);
    buf_text(out, "  ");
}

static void tune_row(struct buf *out, const struct page *page, const struct tune_result *r, size_t i, int knee)
{
    const struct tune_point *p = &r->points[i];
    char text[64];
    snprintf(text, sizeof text, "%lld W", watts_of(p->limit_mw));
    page_cell(out, page, (int)i == knee ? INK_GOOD : INK_STRONG, RIGHT, text, 7);
    snprintf(text, sizeof text, "%.0f W", p->watts);
    page_cell(out, page, INK_PLAIN, RIGHT, text, 8);
    buf_text(out, "  ");
    share_cell(out, page, INK_LOAD, p->work / r->points[0].work);
    share_cell(out, page, INK_MEMORY, tune_energy_share(r, i));
    snprintf(text, sizeof text, "%.4g", p->work);
    page_cell(out, page, INK_FAINT, RIGHT, text, 8);
    buf_printf(out, "%s%s\n", p->hot ? "  slowed by heat" : "", (int)i == knee ? "  <" : "");
}

static void tune_table(struct buf *out, const struct page *page, const struct tune_result *r, double keep)
{
    char words[WORDS];
    int knee = tune_knee(r, keep);
    buf_printf(out, "  LIMIT    DRAW  %-*s  %-*s  %s\n", BAR + 5, "SPEED", BAR + 5, "ENERGY FOR THE SAME WORK",
               r->kind == TUNE_RATE ? r->rate : works[r->kind].words);
    for (size_t i = 0; i < r->count; i++)
        tune_row(out, page, r, i, knee);
    tune_words(r, knee, words);
    words[0] = (char)(words[0] - 'a' + 'A');
    buf_printf(out, "%s.\n", words);
    if (knee >= 0)
        buf_printf(out, "To keep that: whirr set power %lldW --gpu %d\n", watts_of(r->points[knee].limit_mw), r->gpu_index);
    if (r->kind == TUNE_SM || r->kind == TUNE_LOAD)
        buf_text(out, "Its speed was estimated from load and clocks; --rate or a model server measures it.\n");
    if (drifted(r))
        buf_printf(out, "The load itself changed meanwhile: at %lld W it did %ld%% of its work at the end.\n",
                   watts_of(r->points[0].limit_mw), percent(r->again / r->points[0].work));
    if (r->count < r->planned)
        buf_printf(out, "It ended early: %zu of %zu limits were measured.\n", r->count, r->planned);
}

/* A measured point beside the first; the context is the result. */
static bool make_speed(const struct answer_at *at, union answer_value *ret)
{
    ret->real = ((const struct tune_point *)at->record)->work / ((const struct tune_result *)at->context)->points[0].work;
    return true;
}

static bool make_energy(const struct answer_at *at, union answer_value *ret)
{
    const struct tune_result *r = at->context;
    ret->real = tune_energy_share(r, (size_t)((const struct tune_point *)at->record - r->points));
    return true;
}

ANSWER_TABLE(point_answer, struct tune_point)
{
    FIELD(AMOUNT, "limit_watts", limit_mw, NULL, SCALE(1e-3));
    FIELD(NUMBER, "power_watts", watts, NULL);
    FIELD(NUMBER, "work", work, NULL);
    MADE(NUMBER, "speed_share", make_speed, NULL);
    MADE(NUMBER, "energy_share", make_energy, NULL);
    FIELD(OPTION, "clock_mhz", clock_khz, NULL, SCALE(1e-3));
    FIELD(BOOL, "slowed_by_heat", hot, NULL);
}

struct told_tune {
    const struct tune_result *r;
    const struct tune_point *knee; /* NULL: none */
    char answer[WORDS];
};

ANSWER_MAKER(make_work, struct tune_result, word, works[of->kind].name);
ANSWER_MAKER(make_rate, struct tune_result, word, of->kind == TUNE_RATE ? of->rate : NULL);
ANSWER_MAKER(make_complete, struct tune_result, yes, of->count == of->planned);
ANSWER_MAKER(make_drifted, struct tune_result, yes, drifted(of));

ANSWER_TABLE(result_answer, struct tune_result)
{
    FIELD(INT, "gpu_index", gpu_index, NULL);
    FIELD(TEXT, "gpu", gpu, NULL);
    MADE(WORD, "work", make_work, NULL);
    MADE(WORD, "rate", make_rate, NULL, OR_NULL);
    MADE(BOOL, "complete", make_complete, NULL);
    MADE(BOOL, "load_changed", make_drifted, NULL);
    OBJECTS("points", points, count, point_answer, NULL);
}

ANSWER_TABLE(tune_answer, struct told_tune)
{
    VIA(KEYS, NULL, r, result_answer, NULL);
    VIA(OBJECT, "knee", knee, point_answer, NULL, OR_NULL);
    FIELD(TEXT, "answer", answer, NULL);
}

static void tune_json(struct json_writer *j, const struct tune_result *r, double keep)
{
    int knee = tune_knee(r, keep);
    struct told_tune told = {.r = r, .knee = knee >= 0 ? &r->points[knee] : NULL};
    tune_words(r, knee, told.answer);
    answer_write(j, &tune_answer, &told, (void *)r);
}

/* ---- the command ---- */

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
    int status = options_span(p->cli, "warmup", &p->warmup_ms);
    status = status == EXIT_FINE ? options_span(p->cli, "settle", &p->settle_ms) : status;
    return status == EXIT_FINE ? options_span(p->cli, "measure", &p->measure_ms) : status;
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
