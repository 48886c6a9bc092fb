/* SPDX-License-Identifier: Apache-2.0
 * whirr mcp: answers an assistant.
 */
#include <unistd.h>

#include "cli/command.h"
#include "cli/mcp/stdio.h"

static int mcp_run(struct cli *cli)
{
    if (isatty(STDIN_FILENO) && isatty(STDOUT_FILENO))
        return cli_usage(cli,
                         "an assistant starts this and talks to it over stdin and stdout; docs/assistants.md has the settings");
    return mcp_stdio_run(cli);
}

const struct command command_mcp = {
    .name = "mcp",
    .group = HELP_RUN,
    .summary = "Answer AI assistants: a Model Context Protocol server on stdin and stdout",
    .details =
        "For the settings of Claude, Codex, Cursor, VS Code and others, which start it and end it (docs/assistants.md). Tools: "
        "status, "
        "why, ps, health, history, report, fit, forecast, findings, hosts; all of them only read, and give what the commands "
        "give, in at most 4 KiB unless more is asked for. Secrets in command lines are masked, and text that comes from "
        "programs is marked as data. The daemon has the same at /mcp, if server.mcp is set.",
    .examples = {{"claude mcp add whirr -- whirr mcp", "Claude Code asks this host"},
                 {"codex mcp add gpu2 -- whirr mcp --host ssh://gpu2", "Codex asks another one"},
                 {"claude mcp add whirr -- whirr mcp --source sim:gpus=4", "try it without a GPU"}},
    .remote = true,
    .lacks = "json gpu",
    .run = mcp_run,
};
