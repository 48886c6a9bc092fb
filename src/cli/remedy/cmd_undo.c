/* SPDX-License-Identifier: Apache-2.0
 * whirr undo: lists what whirr has changed and still holds, newest first, and takes it back: settings, reservations, silences, and
 * what the guard has paused.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "answer/answer.h"
#include "ask/answers.h"
#include "ask/ask_lease.h"
#include "base/cleanup.h"
#include "base/json_reader.h"
#include "base/moment.h"
#include "base/words.h"
#include "cli/cli_show.h"
#include "config/config.h"
#include "remedy/act.h"
#include "remedy/undo.h"

struct undo_doing {
    struct undo_list list;
    struct lease_list leases;
};

/* ---- by which door ---- */

/* What only a daemon knows: silences, pauses and forgotten GPUs. Leases are known here. */
static void add_of_daemon(struct cli *cli, struct undo_list *list)
{
    struct error err = {0};
    AUTO_FREE struct undo_list *there = calloc(1, sizeof *there);
    json_t *answer = there ? alert_ask(cli, "GET", "/api/undo", NULL, &err) : NULL;
    if (answer)
        (void)answer_read(&undo_list_answer, answer, there, NULL);
    json_decref(answer);
    for (size_t i = 0; there && i < there->count; i++) {
        const struct undo_entry *e = &there->at[i];
        struct undo_entry *kept =
            cli->host || (e->door != UNDO_SETTING && e->door != UNDO_RESERVATION) ? undo_add(list, e->door, e->id) : NULL;
        if (kept)
            *kept = *e;
    }
}

static int collect_changes(struct cli *cli, struct undo_doing *u, struct error *err)
{
    int rc = lease_ask_list(cli, &u->leases, err);
    if (rc < 0 && rc != -ENOENT)
        return rc;
    for (size_t i = 0; i < u->leases.count; i++)
        undo_add_lease(&u->list, &u->leases.at[i]);
    if (!sampling_option(cli))
        add_of_daemon(cli, &u->list);
    undo_sort(&u->list);
    return 0;
}

/* ---- taking it back ---- */

static int take_back_setting(struct cli *cli, const struct undo_entry *e)
{
    struct error err = {0};
    char words[SETTINGS_WORDS];
    struct env env = cli->env;
    if (e->simulated && !env.simulated)
        env.simulated = SIMULATED_ALL;
    if (act_end(&(struct act){&env, cli->settings->lease.dir}, e->id, words, &err) < 0)
        return cli_fail("%s", err.text);
    printf("Lease %s has ended: %s.\n", e->id, words[0] ? words : "the old values are back");
    return EXIT_FINE;
}

static int take_back_reservation(struct cli *cli, const struct undo_entry *e)
{
    struct error err = {0};
    AUTO_LEASE_DIR struct lease_dir dir = LEASE_DIR_CLOSED;
    int rc = lease_dir_find(&dir, cli->settings->lease.dir, &err);
    if (rc == 0)
        rc = lease_dir_lock(&dir, LEASE_LOCK_MS, &err);
    if (rc == 0)
        rc = lease_dir_remove(&dir, e->id, &err);
    if (rc == -EPERM || rc == -EACCES)
        return cli_fail("lease %s is that of %s: only they or root can end it: sudo %s", e->id, e->by, e->how);
    if (rc < 0)
        return cli_fail("%s", err.text);
    printf("Lease %s has ended.\n", e->id);
    return EXIT_FINE;
}

static int take_back(struct cli *cli, const struct undo_entry *e)
{
    struct error err = {0};
    if (e->door == UNDO_SETTING && !cli->host)
        return take_back_setting(cli, e);
    if (e->door == UNDO_RESERVATION && !cli->host)
        return take_back_reservation(cli, e);
    char body[UNDO_ID_SIZE + 16];
    snprintf(body, sizeof body, "{\"id\": \"%s\"}", e->id);
    json_t *answer = alert_ask(cli, "POST", "/api/undo", body, &err);
    if (!answer)
        return cli_fail("%s: %s", e->how, err.text);
    json_decref(answer);
    printf("Taken back: %s %s.\n", e->what, e->now);
    return EXIT_FINE;
}

