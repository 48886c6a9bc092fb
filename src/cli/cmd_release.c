/* SPDX-License-Identifier: Apache-2.0
 * whirr release: makes the daemon release the driver for a while, to upgrade it or reset a GPU.
 */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <unistd.h>

#include "answer/answer.h"
#include "ask/client.h"
#include "ask/session.h"
#include "base/cleanup.h"
#include "base/os/words.h"
#include "base/words.h"
#include "cli/cli_show.h"

enum { DEFAULT_MS = 5 * 60 * 1000 };

struct not_held {
    const char *daemon;
    bool released;
};

ANSWER_TABLE(not_held_answer, struct not_held)
{
    FIELD(WORD, "daemon", daemon, NULL, OR_NULL);
    FIELD(BOOL, "released", released, NULL);
}

/* If no daemon holds the driver, there is nothing to release: a script may continue. */
static int release_not_held(const struct cli *cli, const struct error *err)
{
    if (cli->json)
        return show_answer(cli, &not_held_answer, &(struct not_held){.released = true});
    return printf("Nothing holds the GPU driver: %s.\n", err->text) < 0 ? EXIT_FAILED : EXIT_FINE;
}

/* The daemon's answer, with its name added. */
static int print_json(const struct buf *answer, const char *place)
{
    AUTO_BUF struct buf out = BUF(65536);
    AUTO_JSON json_t *json = json_loadb(answer->at ? answer->at : "", answer->len, 0, NULL);
    json_object_set_new(json, "daemon", json_string(place));
    AUTO_FREE char *text = json ? json_dumps(json, JSON_PRESERVE_ORDER) : NULL;
    if (!text)
        return cli_fail("cannot understand the answer of the daemon at %s", place);
    buf_printf(&out, "%s\n", text);
    return show_text(&out);
}

static int release_ask(const struct cli *cli, struct client *client, int64_t for_ms)
{
    struct error err = {0};
    char body[64], message[512], duration[WORDS_SIZE];
    const char *place = client_place(client);
    AUTO_BUF struct buf answer = BUF(65536);
    words_duration(for_ms, duration);
    if (options_has(cli->options, "dry-run"))
        return for_ms ? show_would(cli, "make the daemon at %s release the GPU driver for %s", place, duration)
                      : show_would(cli, "make the daemon at %s read the GPUs again", place);
    snprintf(body, sizeof body, "{\"for_seconds\": %.3f}", (double)for_ms / 1000);
    int result = client_request(client, "POST", "/api/source/release", body, &answer, CLIENT_WITHIN_MS, &err);
    if (result < 0)
        return cli_fail("%s", err.text);
    if (result >= 400) {
        client_error_text(buf_view(&answer), message, sizeof message);
        return cli_fail("the daemon at %s refused: %s", place, message);
    }
    if (cli->json)
        return print_json(&answer, place);
    if (for_ms == 0)
        printf("The daemon at %s is reading the GPUs again.\n", place);
    else if (result == 202)
        printf("The daemon at %s is releasing the GPU driver, but a call into it has not come back yet; see `whirr doctor`.\n",
               place);
    else
        printf("The daemon at %s has released the GPU driver. It returns automatically in %s, or now with `whirr driver release "
               "--end`.\n",
               place, duration);
    return EXIT_FINE;
}

/* At a terminal `whirr release` alone may mean three things; a script gets what it always got. */
static bool is_unclear(const struct cli *cli)
{
    return cli->name == cli->command->name && !options_has(cli->options, "for") && !options_has(cli->options, "end") &&
           !cli->json && !cli->host && isatty(STDIN_FILENO) && cli->terminal;
}

static int release_run(struct cli *cli)
{
    if (is_unclear(cli))
        return cli_usage(cli, "release what?\n"
                              "  the GPU's memory, for a game, say   whirr free\n"
                              "  the driver, for an upgrade          whirr driver release\n"
                              "  a lease or a changed setting        whirr undo, or whirr lease end ID");
    int64_t for_ms = DEFAULT_MS;
    int status = options_span(cli, "for", &for_ms);
    if (status != EXIT_FINE)
        return status;
    if (options_has(cli->options, "end"))
        for_ms = 0;

    struct error err = {0};
    struct client *client = NULL;
    int result = act_open(cli, &client, &err);
    if (result)
        return result == -ENOENT ? release_not_held(cli, &err) : cli_error(cli, &err);
    status = release_ask(cli, client, for_ms);
    client_close(client);
    return status;
}

static const struct option_spec options[] = {
    {.name = "for", .argument = "DURATION", .help = "How long, like 90s or 10m (default: 5m)"},
    {.name = "end", .help = "Take the driver back now"},
    {OPTION_DRY_RUN},
};

const struct command command_release = {
    .exits = "0 the driver is released, or nothing holds it; 1 it failed, or only a daemon that is not yours is running; 2 wrong "
             "usage or configuration.",
    .name = "release",
    .place = "driver release",
    .hidden = true,
    .group = HELP_ACT,
    .summary = "Release the GPU driver for a while, for an upgrade or a reset",
    .details = "Closes the driver's library and device files; the GPUs are shown as released meanwhile, and are read again "
               "automatically. Acts on your own daemon (" WORD_ADMINISTRATOR
               ": the system's) or the one given with --socket, and on no other.",
    OPTIONS(options),
    .examples = {{"whirr driver release --for 20m && apt upgrade nvidia-driver", "while the driver is upgraded"},
                 {"whirr driver release && nvidia-smi --gpu-reset -i 0", "a GPU can only be reset while nothing holds it"},
                 {"whirr driver release --end", "take it back early"}},
    .remote = true,
    .any_socket = true,
    .lacks = "gpu",
    .run = release_run,
};
