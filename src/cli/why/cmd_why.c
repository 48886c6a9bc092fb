/* SPDX-License-Identifier: Apache-2.0
 * whirr why: explains the present, a moment or span of the past, a job or a process.
 */
#include <errno.h>
#include <stdio.h>

#include "ask/explain.h"
#include "ask/past_answer.h"
#include "ask/session.h"
#include "cli/cli_fleet.h"
#include "cli/cli_show.h"
#include "cli/command.h"
#include "cli/remedy/remedy_cli.h"
#include "config/findings.h"
#include "format/json/json.h"
#include "format/process_rows.h"
#include "format/table/table.h"
#include "host/evidence/address_samples.h"
#include "host/frames/looks.h"
#include "insight/view/why.h"

/* Where a program spends its CPU time: sampled here, or by the daemon, which may sample other users' processes. */

enum { CPU_TIME_PROCESSES = 3 };

enum { USES_CPU_PERMILLE = 30 };

static bool is_listed(const struct process *const *list, size_t count, const struct process *p)
{
    for (size_t i = 0; i < count; i++)
        if (list[i]->pid == p->pid)
            return true;
    return false;
}

/* Picks at most CPU_TIME_PROCESSES programs that use a CPU, the most important ones on their GPU. Returns how many. */
static size_t cpu_time_processes(const struct snapshot *now, int only, const struct process *ret[CPU_TIME_PROCESSES])
{
    size_t count = 0;
    for (size_t g = 0; g < now->gpu_count; g++) {
        const struct gpu *gpu = &now->gpus[g];
        if (gpu->simulated || (only != ALL_GPUS && only != (int)g))
            continue;
        for (size_t i = 0; i < gpu->process_count && count < CPU_TIME_PROCESSES; i++) {
            const struct process *p = &gpu->processes[i];
            if (p->visible && reading_or(p->cpu_permille, 0) >= USES_CPU_PERMILLE && !is_listed(ret, count, p))
                ret[count++] = p;
        }
    }
    return count;
}

/* Describes the result for one of them, or how to permit sampling. Samples for `ms`; a daemon takes a second. */
static void cpu_time_words(struct cli *cli, struct session *session, const struct process *p, int64_t ms, char words[ADDRESS_WORDS])
{
    struct address_samples here = {.state = READING_DENIED};
    AUTO_BUF struct buf answer = BUF(64 * 1024);
    char target[64];
    words[0] = '\0';
    if (!cli->host) {
        address_samples_take(&cli->env, p->pid, ms, true, &here);
        address_samples_words(&here, words);
    }
    if (here.state == READING_OK || !session_asks_daemon(session))
        return;
    snprintf(target, sizeof target, "/api/why/cpu?pid=%d", (int)p->pid);
    if (session_get(session, target, &answer) == 200)
        json_cpu_samples_words(buf_view(&answer), words);
}

enum { SAMPLE_MS = 1000 };

static void cleanup_why(struct why **why)
{
    why_free(*why);
}

/* Samples for two seconds in which lines a program of this host spends its time. False: `err` says why it could not. */
static bool sample_lines(struct cli *cli, int32_t pid, struct looks *looks, struct program_lines *ret, struct error *err)
{
    const struct lines_request request = {.pid = pid, .ms = LINES_MS, .looks_per_s = LINES_LOOKS_PER_S};
    if (cli->host || lines_take(&cli->env, &request, looks, err) < 0)
        return false;
    looks_judge(looks, ret);
    return true;
}

/* Adds the lines of the rank that others wait for, else of the first program that limits its GPU itself. */
static void add_lines(struct cli *cli, const struct snapshot *now, int only, struct buf *out)
{
    struct looks looks;
    struct program_lines lines;
    struct error err = {0};
    for (int late = 1; late >= 0; late--)
        for (size_t g = 0; g < now->gpu_count; g++)
            for (size_t i = 0; i < now->gpus[g].process_count && (only == ALL_GPUS || only == (int)g); i++) {
                const struct process *p = &now->gpus[g].processes[i];
                if (now->gpus[g].simulated || !p->visible ||
                    !(late ? snapshot_waiting_ranks(now, p) > 0 : limit_side(p->limit.code) == LIMIT_SIDE_HOST) ||
                    !sample_lines(cli, p->pid, &looks, &lines, &err))
                    continue;
                table_late_rank(out, &cli->page, now, p, &lines);
                table_lines(out, &cli->page, p, &lines);
                looks_done(&looks);
                return;
            }
}

/* With -v: adds where programs spend their CPU time, sampled for a second in total. */
static void add_cpu_time(struct cli *cli, struct session *session, const struct snapshot *now, int only, struct buf *out)
{
    const struct process *list[CPU_TIME_PROCESSES];
    size_t count = cpu_time_processes(now, only, list);
    for (size_t i = 0; i < count; i++) {
        char words[ADDRESS_WORDS];
        cpu_time_words(cli, session, list[i], SAMPLE_MS / (int64_t)count, words);
        if (words[0])
            table_cpu_time(out, &cli->page, list[i], words);
    }
}

