/* SPDX-License-Identifier: Apache-2.0
 * whirr sim: what the simulated host can play.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "answer/answer.h"
#include "ask/cli.h"
#include "ask/progress.h"
#include "base/cleanup.h"
#include "base/units.h"
#include "cli/alert/alert.h"
#include "cli/cli_show.h"
#include "engine/engine.h"
#include "insight/verdict/judge.h"
#include "model/finding_code.h"
#include "remedy/effect.h"
#include "source/sim/sim.h"
#include "store/store.h"

/* A day of a simulated host as a history in a file. */

enum { STEP_MS = 60 * 1000, BATCH = 120 };

struct sim_day {
    struct store *store;
    struct judge *judge;
    const struct snapshot *batch[BATCH];
    size_t count, written;
    struct reading idle_mw[GPU_MAX]; /* the lowest power of each */
    struct learner contexts;
    struct parked_steps parked;
    struct progress *shown;
    struct error err;
};

static void day_flush(struct sim_day *d)
{
    if (d->count && !d->err.code && store_write(d->store, d->batch, d->count, NULL, 0, &d->err) == 0)
        d->written += d->count;
    progress_set(d->shown, NULL, (int64_t)(1000 * d->written / (DAY_MS / STEP_MS)), 0, NULL);
    for (size_t i = 0; i < d->count; i++)
        snapshot_unref(d->batch[i]);
    d->count = 0;
}

static void day_see(void *user, const struct snapshot *s)
{
    struct sim_day *d = user;
    struct snapshot *copy = d->err.code ? NULL : snapshot_copy(s);
    if (!copy)
        return;
    if (!copy->host.name[0])
        gethostname(copy->host.name, sizeof copy->host.name - 1);
    for (size_t i = 0; i < copy->gpu_count && i < GPU_MAX; i++) {
        struct effect step;
        attribute_power(&copy->gpus[i], &d->idle_mw[i]);
        if (learn_sample(&d->contexts, &copy->gpus[i], copy->taken_at, &step))
            parked_note(&d->parked, &step);
        parked_charge(&d->parked, &copy->gpus[i]);
    }
    judge_take(d->judge, copy);
    d->batch[d->count++] = copy;
    if (d->count == BATCH)
        day_flush(d);
}

/* The file has its name once it is whole. */
static void day_finish(struct sim_day *d, const char *part, const char *path)
{
    static const char *const ends[] = {"", "-wal", "-shm"};
    char name[4096];
    if (!d->err.code && rename(part, path) < 0)
        error_set(&d->err, -errno, "cannot rename '%s' to '%s': %s", part, path, strerror(errno));
    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        snprintf(name, sizeof name, "%s%s", part, ends[i]);
        unlink(name);
    }
}

/* Returns the exit status. */
static int sim_day(struct cli *cli, const char *path)
{
    char url[4096], part[4096];
    static struct sim_day d;
    d.judge = judge_new();
    struct clock_manual clock;
    struct env env = cli->env;
    /* The command and its default source share a name. */
    const char *source = cli->ask.source_count ? cli->ask.sources[0] : cli->name;
    if (!course_plays(source))
        return cli_usage(cli, "'%s' can't be played; try --source sim:scenario=NAME", source);
    snprintf(part, sizeof part, "%s.part", path);
    snprintf(url, sizeof url, "sqlite:%s", part);
    const struct store_options options = {.env = &cli->env, .url = url, .host = "", .limits = store_default_limits};
    unlink(part); /* of a run that was killed */
    if (access(path, F_OK) == 0)
        error_set(&d.err, -EEXIST, "'%s' already exists; a day needs a new file", path);
    else if (!d.judge)
        error_set(&d.err, -ENOMEM, "out of memory");
    else if (store_open(&options, &d.store, &d.err) == 0) {
        d.shown = progress_begin("playing the day:");
        clock_manual_init(&clock, (struct wall){clock_wall(cli->env.clock).ms - DAY_MS});
        env.clock = &clock.clock;
        course_play(&env, source, DAY_MS, STEP_MS, day_see, &d, &d.err);
        day_flush(&d);
    }
    store_close(d.store);
    progress_end(d.shown);
    if (d.store)
        day_finish(&d, part, path);
    judge_free(d.judge);
    if (d.err.code)
        return cli_fail("%s", d.err.text);
    printf("SIMULATED: %zu samples of 24 hours in %s\nLook at it: whirr history --store %s\n", d.written, path, path);
    return EXIT_FINE;
}

/* NULL: the finding depends on the scenario. */
static const char *fault_finding(const struct sim_fault *f)
{
    return f->finding == SIM_ANY_FINDING ? NULL : finding_code_name(f->finding);
}

static const char *found_name(finding_code code)
{
    return finding_code_name(code);
}
ANSWER_NAMES(findings, finding_code, found_name, 0, FINDING_CODE_COUNT - 1);
ANSWER_NAMES(limits, enum limit, limit_name, 0, LIMIT_COUNT - 1);

ANSWER_TABLE(scenario_answer, struct sim_scenario)
{
    FIELD(WORD, "name", name, NULL);
    FIELD(WORD, "what", what, NULL);
    FIELD(WORD, "timeline", timeline, NULL);
    FIELD(INT, "gpus", gpus, NULL);
    FIELD(WORD, "cards", cards, NULL);
    FIELD(NAME, "finding", finding, NULL, NAMES(findings));
    FIELD(NAME, "limit", limit, NULL, NAMES(limits));
}

ANSWER_MAKER(make_finding, struct sim_fault, word, fault_finding(of));

ANSWER_TABLE(fault_answer, struct sim_fault)
{
    FIELD(WORD, "name", name, NULL);
    FIELD(WORD, "what", what, NULL);
    MADE(WORD, "finding", make_finding, "null: it depends on the scenario", OR_NULL);
}