static int take_all(struct cli *cli, const struct undo_list *list, const char *word)
{
    bool all = strcmp(word, "all") == 0, found = all;
    char *end;
    long number = strtol(word, &end, 10);
    int status = EXIT_FINE;
    for (size_t i = 0; i < list->count; i++) {
        const struct undo_entry *e = &list->at[i];
        if (!all && strcmp(e->id, word) != 0 && (*end || number != (long)i + 1))
            continue;
        found = true;
        if (options_has(cli->options, "dry-run")) {
            printf("%s\n", e->how);
            continue;
        }
        int one = take_back(cli, e);
        status = one == EXIT_FINE ? status : one;
        if (!all)
            break;
    }
    if (!found)
        return cli_fail("there is no change '%s'; `whirr undo` lists them", word);
    return status;
}

static void show_list(struct buf *out, const struct undo_list *list, struct wall now)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct undo_entry *e = &list->at[i];
        char ago[WORDS_SIZE], until[MOMENT_TEXT_SIZE] = "";
        buf_printf(out, "  %zu  %s  %s", i + 1, e->what, e->now);
        if (e->before[0])
            buf_printf(out, " (was %s)", e->before);
        if (e->by[0])
            buf_printf(out, "   %s", e->by);
        if (e->since.ms)
            buf_printf(out, ", %s ago", words_duration(MAX_OF(now.ms - e->since.ms, (int64_t)0), ago));
        if (e->until.ms) {
            moment_format(e->until, now, until);
            buf_printf(out, ", until %s", until);
        }
        buf_char(out, '\n');
    }
}

static int ask_which(struct cli *cli, const struct undo_list *list)
{
    char line[64];
    printf("Undo which? [1%s, all, none] ", list->count > 1 ? ", ..." : "");
    fflush(stdout);
    if (!fgets(line, sizeof line, stdin))
        return EXIT_FINE;
    line[strcspn(line, "\n")] = '\0';
    return !line[0] || strcmp(line, "none") == 0 ? EXIT_FINE : take_all(cli, list, line);
}

static int undo_with(struct cli *cli, struct undo_doing *u)
{
    struct undo_list *list = &u->list;
    struct error err = {0};
    AUTO_BUF struct buf out = BUF(FRAME_MAX);
    if (collect_changes(cli, u, &err) < 0)
        return cli_error(cli, &err);
    if (cli->options->argument_count)
        return list->count || strcmp(cli->options->arguments[0], "all") != 0 ? take_all(cli, list, cli->options->arguments[0])
                                                                             : EXIT_FINE;
    if (cli->json) {
        struct json_writer j = show_json(cli, &out);
        answer_write(&j, &undo_list_answer, list, NULL);
        buf_char(&out, '\n');
        return show_text(&out);
    }
    if (!list->count)
        buf_text(&out, "Nothing to undo: whirr holds no change.\n");
    show_list(&out, list, clock_wall(cli->env.clock));
    int status = show_text(&out);
    return status == EXIT_FINE && list->count && cli->terminal && isatty(STDIN_FILENO) ? ask_which(cli, list) : status;
}

static int undo_run(struct cli *cli)
{
    struct undo_doing *u = calloc(1, sizeof *u);
    if (!u)
        return cli_fail("out of memory");
    int status = undo_with(cli, u);
    lease_list_done(&u->leases);
    free(u);
    return status;
}

static const struct option_spec options[] = {
    {.name = "dry-run", .help = "Show the command for each; change nothing"},
};

const struct command command_undo = {
    .name = "undo",
    .group = HELP_ACT,
    .summary = "List what whirr has changed, and take it back",
    .details =
        "Settings of GPUs, reservations, silenced alerts and what the guard has paused, newest first, whoever asked for it. What "
        "belongs to others needs their rights, or root's.",
    .exits = "0 fine; 1 there is no such change, or it can't be taken back; 2 wrong usage or configuration.",
    .arguments = "[N|all|ID]",
    .arguments_max = 1,
    OPTIONS(options),
    .examples = {{"whirr undo", "what is changed, and by whom"},
                 {"whirr undo 1", "the newest change"},
                 {"whirr undo all", "everything, newest first"}},
    .lacks = "gpu",
    .run = undo_run,
};