static int narrow_to_job(const struct snapshot **now, struct why **why, const char *job, struct error *err)
{
    const struct snapshot *part;
    struct why *own;
    int rc = why_of_job(*now, *why, job, &part, &own);
    if (rc < 0)
        return error_set(err, rc,
                         rc == -ENOENT ? "no process of job '%s' is on a GPU of this host; whirr ps --by job lists the jobs"
                                       : "out of memory (job '%s')",
                         job);
    snapshot_unref(*now);
    why_free(*why);
    *now = part;
    *why = own;
    return 0;
}

static int why_render(struct cli *cli, struct session *session, struct buf *out, struct error *err)
{
    AUTO_SNAPSHOT const struct snapshot *now = NULL;
    __attribute__((cleanup(cleanup_why))) struct why *why = NULL;
    if (explain_now(cli, session, &now, &why, err) < 0)
        return err->code;
    const char *job = options_value(cli->options, "job", NULL);
    if (job && narrow_to_job(&now, &why, job, err) < 0)
        return err->code;
    int only;
    if (session_choose(cli, &now, &why, &only, err) < 0)
        return err->code;
    cli->status = snapshot_none_readable(now) ? 1 : 0;
    expect_remedies(now, why);
    shown_answer_keep(cli, why, only);
    if (cli->json) {
        json_why(AS_JSON(cli, out), now, why, only);
    } else if (cli->ask.idle) {
        table_idle(out, &cli->page, now, why, only);
    } else {
        table_why(out, &cli->page, now, why, only, "whirr why");
        add_lines(cli, now, only, out);
        if (cli->page.verbose)
            add_cpu_time(cli, session, now, only, out);
    }
    return 0;
}

/* ---- one process ---- */

static int why_process_render(struct cli *cli, struct session *session, struct buf *out, struct error *err)
{
    AUTO_SNAPSHOT const struct snapshot *now = sample_watched(session, err);
    AUTO_PROCESS_ROWS struct process_rows rows = {0};
    int only, rc = now ? session_only(session, now, &only, err) : err->code;
    if (rc < 0 || (rc = process_rows_find(&rows, now, cli->options->arguments[0], only, err)) < 0)
        return rc;
    char cpu_time[ADDRESS_WORDS] = "";
    for (size_t i = 1; i < rows.count; i++) /* of a job's ranks, the one that the others wait for */
        if (snapshot_waiting_ranks(now, rows.rows[i].process) > 0 && !snapshot_waiting_ranks(now, rows.rows[0].process)) {
            struct process_row late = rows.rows[i];
            rows.rows[i] = rows.rows[0];
            rows.rows[0] = late;
        }
    const struct process *first = rows.rows[0].process;
    struct looks looks;
    struct program_lines lines;
    struct error why = {0};
    /* A process that is not visible may be in another PID namespace: here, its PID may be another program's. */
    bool ours = !rows.rows[0].gpu->simulated && first->visible &&
                (limit_side(first->limit.code) >= LIMIT_SIDE_HOST || snapshot_waiting_ranks(now, first) > 0);
    bool seen = ours && sample_lines(cli, first->pid, &looks, &lines, &why);
    if ((cli->page.verbose || (!cli->json && !seen)) && !rows.rows[0].gpu->simulated &&
        limit_side(first->limit.code) >= LIMIT_SIDE_HOST)
        cpu_time_words(cli, session, first, SAMPLE_MS, cpu_time);
    const struct limits_told told = {cpu_time, seen ? &lines : NULL, why.text};
    if (cli->json)
        json_limits(AS_JSON(cli, out), now, &rows, &told);
    else
        table_limits(out, &cli->page, now, &rows, &told);
    if (seen)
        looks_done(&looks);
    return 0;
}

static int show_codes(struct cli *cli)
{
    AUTO_BUF struct buf out = BUF(1 << 20);
    struct finding_settings settings = {0};
    if (cli->settings)
        config_findings(cli->settings, &settings);
    if (cli->json)
        json_finding_codes(AS_JSON_LINE(cli, &out), &settings);
    else
        table_finding_codes(&out, &cli->page, &settings);
    return show_text(&out);
}

