/* SPDX-License-Identifier: Apache-2.0
 * whirr release: the daemon lets go of the driver for a while, so that it can be upgraded or a GPU reset.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "ask/client.h"
#include "ask/settings.h"
#include "base/cleanup.h"
#include "base/units.h"
#include "cli/show.h"

enum { DEFAULT_MS = 5 * 60 * 1000, ANSWER_WITHIN_MS = 5000 };

static int run(struct cli *cli)
{
    const char *text = options_value(&cli->options, "for", NULL);
    int64_t for_ms = DEFAULT_MS;
    if (text && (!duration_parse(str_from(text), &for_ms) || for_ms <= 0))
        return cli_usage(cli, "'--for %s' is not %s", text, DURATION_SYNTAX);
    if (options_has(&cli->options, "end"))
        for_ms = 0;

    struct error err = {0};
    struct config *config = NULL;
    int status = settings_load(cli, NULL, 0, &config);
    if (status != EXIT_FINE)
        return status;
    struct client *client = NULL;
    int result = client_open(config->server.socket, &client, &err);
    config_free(config);
    if (result == -ENOENT)
        return cli_fail("%s; nothing of whirr holds the driver then", err.text);
    if (result)
        return cli_fail("%s", err.text);
    char body[64];
    snprintf(body, sizeof body, "{\"for_seconds\": %.3f}", (double)for_ms / 1000);
    AUTO_BUF struct buf answer = BUF(65536);
    result = client_request(client, "POST", "/api/source/release", body, &answer, ANSWER_WITHIN_MS, &err);
    client_close(client);
    if (result < 0)
        return cli_fail("%s", err.text);
    if (result >= 400) {
        char message[512];
        client_error_text(buf_view(&answer), message, sizeof message);
        return cli_fail("%s", message);
    }
    if (cli->json)
        return show_text(&answer);
    char duration[UNITS_TEXT_SIZE];
    duration_format(for_ms, duration);
    if (for_ms == 0)
        printf("The daemon reads the GPUs again.\n");
    else if (result == 202)
        printf("The daemon was told to let go of the driver, but a call into it has not come back yet; see `whirr doctor`.\n");
    else
        printf("The daemon has let go of the driver. It comes back by itself in %s, or now with `whirr release --end`.\n",
               duration);
    return EXIT_FINE;
}

static const struct option_spec options[] = {
    {.name = "for", .argument = "DURATION", .help = "How long, like 90s or 10m; default: 5m"},
    {.name = "end", .help = "Take the driver back now"},
};

static const struct example examples[] = {
    {"whirr release", "for five minutes"},
    {"whirr release --for 20m && apt upgrade nvidia-driver", "while the driver is upgraded"},
    {"whirr release && nvidia-smi --gpu-reset -i 0", "a GPU can only be reset when nobody holds it"},
    {"whirr release --end", "done early"},
};

const struct command command_release = {
    .exits = "0 the driver is released, or nothing holds it; 1 it failed, or only a daemon that is not yours is running; 2 wrong "
             "usage or configuration.",
    .name = "release",
    .summary = "Let the daemon go of the driver for a while, for an upgrade or a reset",
    .details = "Closes the driver's library and device files; the GPUs are shown as released meanwhile. Comes back by itself.",
    .options = options,
    .option_count = ARRAY_LEN(options),
    .examples = examples,
    .example_count = ARRAY_LEN(examples),
    .run = run,
};
