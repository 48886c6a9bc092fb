/* SPDX-License-Identifier: Apache-2.0
 * whirr fleet forget: lists hosts that don't answer, and accepts that one is gone on purpose.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/words.h"
#include "cli/cli_fleet.h"
#include "cli/cli_show.h"
#include "config/config.h"
#include "fleet/fleet.h"
#include "format/json/json.h"

enum { TIMEOUT_MS = 60000 };

static const char *since(int64_t ms, char text[WORDS_SIZE])
{
    return ms ? words_duration(ms, text) : "an unknown time";
}

static void write_host(struct json_writer *j, const struct fleet *f, const struct fleet_note *n)
{
    jw_object(j);
    jw_key_text(j, "host", n->host);
    jw_key_text(j, "state", n->forgotten_ms ? "forgotten" : "silent");
    json_time(j, "last_seen_at", (struct wall){n->silent_ms ? f->at.ms - n->silent_ms : 0});
    jw_key(j, "forgotten");
    if (n->forgotten_ms) {
        jw_object(j);
        json_time(j, "at", (struct wall){f->at.ms - n->forgotten_ms});
        jw_key_text(j, "by", n->forgotten_by[0] ? n->forgotten_by : NULL);
        jw_end(j);
    } else {
        jw_null(j);
    }
    jw_end(j);
}

static void write_line(struct buf *out, const struct fleet_note *n)
{
    char time[WORDS_SIZE];
    if (n->forgotten_ms)
        buf_printf(out, "  forgotten  %s, %s ago by %s\n", n->host, since(n->forgotten_ms, time), words_person(n->forgotten_by));
    else
        buf_printf(out, "  silent     %s, last heard %s ago\n", n->host, since(n->silent_ms, time));
}

static int list_hosts(struct cli *cli, const struct fleet *f)
{
    AUTO_BUF struct buf out = BUF(FRAME_MAX);
    struct json_writer j = show_json(cli, &out);
    if (cli->json) {
        jw_object(&j);
        jw_key(&j, "hosts");
        jw_array(&j);
    }
    for (size_t i = 0; i < f->note_count; i++)
        if (f->notes[i].silent || f->notes[i].forgotten_ms) {
            if (cli->json)
                write_host(&j, f, &f->notes[i]);
            else
                write_line(&out, &f->notes[i]);
        }
    if (cli->json) {
        jw_end(&j);
        jw_end(&j);
        buf_char(&out, '\n');
    } else {
        buf_text(&out, f->silent ? "Gone on purpose? whirr fleet forget HOST\n" : "Every host answers.\n");
    }
    return show_text(&out);
}

static int fleet_verb(struct cli *cli)
{
    static const char *const verbs[] = {"forget"};
    const struct options *o = cli->options;
    const char *host = o->argument_count > 1 ? o->arguments[1] : NULL, *user = getenv("USER");
    bool undo = options_has(o, "undo"), dry = options_has(o, "dry-run");
    struct error err = {0};
    if (strcmp(o->arguments[0], verbs[0]) != 0)
        return cli_unknown(cli, "subcommand", o->arguments[0], verbs, ARRAY_LEN(verbs));
    if (!host && (undo || dry))
        return cli_usage(cli, "--%s needs a host; `whirr fleet forget` lists them", undo ? "undo" : "dry-run");
    int usable = fleet_check_url(cli);
    if (usable != EXIT_FINE)
        return usable;
    const struct fleet_place place = {.env = &cli->env,
                                      .url = fleet_url(cli),
                                      .timeout_ms = TIMEOUT_MS,
                                      .settings = cli->settings ? &cli->settings->fleet : NULL};
    struct fleet f;
    const struct fleet_note *n;
    if (fleet_fetch(&place, FLEET_WANT_HOSTS, &f, &err) < 0)
        return cli_error(cli, &err);
    int status = EXIT_FINE;
    if (!host)
        status = list_hosts(cli, &f);
    else if (fleet_forget(&place, &f, host, undo, dry, user ? user : "", &n, &err) < 0)
        status = cli_error(cli, &err);
    else if (dry)
        status = show_would(cli, undo ? "expect %s again" : "forget %s", n->host);
    else if (undo)
        printf("%s is expected again.\n", n->host);
    else
        printf("Forgotten: %s. It comes back as soon as it answers again, or with: whirr fleet forget --undo '%s'\n", n->host,
               n->host);
    fleet_done(&f);
    return status;
}

static const struct option_spec options[] = {
    {.name = "fleet", .argument = "URL", .help = "Database of the fleet (default: fleet.url)"},
    {.name = "undo", .help = "Expect it again"},
    OPTION_DRY_RUN,
};

const struct command command_fleet = {
    .name = "fleet",
    .group = HELP_ACT,
    .summary = "List hosts that don't answer, or accept that one is gone",
    .details = "A host that stops answering stays in the answers about the fleet for a week, with its last numbers. One that was "
               "taken out on purpose is left out once it is forgotten, until it answers again. PostgreSQL keeps that itself, "
               "with an event in the host's history; for other databases, this host keeps a list of who forgot what when (root's "
               "counts for all users).",
    .exits = "0 fine; 1 there is no such host, it answers, or the database does not; 2 wrong usage or configuration.",
    .arguments = "forget [HOST]",
    .arguments_min = 1,
    .arguments_max = 2,
    OPTIONS(options),
    .examples = {{"whirr fleet forget", "which hosts don't answer, and which were forgotten"},
                 {"whirr fleet forget gpu7 --fleet http://prometheus:9090", "it was taken out on purpose"},
                 {"whirr fleet forget --undo gpu7", "it was not"}},
    .lacks = "gpu",
    .run = fleet_verb,
};
