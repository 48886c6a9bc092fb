/* SPDX-License-Identifier: Apache-2.0
 * whirr serve: from options to a running daemon.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "cli/command.h"
#include "cli/daemon.h"

enum { SOURCE_OPTIONS_MAX = 16 };

static int gather(const struct cli *cli, struct daemon_options *o, const char **sources)
{
    o->sources = sources;
    for (size_t i = 0; i < cli->options.given_count; i++) {
        const char *name = cli->options.given[i].spec->name, *value = cli->options.given[i].value;
        if (strcmp(name, "listen") == 0) {
            if (o->server.listen_count == SERVER_LISTEN_MAX)
                return cli_usage(cli->command, "more than %d times '--listen'", SERVER_LISTEN_MAX);
            o->server.listen[o->server.listen_count++] = value;
        } else if (strcmp(name, "source") == 0) {
            if (o->source_count == SOURCE_OPTIONS_MAX)
                return cli_usage(cli->command, "more than %d times '--source'", SOURCE_OPTIONS_MAX);
            sources[o->source_count++] = value;
        }
    }
    return EXIT_FINE;
}

static int run(struct cli *cli)
{
    const char *sources[SOURCE_OPTIONS_MAX];
    struct daemon_options o = {.env = &cli->env, .server = {.interval_ms = 5000}};
    struct error err = {0};
    int status = gather(cli, &o, sources);
    if (status != EXIT_FINE)
        return status;
    if (options_seconds(&cli->options, "interval", &o.server.interval_ms, &err) < 0)
        return cli_usage(cli->command, "%s", err.text);
    const char *socket = options_value(&cli->options, "socket", NULL);
    o.server.socket_path = socket && strcmp(socket, "none") == 0 ? NULL : socket;
    o.server.insecure = options_has(&cli->options, "insecure");
    if (o.server.listen_count == 0)
        o.server.listen[o.server.listen_count++] = "127.0.0.1:9447";
    if (!options_has(&cli->options, "verbose"))
        log_set_level(LOG_INFO); /* a daemon's log is its face */
    return daemon_run(&o);
}

static const struct option_spec options[] = {
    {.name = "listen", .argument = "ADDR:PORT", .help = "Where to listen (may be repeated); default: 127.0.0.1:9447"},
    {.name = "socket", .argument = "PATH|none", .complete = COMPLETE_FILE, .help = "The Unix socket for commands on this machine"},
    {.name = "interval", .argument = "SECONDS", .help = "Time between samples; default: 5"},
    {.name = "store", .argument = "URL|none", .help = "Where history is kept: sqlite:PATH, postgresql://... or none"},
    {.name = "insecure", .help = "Allow other addresses than loopback without authentication"},
};

static const struct example examples[] = {
    {"whirr serve", "dashboard and API on http://127.0.0.1:9447"},
    {"whirr serve --interval 1 --store sqlite:gpu.db", "a sample every second, kept in a file"},
    {"whirr serve --source sim:gpus=8,scenario=mixed", "on a simulated machine"},
};

const struct command command_serve = {
    .name = "serve",
    .summary = "Run the daemon: dashboard, API, events, metrics and history",
    .options = options,
    .option_count = ARRAY_LEN(options),
    .examples = examples,
    .example_count = ARRAY_LEN(examples),
    .run = run,
};