static int why_run(struct cli *cli)
{
    struct past_question q;
    struct error err = {0};
    const struct options *o = cli->options;
    if (options_has(o, "codes"))
        return show_codes(cli);
    if (options_has(o, "try") &&
        (!cli->ask.idle || o->argument_count || options_has(o, "at") || options_has(o, "since") || cli->json))
        return cli_usage(cli, "--try needs --idle: it measures what settings save on an idle GPU");
    if (options_has(o, "try"))
        return remedy_try_idle(cli);
    if (options_has(o, "prove") && (o->argument_count || options_has(o, "since") || options_has(o, "until") ||
                                    options_has(o, "fleet") || options_has(o, "job") || options_has(o, "idle")))
        return cli_usage(cli, "--prove is about one finding at one moment: it only takes --gpu and --at");
    if (options_has(o, "prove"))
        return why_prove(cli, options_value(o, "prove", ""));
    if (options_has(o, "fleet") && o->argument_count)
        return cli_usage(cli, "a process is explained on its own host; whirr ps --fleet shows where it runs");
    if (options_has(o, "fleet"))
        return fleet_run(cli, options_has(o, "job") ? FLEET_JOB : FLEET_WHY);
    if (!options_has(o, "at") && !options_has(o, "since") && !options_has(o, "until")) {
        const char *host = options_value(o, "host", NULL);
        if (host)
            return cli_usage(cli, "--of is a host of the history and needs --at or --since; to ask that host: whirr --host %s why",
                             host);
        if (options_has(o, "store"))
            return cli_usage(cli, "--store needs --at or --since");
        return show(cli, o->argument_count ? why_process_render : why_render);
    }
    if (o->argument_count)
        return cli_usage(cli, "a process can't be combined with --at or --since; the history names the processes of each time");
    if (options_has(o, "watch") || options_has(o, "idle"))
        return cli_usage(cli, "--%s can't be combined with --at or --since", options_has(o, "watch") ? "watch" : "idle");
    if (options_has(o, "job"))
        return cli_usage(cli, "--job can't be combined with --at or --since");
    if (options_has(o, "source") || options_has(o, "sysroot"))
        return cli_usage(cli, "the past comes from the history, not from a source; for another history: --store");
    int rc = past_question_read(&q, options_parameter, cli->options, clock_wall(cli->env.clock), MOMENT_LOCAL, &err);
    return rc < 0 ? cli_usage(cli, "--%s", err.text) : past_show(cli, &q, NULL);
}

static const struct option_spec options[] = {
    {.name = "idle", .help = "List what keeps each GPU from idling, and who has it open; wakes no GPU"},
    {.name = "try", .help = "With --idle: measure what settings save on an idle GPU, and take them back"},
    {.name = "measure", .argument = "DURATION", .help = "With --try: measure each for this long (default: 20s)"},
    {.name = "yes", .letter = 'y', .help = "With --try: don't ask"},
    {OPTION_DRY_RUN},
    {.name = "job",
     .argument = "ID",
     .help = "Explain only this job: a Slurm job, a run of torchrun, a pod; with --fleet, over all its hosts"},
    {.name = "prove",
     .argument = "CODE",
     .help = "Show the rule of this finding, the readings that decide, and the nearest one that would change the answer"},
    {.name = "forecast", .help = "Show when memory will be full and when a GPU will throttle"},
    {.name = "codes", .help = "List every code of a finding with its severity and meaning"},
    {.name = "at",
     .argument = "TIME",
     .help = "Explain this moment of the past: \"03:10\" (the most recent), -2h, 2026-11-14T03:10"},
    {.name = "since", .argument = "TIME", .help = "Explain what happened since then, most important first"},
    {.name = "until", .argument = "TIME", .help = "With --since: up to then instead of now"},
    {OPTION_STORED_HOST},
    {OPTION_STORE},
    {FLEET_OPTION},
    {FLEET_OPTION_ALL},
    {OPTION_WATCH},
};

const struct command command_why = {
    .exits = "0 fine, even without a GPU; 1 it failed, there are GPUs and none of them can be read, or the finding of --prove "
             "doesn't apply; 2 wrong usage or configuration.",
    .name = "why",
    .group = HELP_EXPLAIN,
    .summary = "Explain why a GPU is loud, hot, slow or busy",
    .details =
        "Compares fan, temperature, power, clocks, utilization and processes with each other and with the GPU's own limits. "
        "If the driver doesn't keep the last seconds itself, it samples for about one second.\n\nWith a PID, or a part of a "
        "program's name, it says what limits that program: its GPU, copies, its own threads and "
        "loaders, disks, a CPU quota, other programs.\n\nWith --at and --since it "
        "answers from the history that `whirr serve` keeps: "
        "who was using the GPU then, and what happened as a result. Times without a zone are in this host's time zone. If "
        "only summaries are left, or nothing was stored, the answer says so.\n\nWith --idle it checks what can keep a GPU from "
        "idling: "
        "displays, a pinned memory clock, compute contexts, loaded models, browsers, video decode, other monitors, PCIe power "
        "saving, runtime power management, persistence mode. `whirr why` does the same for a GPU that draws more than it "
        "usually does when idle. What other users' programs have open is visible to root or an administrator only.\n\nWith --prove "
        "CODE the judgment is repeated with each reading changed in turn: which readings decide this finding, and at what value "
        "the answer would change. With --at it reads the history itself.",
    .arguments = "[PID|NAME]",
    .arguments_max = 1,
    OPTIONS(options),
    .examples = {{"whirr why", "why is the fan loud, why is it hot, why is it slow"},
                 {"whirr why train.py", "what limits this program, and what to do (also by PID)"},
                 {"whirr why --at 03:10", "why was it loud at ten past three last night"}},
    .gpus = true,
    .remote = true,
    .run = why_run,
};
