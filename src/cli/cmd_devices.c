/* SPDX-License-Identifier: Apache-2.0
 * whirr devices: which GPUs there are. whirr driver: which driver runs them.
 */
#include "cli/cli_show.h"
#include "format/json/json.h"
#include "format/table/table.h"

static int render_devices(struct cli *cli, struct session *session, struct buf *out, struct error *err)
{
    int only;
    AUTO_SNAPSHOT const struct snapshot *s = session_sample(session, GROUP_FAST, err);
    if (!s || session_only(session, s, &only, err) < 0)
        return err->code;
    if (cli->json)
        json_devices(AS_JSON(cli, out), s, only);
    else
        table_devices(out, &cli->page, s, only);
    return 0;
}

static int run_devices(struct cli *cli)
{
    return show(cli, render_devices);
}

static int render_driver(struct cli *cli, struct session *session, struct buf *out, struct error *err)
{
    AUTO_SNAPSHOT const struct snapshot *s = session_sample(session, GROUP_STATIC | GROUP_FAST, err);
    if (!s)
        return err->code;
    if (cli->json)
        json_driver(AS_JSON(cli, out), s);
    else
        table_driver(out, &cli->page, s);
    return 0;
}

static int run_driver(struct cli *cli)
{
    return show(cli, render_driver);
}

static const struct option_spec device_options[] = {
    {OPTION_WATCH},
};

const struct command command_devices = {
    .name = "devices",
    .hidden = true,
    .summary = "List the GPUs",
    .details = "A GPU that can't be read stays in the list, with the driver's error.",
    OPTIONS(device_options),
    .examples = {{"whirr devices", "the GPUs of this host with index, memory and PCI address"},
                 {"whirr devices --json | jq -r '.devices[].name'", "their names for a script"},
                 {"whirr devices --watch", "see a GPU appear or disappear"}},
    .remote = true,
    .run = run_devices,
};

const struct command command_driver = {
    .name = "driver",
    .summary = "Show driver, CUDA and NVML versions; release the driver for an upgrade",
    .examples = {{"whirr driver", "driver, CUDA and NVML versions"},
                 {"whirr driver --json | jq -r .driver_version", "the driver version for a script"},
                 {"whirr driver --direct", "without asking a running daemon"}},
    .remote = true,
    .lacks = "gpu",
    .run = run_driver,
};
