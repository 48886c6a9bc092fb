/* SPDX-License-Identifier: Apache-2.0
 * whirr forget: lists what the host should have and lacks, and accepts that something is gone on purpose.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "ask/answers.h"
#include "ask/client.h"
#include "base/cleanup.h"
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

/* Of a GPU, or of a part that is none. */
static const char *name_of(const json_t *one)
{
    const char *uuid = json_text(one, "gpu_uuid");
    return json_object_get(one, "name") ? json_text(one, "name") : uuid[0] ? uuid : json_text(one, "pci_address");
}

static const char *model_of(const json_t *one)
{
    return json_text(one, json_object_get(one, "name") ? "model" : "gpu_name");
}

/* One after the other; NULL: that was all. */
static const json_t *next_of(const json_t *answer, size_t at)
{
    const json_t *gpus = json_object_get(answer, "gpus");
    size_t count = json_array_size(gpus);
    return at < count ? json_array_get(gpus, at) : json_array_get(json_object_get(answer, "parts"), at - count);
}

static void inventory_line(const struct cli *cli, struct buf *out, const json_t *gpu)
{
    const char *state = json_text(gpu, "state");
    const json_t *forgotten = json_object_get(gpu, "forgotten");
    char time[WORDS_SIZE];
    buf_printf(out, "  %-9s  %s  %s", state, model_of(gpu), name_of(gpu));
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
    AUTO_JSON json_t *answer = alert_ask(cli, "GET", "/api/gpu/inventory", NULL, &err);
    const json_t *gpu;
    size_t missing = 0;
    if (!answer)
        return cli_error(cli, &err);
    AUTO_BUF struct buf out = BUF(1 << 20);
    for (size_t i = 0; (gpu = next_of(answer, i)); i++) {
        const char *state = json_text(gpu, "state");
        missing += strcmp(state, "missing") == 0 || strcmp(state, "replaced") == 0;
        inventory_line(cli, &out, gpu);
    }
    if (!missing)
        buf_text(&out, "Nothing is missing.\n");
    else
        buf_text(&out, "Gone on purpose? whirr forget NAME\n");
    return cli->json ? alert_print_json(answer) : show_text(&out);
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
    return strcasecmp(name_of(gpu), name) == 0 || strcasecmp(json_text(gpu, "pci_address"), name) == 0 ||
           (json_object_get(gpu, "gpu_index") && strcmp(index, name) == 0);
}

static int forget_dry(struct cli *cli, const char *name, bool undo)
{
    struct error err = {0};
    AUTO_JSON json_t *answer = alert_ask(cli, "GET", "/api/gpu/inventory", NULL, &err);
    const json_t *gpu;
    if (!answer)
        return cli_error(cli, &err);
    AUTO_BUF struct buf line = BUF(4096);
    for (size_t i = 0; (gpu = next_of(answer, i)); i++) {
        bool gone = strcmp(json_text(gpu, "state"), "present") != 0, forgotten = json_is_object(json_object_get(gpu, "forgotten"));
        if (!line.len && gone && forgotten == undo && is_called(gpu, name))
            buf_printf(&line, "%s (%s)", name_of(gpu), model_of(gpu));
    }
    if (!line.len)
        return cli_fail("nothing %s is called '%s'; `whirr forget` lists all", undo ? "forgotten" : "missing", name);
    return undo ? show_would(cli, "expect %s again", line.at) : show_would(cli, "forget %s", line.at);
}

static int forget_run(struct cli *cli)
{
    bool undo = options_has(cli->options, "undo");
    const char *user = getenv("USER");
    struct error err = {0};
    if (cli->options->argument_count == 0)
        return undo ? cli_usage(cli, "--undo needs a name; `whirr forget` lists all") : forget_list(cli);
    if (options_has(cli->options, "dry-run"))
        return forget_dry(cli, cli->options->arguments[0], undo);
    AUTO_BUF struct buf body = BUF(4096);
    struct json_writer j = JSON_WRITER(&body);
    jw_object(&j);
    jw_key_text(&j, "gpu", cli->options->arguments[0]);
    jw_key_bool(&j, "undo", undo);
    jw_key_text(&j, "by", user ? user : "");
    jw_end(&j);
    AUTO_JSON json_t *answer = alert_ask(cli, "POST", "/api/gpu/forget", body.at, &err);
    if (!answer)
        return cli_error(cli, &err);
    take_new_sample(cli);
    const json_t *gpu = json_object_get(answer, "gpu"), *one = json_is_object(gpu) ? gpu : json_object_get(answer, "part");
    if (cli->json)
        return alert_print_json(answer);
    if (undo)
        printf("%s is expected again.\n", name_of(one));
    else
        printf("Forgotten: %s (%s). Back with: whirr forget --undo %s\n", name_of(one), model_of(one), name_of(one));
    return EXIT_FINE;
}

static const struct option_spec options[] = {
    {.name = "undo", .help = "Expect it again"},
    {OPTION_DRY_RUN},
};

const struct command command_forget = {
    .name = "forget",
    .group = HELP_ACT,
    .summary = "List missing GPUs, or accept that one was taken out",
    .details =
        "The daemon remembers every GPU, NPU and accelerator that it has seen, and every InfiniBand port that had a link, also "
        "over restarts and without a driver. What is missing is a finding until it is back or forgotten. What was forgotten "
        "counts again once it is seen again.",
    .exits = "0 fine; 1 nothing is called that, it is there, or no daemon is running; 2 wrong usage or configuration.",
    .arguments = "[INDEX|UUID|PCI|PORT]",
    .arguments_max = 1,
    OPTIONS(options),
    .examples = {{"whirr forget", "what this host should have"},
                 {"whirr forget GPU-2816d54b-023f-4686-b4d7-fa0aded33742", "it was taken out on purpose"},
                 {"whirr forget --undo GPU-2816d54b-023f-4686-b4d7-fa0aded33742", "it was not"}},
    .remote = true,
    .any_socket = true,
    .lacks = "gpu",
    .run = forget_run,
};
