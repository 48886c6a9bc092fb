/* SPDX-License-Identifier: Apache-2.0
 * whirr status: all GPUs at a glance.
 */
#include "base/cleanup.h"
#include "cli/show.h"
#include "format/json/json.h"
#include "format/table/table.h"

/* Rates (PCIe traffic, profiling counters) are taken between two samples. */
enum { RATE_MS = 1000 };

static int render(struct cli *cli, struct session *session, struct buf *out, struct error *err)
{
    bool full = options_has(&cli->options, "full");
    unsigned groups = full ? GROUP_ALL : GROUP_QUICK;
    AUTO_SNAPSHOT const struct snapshot *s = session_sample(session, groups, err);
    if (!s)
        return err->code;
    if (full && !options_has(&cli->options, "watch") && !session_asks_daemon(session)) {
        if (!env_is_recorded(&cli->env)) /* the files of a recorded machine stand still */
            pause_ms(RATE_MS);
        snapshot_unref(s);
        s = session_sample(session, groups, err);
        if (!s)
            return err->code;
    }
    int only;
    if (session_only(session, s, &only, err) < 0)
        return err->code;
    if (cli->json) {
        struct json_writer j = show_json(cli, out);
        json_metrics(&j, s, only);
        buf_char(out, '\n');
    } else if (full) {
        table_full(out, &cli->page, s, only);
    } else {
        table_status(out, &cli->page, s, only);
    }
    return 0;
}

static int run(struct cli *cli)
{
    return show(cli, render);
}

static const struct option_spec options[] = {
    {.name = "full", .help = "Every reading, also the slow ones; takes one second to measure rates"},
    {.name = "watch", .letter = 'w', .argument = "SECONDS", .optional = true, .help = "Again and again (default: every 2 seconds)"},
};

static const struct example examples[] = {
    {"whirr", "all GPUs at a glance"},
    {"whirr status --watch", "the same, redrawn every 2 seconds"},
    {"whirr status --full --gpu 0", "everything that GPU 0 tells"},
    {"whirr status --json | jq '.gpus[0].power_watts'", "one number for a script"},
    {"whirr --source sim:gpus=4,scenario=training", "without a GPU, on a simulated machine"},
};

const struct command command_status = {
    .name = "status",
    .summary = "All GPUs at a glance: load, memory, heat, power, fan, and who uses them",
    .details = "One or two lines a GPU. A reading that the hardware, the driver or permissions do not give is shown as a dash, "
               "and as null in JSON, where `absent` tells the reason.",
    .options = options,
    .option_count = ARRAY_LEN(options),
    .examples = examples,
    .example_count = ARRAY_LEN(examples),
    .run = run,
};