struct told_sim {
    const struct sim_scenario *scenarios;
    size_t count;
    const char *name, *full_name; /* of the model being written */
};

ANSWER_TABLE(model_answer, struct told_sim)
{
    FIELD(WORD, "name", name, NULL);
    FIELD(WORD, "gpu_name", full_name, NULL);
}

static const void *next_fault(const struct answer_at *at, struct answer_step *step)
{
    (void)at;
    return sim_fault(step->at++);
}

static const void *next_model(const struct answer_at *at, struct answer_step *step)
{
    struct told_sim *told = at->context;
    told->name = sim_card(step->at++, &told->full_name);
    return told->name ? told : NULL;
}

ANSWER_TABLE(sim_answer, struct told_sim)
{
    OBJECTS("scenarios", scenarios, count, scenario_answer, NULL);
    EACH(OBJECT, "faults", next_fault, NULL, FIELDS(fault_answer));
    EACH(OBJECT, "models", next_model, NULL, FIELDS(model_answer));
}

/* Describes what a scenario shows, and when. */
static void course_words(const struct sim_scenario *s, char *text, size_t size)
{
    snprintf(text, size, "%s; %s%s%s", s->timeline, finding_code_name(s->finding), s->limit ? ", limited by " : "",
             limit_words(s->limit));
}

static void list_item(struct buf *out, const struct page *page, int width, const char *name, const char *what, const char *course)
{
    buf_text(out, "  ");
    page_cell(out, page, INK_STRONG, LEFT, name, width);
    buf_text(out, "  ");
    page_wrap(out, page, INK_PLAIN, what, width + 4, width + 4);
    if (!course || !course[0])
        return;
    buf_printf(out, "%*s", width + 4, "");
    page_wrap(out, page, INK_FAINT, course, width + 4, width + 4);
}

static void list_text(struct buf *out, const struct page *page, const struct sim_scenario *scenarios, size_t count)
{
    int width = 0;
    for (size_t i = 0; i < count; i++)
        width = MAX_OF(width, width_of(scenarios[i].name));
    page_wrap(out, page, INK_PLAIN, "Scenarios of `--source sim:scenario=NAME`:", 0, 0);
    for (size_t i = 0; i < count; i++) {
        char course[256] = "";
        if (scenarios[i].timeline && scenarios[i].timeline[0])
            course_words(&scenarios[i], course, sizeof course);
        list_item(out, page, width, scenarios[i].name, scenarios[i].what, course);
    }
    page_wrap(out, page, INK_PLAIN, "Faults of `fault=KIND[NUMBER][@GPU][:FROM[-UNTIL]]`, beside any scenario:", 0, 0);
    const struct sim_fault *f;
    for (size_t i = 0; (f = sim_fault(i)) != NULL; i++)
        list_item(out, page, width, f->name, f->what, fault_finding(f));
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
    const char *file = cli->options->argument_count > 1 ? cli->options->arguments[1] : NULL;
    if (strcmp(what, "day") == 0)
        return file ? sim_day(cli, file) : cli_usage(cli, "'sim day' needs FILE");
    if (strcmp(what, "list") != 0)
        return cli_unknown(cli, "subcommand", what, (const char *const[]){"list", "day"}, 2);
    if (file)
        return cli_usage(cli, "'sim list' does not take '%s'", file);
    if (cli->json)
        return show_answer(cli, &sim_answer, &(struct told_sim){.scenarios = scenarios, .count = count});
    list_text(&out, &cli->page, scenarios, count);
    return show_text(&out);
}

/* The same for the man page. */
static void sim_manual(struct buf *out)
{
    const struct sim_scenario *scenarios;
    const struct sim_fault *f;
    size_t count = sim_scenarios(&scenarios);
    char text[512], course[256];
    buf_text(out, "# SCENARIOS\n\n");
    for (size_t i = 0; i < count; i++) {
        course_words(&scenarios[i], course, sizeof course);
        snprintf(text, sizeof text, "%s: %s", scenarios[i].what, course);
        manual_item(out, scenarios[i].name, text);
    }
    buf_text(out, "# FAULTS\n\n");
    for (size_t i = 0; (f = sim_fault(i)) != NULL; i++) {
        snprintf(text, sizeof text, "%s%s%s", f->what, fault_finding(f) ? "; " : "", fault_finding(f) ? fault_finding(f) : "");
        manual_item(out, f->name, text);
    }
}

const struct command command_sim = {
    .alone = true,
    .name = "sim",
    .group = HELP_RUN,
    .summary = "List the scenarios and faults of the simulator, or write a day of history",
    .details =
        "A scenario is what happens on the simulated GPUs: `--source sim:scenario=NAME`. A fault comes on top of any of them: "
        "`--source sim:scenario=NAME,fault=KIND[NUMBER][@GPU][:FROM[-UNTIL]]`, in seconds from where the scenario starts. "
        "After each is the code that `whirr why` must name first.\n\n"
        "`day FILE` writes 24 hours of a simulated machine into a new history database: `history`, `report`, `why --at` and "
        "`serve` take it "
        "with `--store FILE`.",
    .arguments = "list | day FILE",
    .offers = {{.behind = "day", .place = 1, .complete = COMPLETE_FILE}},
    .arguments_max = 2,
    .examples = {{"whirr sim list", "the scenarios and faults"},
                 {"whirr --source sim:scenario=overheat", "show one of them"},
                 {"whirr sim day day.db && whirr report --store day.db",
                  "a day of history at once (--source sim:... for another scenario)"}},
    .manual = sim_manual,
    .lacks = "gpu",
    .run = sim_run,
};
