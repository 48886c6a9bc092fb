/* SPDX-License-Identifier: Apache-2.0
 * whirr health: are the GPUs healthy, and what to do if not.
 */
#include "ask/answers.h"
#include "cli/cli_show.h"
#include "insight/verdict/health.h"

static void write_answer(struct cli *cli, const struct health *health, const struct health_basis *basis,
                         const struct verdict *verdict, int only, struct buf *out)
{
    if (cli->json) {
        json_health(AS_JSON(cli, out), health, basis, verdict, only);
    } else if (options_has(cli->options, "nagios")) {
        nagios_health(out, health, basis, only);
    } else {
        table_health(out, &cli->page, health, basis, verdict, only);
    }
    cli->status = health_status(health, only);
}

/* The index of the GPU that --gpu names; HEALTH_ALL without it. */
static int which(struct session *session, const struct snapshot *s, int *only, struct error *err)
{
    int at = ALL_GPUS;
    int rc = session_only(session, s, &at, err);
    *only = rc < 0 || at == ALL_GPUS ? HEALTH_ALL : s->gpus[at].index;
    return rc < 0 ? err->code : 0;
}

static int health_render(struct cli *cli, struct session *session, struct buf *out, struct error *err)
{
    int only;
    AUTO_SNAPSHOT const struct snapshot *s = session_sample(session, GROUP_ALL, err);
    if (!s || which(session, s, &only, err) < 0)
        return err->code;
    AUTO_BUF struct buf texts = BUF(1024);
    struct health_basis basis;
    AUTO_HEALTH struct health *remembered = NULL;
    if (health_ask(cli, session, &remembered, &basis, &texts, err) < 0)
        return err->code;
    if (!basis.remembered && !options_has(cli->options, "watch"))
        basis.watched_since = (struct wall){0};
    write_answer(cli, remembered, &basis, s->verdict, only, out);
    return 0;
}

static int health_run(struct cli *cli)
{
    bool plugin = options_has(cli->options, "nagios");
    if (plugin && cli->json)
        return cli_usage(cli, "--json and --nagios can't be combined");
    if (plugin && options_has(cli->options, "watch"))
        return cli_usage(cli, "--nagios and --watch can't be combined");
    return show(cli, health_render);
}

static const struct option_spec options[] = {
    {.name = "slurm", .help = "Drain this node while a GPU is failing, and resume it (whirr health --slurm --help)"},
    {.name = "kubernetes", .help = "The same as condition and taint of a Kubernetes node"},
    {.name = "nagios", .help = "Print one line with performance data for Nagios, Icinga and the like"},
    {OPTION_WATCH},
};

const struct command command_health = {
    .exits = "as for monitoring plugins: 0 healthy or asleep; 1 degraded; 2 failing or lost; 3 nothing could be judged (no GPU, "
             "no "
             "driver, no answer, wrong usage or configuration).",
    .failure_status = 3,
    .name = "health",
    .group = HELP_EXPLAIN,
    .summary = "Check the health of the GPUs: state, reason, what to do",
    .details = "Checks driver errors (XID, including earlier ones in the kernel log), memory errors and repairs, overheating and "
               "throttling, links, fans, and the driver's own verdict. A running daemon is asked first: it knows what lasted, what "
               "came back after a reset, and what is missing. States: healthy, degraded, failing, lost, asleep, unknown.",
    OPTIONS(options),
    .examples = {{"whirr health", "the state of each GPU, the reason, and what to do"},
                 {"whirr health --nagios", "as a check plugin"},
                 {"whirr health --json | jq -r '.gpus[] | select(.state != \"healthy\") | .reason'", "only what is wrong"}},
    .remote = true,
    .run = health_run,
};
