/* SPDX-License-Identifier: Apache-2.0
 * whirr fleet forget: lists hosts that don't answer, and accepts that one is gone on purpose.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answer/answer.h"
#include "base/words.h"
#include "cli/cli_fleet.h"
#include "cli/cli_show.h"
#include "fleet/fleet.h"

static const char *since(int64_t ms, char text[WORDS_SIZE])
{
    return ms ? words_duration(ms, text) : "an unknown time";
}

/* The next host that does not answer, or need not. */
static const struct fleet_note *next_note(const struct fleet *f, size_t *at)
{
    while (*at < f->note_count && !f->notes[*at].silent && !f->notes[*at].forgotten_ms)
        ++*at;
    return *at < f->note_count ? &f->notes[(*at)++] : NULL;
}

static const void *next_host(const struct answer_at *at, struct answer_step *step)
{
    return next_note(at->record, &step->at);
}

static bool make_ago(const struct answer_at *at, int64_t ago_ms, union answer_value *ret)
{
    ret->at.ms = ((const struct fleet *)at->context)->at.ms - ago_ms;
    return ago_ms != 0;
}

static bool make_seen(const struct answer_at *at, union answer_value *ret)
{
    return make_ago(at, ((const struct fleet_note *)at->record)->silent_ms, ret);
}

static bool make_forgotten(const struct answer_at *at, union answer_value *ret)
{
    return make_ago(at, ((const struct fleet_note *)at->record)->forgotten_ms, ret);
}

static enum reading_state seen_state(const void *record)
{
    return ((const struct fleet_note *)record)->silent_ms ? READING_OK : READING_UNREAD;
}

ANSWER_MAKER(make_state, struct fleet_note, word, of->forgotten_ms ? "forgotten" : "silent");

ANSWER_TABLE(forgotten_answer, struct fleet_note)
{
    MADE(MOMENT, "at", make_forgotten, NULL);
    FIELD(TEXT, "by", forgotten_by, NULL, OR_NULL);
}

ANSWER_TABLE(host_answer, struct fleet_note)
{
    FIELD(TEXT, "host", host, NULL);
    MADE(WORD, "state", make_state, NULL);
    MADE(MOMENT, "last_seen_at", make_seen, NULL, .state = seen_state);
    PART("forgotten", forgotten_answer, NULL, PRESENT(forgotten_ms));
}

ANSWER_TABLE(hosts_answer, struct fleet)
{
    EACH(OBJECT, "hosts", next_host, NULL, FIELDS(host_answer));
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
    size_t at = 0;
    if (cli->json)
        return show_answer(cli, &hosts_answer, f);
    for (const struct fleet_note *n; (n = next_note(f, &at));)
        write_line(&out, n);
    buf_text(&out, f->silent ? "Gone on purpose? whirr fleet forget HOST\n" : "Every host answers.\n");
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
    const struct fleet_place place = fleet_place(cli);
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
    {OPTION_DRY_RUN},
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
