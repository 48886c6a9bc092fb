/* SPDX-License-Identifier: Apache-2.0
 * whirr status: all GPUs at a glance.
 */
#include "cli/cli_fleet.h"
#include "cli/cli_show.h"
#include "format/json/json.h"
#include "format/table/table.h"

/* Rates (PCIe traffic, profiling counters) need two samples. */
enum { RATE_MS = 1000 };

#define USUAL_FIELDS \
    "index,name,state,utilization_percent,memory_used_mb,memory_total_mb,temperature_celsius,power_watts,fan_percent,simulated"

/* What belongs to no single GPU: the list of all with their places, the driver, the host, whirr itself. */
static void write_host(struct buf *out, const struct page *page, const struct snapshot *s)
{
    buf_char(out, '\n');
    table_devices(out, page, s, ALL_GPUS);
    buf_char(out, '\n');
    table_driver(out, page, s);
    buf_char(out, '\n');
    table_resources(out, page, s, &s->host);
    buf_printf(out, "\nwhirr %s\n", WHIRR_VERSION);
}

static int status_render(struct cli *cli, struct session *session, struct buf *out, struct error *err)
{
    bool full = options_has(cli->options, "full");
    unsigned groups = full ? GROUP_ALL : GROUP_QUICK;
    AUTO_SNAPSHOT const struct snapshot *s = session_sample(session, groups, err);
    if (!s)
        return err->code;
    if (full && !options_has(cli->options, "watch") && !session_asks_daemon(session)) {
        if (!env_is_recorded(&cli->env)) /* the files of a recorded host don't change */
            pause_ms(RATE_MS);
        snapshot_unref(s);
        s = session_sample(session, groups, err);
        if (!s)
            return err->code;
    }
    int only;
    if (session_choose(cli, &s, NULL, &only, err) < 0)
        return err->code;
    cli->status = s->gpu_count == 0 && snapshot_none_readable(s) ? 1 : 0;
    if (fields_wanted(cli)) {
        AUTO_BUF struct buf body = BUF(FRAME_MAX);
        json_metrics(JSON_TO(&body), s, only);
        return fields_write(cli, out, buf_view(&body), "gpus", USUAL_FIELDS, s->taken_at, err);
    }
    if (cli->json) {
        json_metrics(AS_JSON(cli, out), s, only);
    } else if (show_is_line(cli)) {
        table_bar(out, &cli->page, s, only, options_value(cli->options, "format", "plain"));
    } else if (full) {
        table_full(out, &cli->page, s, only);
        if (only == ALL_GPUS)
            write_host(out, &cli->page, s);
    } else {
        table_status(out, &cli->page, s, only);
        table_status_hints(out, &cli->page, s);
    }
    return 0;
}

static int status_run(struct cli *cli)
{
    const struct options *o = cli->options;
    if (options_has(o, "fleet"))
        return fleet_run(cli, FLEET_STATUS);
    int status = fields_check(cli);
    if (status != EXIT_FINE)
        return status;
    return show(cli, status_render);
}

static const struct option_spec options[] = {
    {.name = "full", .help = "Show every reading, the driver and the host; takes one second to measure rates"},
    {.name = "line", .help = "Print one line, for status bars"},
    {.name = "format",
     .argument = "BAR",
     .values = bar_formats,
     .help = "One line in the form of a bar: plain, waybar, tmux, polybar, i3blocks"},
    FIELDS_OPTIONS,
    {FLEET_OPTION},
    {FLEET_OPTION_ALL},
    {OPTION_WATCH},
};

const struct command command_status = {
    .name = "status",
    .summary = "Show all GPUs at a glance",
    .details = "A verdict, then one row per GPU; a mark shows where something is unusual. A reading that the hardware, the driver "
               "or your permissions do not provide is shown as a dash, "
               "and as null in JSON, where `absent` has the reason.",
    OPTIONS(options),
    .examples = {{"whirr", "all GPUs at a glance"},
                 {"whirr status --full --gpu 0", "every reading of GPU 0"},
                 {"whirr status --json | jq '.gpus[0].power_watts'", "one number for a script"}},
    .gpus = true,
    .remote = true,
    .run = status_run,
};
