/* SPDX-License-Identifier: Apache-2.0
 * whirr reserve: reserves GPUs for a user, for a period of time.
 */
#include <stdio.h>

#include "base/moment.h"
#include "base/units.h"
#include "cli/cli_show.h"
#include "cli/lease/lease_options.h"

static int read_times(struct cli *cli, struct lease *request, struct wall now)
{
    const char *from = options_value(cli->options, "from", NULL), *until = options_value(cli->options, "until", NULL);
    int64_t for_ms = HOUR_MS;
    if (until && options_has(cli->options, "for"))
        return cli_usage(cli, "--for and --until can't be combined");
    if (from && !moment_parse_ahead(str_from(from), now, now, MOMENT_LOCAL, &request->from))
        return cli_usage(cli, "invalid value '%s' for --from; expected " MOMENT_AHEAD_SYNTAX, from);
    if (until && !moment_parse_ahead(str_from(until), request->from, now, MOMENT_LOCAL, &request->until))
        return cli_usage(cli, "invalid value '%s' for --until; expected a time after the beginning, like \"08:00\" or \"2h\"",
                         until);
    int status = options_duration(cli, "for", &for_ms);
    if (status == EXIT_FINE && for_ms == 0)
        return cli_usage(cli, "--for needs some time");
    if (!until)
        request->until.ms = request->from.ms + for_ms;
    return status;
}

static int print_reserved(const struct lease_taker *t, struct wall now, bool dry)
{
    AUTO_BUF struct buf out = BUF(LEASE_BYTES_MAX);
    char gpus[LEASE_WORDS], from[MOMENT_TEXT_SIZE], until[MOMENT_TEXT_SIZE];
    if (t->cli->json && !dry) {
        lease_json(JSON_PAGE(&out), &t->wish);
        return show_text(&out);
    }
    moment_format_span(t->wish.from, t->wish.until, now, from, until);
    if (dry)
        return show_would(t->cli, "reserve %s for %s from %s until %s", lease_gpu_words(&t->wish, gpus), t->wish.user, from, until);
    buf_printf(&out, "%s: %s reserved for %s ", t->wish.id, lease_gpu_words(&t->wish, gpus), t->wish.user);
    if (t->wish.from.ms > now.ms)
        buf_printf(&out, "from %s ", from);
    buf_printf(&out, "until %s%s. To end it: whirr lease end %s\n", until, t->simulated ? " (SIMULATED)" : "", t->wish.id);
    return show_text(&out);
}

static int reserve_run(struct cli *cli)
{
    struct lease_taker t;
    struct error err = {0};
    struct wall now = clock_wall(cli->env.clock);
    int rc = lease_taker_init(&t, cli, LEASE_RESERVE, &err), status = EXIT_FINE;
    t.timeout_ms = 0;
    if (rc == 0 && (status = lease_options_read(cli, &t)) == EXIT_FINE)
        status = read_times(cli, &t.wish, now);
    if (rc == 0 && status == EXIT_FINE)
        rc = lease_take(&t, &err);
    bool dry = options_has(cli->options, "dry-run");
    if (rc == 0 && status == EXIT_FINE && dry)
        lease_dir_unlock(&t.dir);
    else if (rc == 0 && status == EXIT_FINE) {
        rc = lease_dir_put(&t.dir, &t.wish, &err);
        lease_taker_tell(&t, rc < 0 ? EVENT_FAILED : EVENT_DONE);
        lease_dir_unlock(&t.dir);
    }
    if (rc == 0 && status == EXIT_FINE && t.dir.own && !dry)
        fprintf(stderr, "whirr: only your own programs respect this: %s is private to you\n", t.dir.path);
    if (rc < 0)
        status = cli_fail("%s", err.text);
    else if (status == EXIT_FINE)
        status = print_reserved(&t, now, dry);
    lease_taker_done(&t);
    return status;
}

static const struct option_spec options[] = {
    {.name = "gpus", .argument = "N", .help = "Number of GPUs (default: 1)"},
    {OPTION_VRAM},
    {.name = "for", .argument = "DURATION", .help = "How long (default: 1h)"},
    {.name = "from", .argument = "TIME", .help = "Begin then: \"20:00\", or \"2h\" from now (default: now)"},
    {.name = "until", .argument = "TIME", .help = "End then, instead of --for"},
    {OPTION_NOTE},
    {OPTION_TIMEOUT},
    {OPTION_DRY_RUN},
};

const struct command command_reserve = {
    .exits = "0 reserved; 1 no room (its reason is on stderr), or it failed; 2 wrong usage or configuration.",
    .name = "reserve",
    .group = HELP_ACT,
    .summary = "Reserve GPUs for a time",
    .details =
        "Other users' `whirr run`, `reserve` and `wait` get other GPUs in that time; programs of the user who reserved may use "
        "them, with `whirr run` or without. A reservation ends at its time, or by `whirr lease end`. Programs of others "
        "that use the GPUs without a lease are shown as a finding (lease_ignored), and are never stopped. Without --timeout it "
        "does "
        "not wait for room.",
    OPTIONS(options),
    .examples = {{"whirr reserve --gpus 2 --for 4h --note \"paper deadline\"", "two GPUs for the next four hours"},
                 {"whirr reserve --gpu 0 --from 20:00 --until 08:00", "GPU 0 tonight"},
                 {"whirr reserve --vram 20GiB", "20 GiB on a GPU for an hour; the rest of it is for others"}},
    .run = reserve_run,
};
