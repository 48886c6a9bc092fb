/* SPDX-License-Identifier: Apache-2.0
 * whirr forget: lists what the host should have and lacks, and accepts that a GPU is gone on purpose.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "ask/answers.h"
#include "ask/client.h"
#include "base/json_reader.h"
#include "base/json_writer.h"
#include "base/words.h"
#include "cli/cli_show.h"

static const char *ago(const struct cli *cli, const json_t *o, const char *key, char out[WORDS_SIZE])
{
    struct wall at;
    if (!wall_parse(str_from(json_text(o, key)), &at))
        return "an unknown time";
    return words_duration(MAX_OF(clock_wall(cli->env.clock).ms - at.ms, (int64_t)0), out);
}

static void inventory_line(const struct cli *cli, struct buf *out, const json_t *gpu)
{
    const char *state = json_text(gpu, "state"), *uuid = json_text(gpu, "gpu_uuid");
    const json_t *forgotten = json_object_get(gpu, "forgotten");
    char time[WORDS_SIZE];
    buf_printf(out, "  %-9s  %s  %s", state, json_text(gpu, "gpu_name"), uuid[0] ? uuid : json_text(gpu, "pci_address"));
    if (json_text(gpu, "serial")[0])
        buf_printf(out, "  serial %s", json_text(gpu, "serial"));
    if (json_is_object(forgotten))
        buf_printf(out, ", %s ago by %s", ago(cli, forgotten, "at", time), words_person(json_text(forgotten, "by")));
    else if (strcmp(state, "present") != 0)
        buf_printf(out, ", last seen %s ago", ago(cli, gpu, "last_seen_at", time));
    if (json_text(gpu, "replaced_by")[0])
        buf_printf(out, ", its slot has %s", json_text(gpu, "replaced_by"));
    buf_char(out, '\n');
}

static int forget_list(struct cli *cli)
{
    struct error err = {0};
    json_t *answer = alert_ask(cli, "GET", "/api/gpu/inventory", NULL, &err);
    const json_t *gpu;
    size_t i, missing = 0;
    if (!answer)
        return cli_error(cli, &err);
    AUTO_BUF struct buf out = BUF(1 << 20);
    json_array_foreach(json_object_get(answer, "gpus"), i, gpu)
    {
        const char *state = json_text(gpu, "state");
        missing += strcmp(state, "missing") == 0 || strcmp(state, "replaced") == 0;
        inventory_line(cli, &out, gpu);
    }
    if (!missing)
        buf_text(&out, "No GPU is missing.\n");
    else
        buf_text(&out, "Gone on purpose? whirr forget UUID\n");
    int status = cli->json ? alert_print_json(answer) : show_text(&out);
    json_decref(answer);
    return status;
}

/* So that the next question does not show it any more. */
static void take_new_sample(const struct cli *cli)
{
    struct client *client = NULL;
    struct error ignored = {0};
    const struct snapshot *now = NULL;
    if (act_open(cli, &client, &ignored) == 0 && client_snapshot(client, 0, 0, &now, &ignored) == 0)
        snapshot_unref(now);
    client_close(client);
}

static bool is_called(const json_t *gpu, const char *name)
{
    char index[16];
    snprintf(index, sizeof index, "%lld", (long long)json_integer_value(json_object_get(gpu, "gpu_index")));
    return strcasecmp(json_text(gpu, "gpu_uuid"), name) == 0 || strcasecmp(json_text(gpu, "pci_address"), name) == 0 ||
           strcmp(index, name) == 0;
}

static int forget_dry(struct cli *cli, const char *name, bool undo)
{
    struct error err = {0};
    json_t *answer = alert_ask(cli, "GET", "/api/gpu/inventory", NULL, &err), *gpu;
    size_t i;
    if (!answer)
        return cli_error(cli, &err);
    AUTO_BUF struct buf line = BUF(4096);
    json_array_foreach(json_object_get(answer, "gpus"), i, gpu)
    {
        bool gone = strcmp(json_text(gpu, "state"), "present") != 0, forgotten = json_is_object(json_object_get(gpu, "forgotten"));
        if (!line.len && gone && forgotten == undo && is_called(gpu, name))
            buf_printf(&line, "%s (%s)", json_text(gpu, json_text(gpu, "gpu_uuid")[0] ? "gpu_uuid" : "pci_address"),
                       json_text(gpu, "gpu_name"));
    }
    json_decref(answer);
    if (!line.len)
        return cli_fail("no %s GPU is called '%s'; `whirr forget` lists them", undo ? "forgotten" : "missing", name);
    return undo ? show_would(cli, "expect %s again", line.at) : show_would(cli, "forget %s", line.at);
}

static int forget_run(struct cli *cli)
{
    bool undo = options_has(cli->options, "undo");
    const char *user = getenv("USER");
    struct error err = {0};
    if (cli->options->argument_count == 0)
        return undo ? cli_usage(cli, "--undo needs a GPU; `whirr forget` lists them") : forget_list(cli);
    if (options_has(cli->options, "dry-run"))
        return forget_dry(cli, cli->options->arguments[0], undo);
    AUTO_BUF struct buf body = BUF(4096);
    struct json_writer j = JSON_WRITER(&body);
    jw_object(&j);
    jw_key_text(&j, "gpu", cli->options->arguments[0]);
    jw_key_bool(&j, "undo", undo);
    jw_key_text(&j, "by", user ? user : "");
    jw_end(&j);
    json_t *answer = alert_ask(cli, "POST", "/api/gpu/forget", body.at, &err);
    if (!answer)
        return cli_error(cli, &err);
    take_new_sample(cli);
    const json_t *gpu = json_object_get(answer, "gpu");
    const char *uuid = json_text(gpu, "gpu_uuid");
    int status = EXIT_FINE;
    if (cli->json)
        status = alert_print_json(answer);
    else if (undo)
        printf("%s is expected again.\n", uuid[0] ? uuid : json_text(gpu, "pci_address"));
    else
        printf("Forgotten: %s (%s). Back with: whirr forget --undo %s\n", uuid[0] ? uuid : json_text(gpu, "pci_address"),
               json_text(gpu, "gpu_name"), uuid[0] ? uuid : json_text(gpu, "pci_address"));
    json_decref(answer);
    return status;
}

static const struct option_spec options[] = {
    {.name = "undo", .help = "Expect it again"},
    OPTION_DRY_RUN,
};

const struct command command_forget = {
    .name = "forget",
    .group = HELP_ACT,
    .summary = "List missing GPUs, or accept that one was taken out",
    .details = "The daemon remembers every GPU that it has seen, also over restarts and without a driver. One that is missing is "
               "critical until it is back or forgotten. A forgotten GPU counts again once it is seen again.",
    .exits = "0 fine; 1 there is no such GPU, it is there, or no daemon is running; 2 wrong usage or configuration.",
    .arguments = "[INDEX|UUID|PCI]",
    .arguments_max = 1,
    OPTIONS(options),
    .examples = {{"whirr forget", "which GPUs this host should have"},
                 {"whirr forget GPU-2816d54b-023f-4686-b4d7-fa0aded33742", "it was taken out on purpose"},
                 {"whirr forget --undo GPU-2816d54b-023f-4686-b4d7-fa0aded33742", "it was not"}},
    .remote = true,
    .any_socket = true,
    .lacks = "gpu",
    .run = forget_run,
};
