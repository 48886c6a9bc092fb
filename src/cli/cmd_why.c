/* SPDX-License-Identifier: Apache-2.0
 * whirr why: why is my GPU fan running?
 */
#include <errno.h>
#include <stdlib.h>

#include "ask/past.h"
#include "base/cleanup.h"
#include "cli/show.h"
#include "format/json/json.h"
#include "format/table/table.h"
#include "insight/why/rest.h"
#include "model/recent.h"
#include "source/replay/replay.h"
#include "source/sysfs/rest.h"

/* Alone, without a daemon that remembers: a little past of our own. */
enum { SAMPLES = 4, PAUSE_MS = 350, WARM_CPU_MDEGC = 75000 };

/* The drivers kept the last seconds themselves: nothing has to be waited for. A warm CPU may be the answer, and what it does is
 * only known by watching. */
static bool knows_enough(const struct snapshot *now)
{
    int64_t cpu;
    if (reading_get(now->host.cpu_temp_mdegc, &cpu) && cpu >= WARM_CPU_MDEGC)
        return false;
    for (size_t i = 0; i < now->gpu_count; i++)
        if (now->gpus[i].state == GPU_OK && !now->gpus[i].before_count)
            return false;
    return true;
}

static void cleanup_why(struct why **why)
{
    why_free(*why);
}

/* What was seen so far, kept between the answers of --watch. */
struct memory {
    bool begun;
    struct recent past;
    const struct snapshot *last; /* whose processes may have ended */
};

/* Begins with what a recording holds before the moment that is looked at. */
static void remember(struct memory *m, const struct cli *cli, const struct snapshot *now)
{
    if (!m->begun)
        replay_past(options_value(&cli->options, "source", ""), now->taken_at, &m->past, &m->last);
    if (!m->begun)
        recent_begin(&m->past, now);
    m->begun = true;
    recent_add(&m->past, m->last, now);
    snapshot_unref(m->last);
    m->last = snapshot_ref(now);
}

/* What is around the GPUs: of this host, so not for a recording of another one. */
static int look_around(struct cli *cli, const struct snapshot *now, struct why *why, struct error *err)
{
    bool asked = options_has(&cli->options, "idle"),
         replayed = str_starts(str_from(options_value(&cli->options, "source", "")), "replay");
    if (!asked && !why_wants_audit(why))
        return 0;
    AUTO_FREE struct gpu_rest *rests = calloc(now->gpu_count + 1, sizeof *rests);
    if (!rests)
        return error_set(err, -ENOMEM, "out of memory");
    if (!replayed)
        rest_read(&cli->env, now, rests);
    why_audit(why, now, rests);
    return 0;
}

static int render(struct cli *cli, struct session *session, struct buf *out, struct error *err)
{
    static struct memory memory;
    AUTO_SNAPSHOT const struct snapshot *now = session_sample(session, GROUP_ALL | GROUP_PAST, err);
    if (!now)
        return err->code;
    __attribute__((cleanup(cleanup_why))) struct why *why = session_why(session, now);
    bool enough = memory.begun || knows_enough(now);
    remember(&memory, cli, now);
    for (int i = 1; i < SAMPLES && now->gpu_count && !why && !enough; i++) {
        pause_ms(PAUSE_MS);
        const struct snapshot *next = session_sample(session, i + 1 == SAMPLES ? GROUP_ALL : GROUP_QUICK, err);
        if (!next)
            return err->code;
        remember(&memory, cli, next);
        snapshot_unref(now);
        now = next;
    }
    int only;
    if (session_only(session, now, &only, err) < 0)
        return err->code;
    if (!why)
        why = why_explain(now, &memory.past);
    if (!why)
        return error_set(err, -ENOMEM, "out of memory");
    if (look_around(cli, now, why, err) < 0)
        return err->code;
    if (cli->json) {
        struct json_writer j = show_json(cli, out);
        json_why(&j, now, why, only);
        buf_char(out, '\n');
    } else if (options_has(&cli->options, "idle")) {
        table_idle(out, &cli->page, now, why, only);
    } else {
        table_why(out, &cli->page, now, why, only, "whirr why");
    }
    return 0;
}

static int run(struct cli *cli)
{
    struct past_question q;
    struct error err = {0};
    const struct options *o = &cli->options;
    if (!options_has(o, "at") && !options_has(o, "since") && !options_has(o, "until")) {
        if (options_has(o, "store") || options_has(o, "host"))
            return cli_usage(cli, "--store and --host need --at or --since");
        return show(cli, render);
    }
    if (options_has(o, "watch") || options_has(o, "idle"))
        return cli_usage(cli, "--%s can't be combined with --at or --since", options_has(o, "watch") ? "watch" : "idle");
    if (options_has(o, "source") || options_has(o, "sysroot"))
        return cli_usage(cli, "the past comes from the history, not from a source; for another history: --store");
    return past_question_of(cli, &q, &err) < 0 ? cli_usage(cli, "%s", err.text) : past_show(cli, &q);
}

static const struct option_spec options[] = {
    {.name = "idle", .help = "List what keeps each GPU from idling, and who has it open; wakes no GPU"},
    {.name = "at",
     .argument = "TIME",
     .help = "Explain this moment of the past: \"03:10\" (the most recent), -2h, 2026-11-14T03:10"},
    {.name = "since", .argument = "TIME", .help = "Explain what happened since then, most important first"},
    {.name = "until", .argument = "TIME", .help = "With --since: up to then instead of now"},
    PAST_OPTION_HOST,
    OPTION_STORE,
    {.name = "watch", .letter = 'w', .argument = "SECONDS", .optional = true, .help = "Refresh every SECONDS (default: 2)"},
};

static const struct example examples[] = {
    {"whirr why", "why is the fan loud, why is it hot, why is it slow"},
    {"whirr why --idle", "why doesn't it idle, and who has it open"},
    {"whirr why --at 03:10", "why was it loud at ten past three last night"},
};

const struct command command_why = {
    .name = "why",
    .group = HELP_EXPLAIN,
    .summary = "Explain why a GPU is loud, hot, slow or busy",
    .details = "Compares fan, temperature, power, clocks, utilization and processes with each other and with the GPU's own limits. "
               "If the driver doesn't keep the last seconds itself, it samples for about one second.\n\nWith --at and --since it "
               "answers from the history that `whirr serve` keeps: "
               "who was using the GPU then, and what happened as a result. Times without a zone are in this host's time zone. If "
               "only summaries are left, or nothing was stored, the answer says so.\n\nWith --idle it checks what can keep a GPU from idling: "
               "displays, a pinned memory clock, compute contexts, loaded models, browsers, video decode, other monitors, PCIe power "
               "saving, runtime power management, persistence mode. `whirr why` does the same for a GPU that draws more than it "
               "usually does when idle. What other users' programs have open is visible to root only.",
    .options = options,
    .option_count = ARRAY_LEN(options),
    .examples = examples,
    .example_count = ARRAY_LEN(examples),
    .remote = true,
    .run = run,
};
