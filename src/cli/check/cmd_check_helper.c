/* SPDX-License-Identifier: Apache-2.0
 * whirr check-helper: the process that opens the compute driver and runs the tests. whirr check starts it, not people.
 */
#include "check/helper.h"
#include "cli/command.h"

static int check_helper_run(struct cli *cli)
{
    struct check_order order = {0};
    if (!check_order_read(cli->options->arguments[0], &order))
        return cli_usage(cli, "only `whirr check` starts this");
    return check_helper(&cli->env, &order, stdout);
}

const struct command command_check_helper = {
    .alone = true,
    .name = "check-helper",
    .summary = "The tests of one GPU, for whirr check",
    .arguments = "ORDER",
    .arguments_min = 1,
    .arguments_max = 1,
    .hidden = true,
    .run = check_helper_run,
};
