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
#include "base/moment.h"
#include "base/words.h"
#include "cli/cli_show.h"
#include "cli/notify/notify.h"
#include "cli/setup/plan.h"
#include "config/config.h"
#include "config/places.h"
#include "http/token.h"
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
    AUTO_JSON json_t *answer = there ? alert_ask(cli, "GET", "/api/undo", NULL, &err) : NULL;
    if (answer)
        (void)answer_read(&undo_list_answer, answer, there, NULL);
    for (size_t i = 0; there && i < there->count; i++) {
        const struct undo_entry *e = &there->at[i];
        struct undo_entry *kept =
            cli->host || (e->door != UNDO_SETTING && e->door != UNDO_RESERVATION) ? undo_add(list, e->door, e->id) : NULL;
        if (kept)
            *kept = *e;
    }
}

static void add_notifier(void *user, const struct notify_added *a)
{
    char id[UNDO_ID_SIZE];
    snprintf(id, sizeof id, "notifier:%s", a->name);
    struct undo_entry *e = undo_add(user, UNDO_NOTIFIER, id);
    if (!e)
        return;
    snprintf(e->what, sizeof e->what, "notifier");
    snprintf(e->now, sizeof e->now, "%s added to %.100s", a->name, a->path);
    snprintf(e->how, sizeof e->how, "whirr notify remove %s", a->name);
    e->since = a->at;
}

static void add_tokens(struct undo_list *list)
{
    char path[PLACE_SIZE];
    AUTO_FREE struct token_file *f = calloc(1, sizeof *f);
    if (!f || place_tokens(path, NULL) < 0 || token_file_load(f, path, NULL) < 0)
        return;
    for (size_t i = 0; i < f->count; i++) {
        char id[UNDO_ID_SIZE], roles[ROLES_SIZE];
        snprintf(id, sizeof id, "token:%s", f->tokens[i].name);
        struct undo_entry *e = undo_add(list, UNDO_TOKEN, id);
        if (!e)
            return;
        snprintf(e->what, sizeof e->what, "token");
        snprintf(e->now, sizeof e->now, "%s may %s", f->tokens[i].name, rights_roles(f->tokens[i].rights, roles));
        snprintf(e->how, sizeof e->how, "whirr token remove %s", f->tokens[i].name);
        e->since = f->tokens[i].made_at;
        e->until = f->tokens[i].until;
    }
}

static void add_setup(struct cli *cli, struct undo_list *list)
{
    AUTO_BUF struct buf steps = BUF(256 * 1024);
    struct error err = {0};
    struct undo_entry *e = plan_undo(&cli->env, true, &steps, &err) == 0 ? undo_add(list, UNDO_SETUP, "setup") : NULL;
    if (!e)
        return;
    snprintf(e->what, sizeof e->what, "setup");
    snprintf(e->now, sizeof e->now, "files and units of whirr setup");
    snprintf(e->how, sizeof e->how, "whirr setup --undo");
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
    if (!sampling_option(cli) && !cli->host) {
        notify_added_each(add_notifier, &u->list);
        add_tokens(&u->list);
        add_setup(cli, &u->list);
    }
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

static int take_back_token(const struct undo_entry *e)
{
    struct error err = {0};
    char path[PLACE_SIZE];
    AUTO_FREE struct token_file *f = calloc(1, sizeof *f);
    int rc = f ? place_tokens(path, &err) : error_set(&err, -ENOMEM, "out of memory");
    if (rc == 0)
        rc = token_file_load(f, path, &err);
    if (rc == 0)
        rc = token_file_remove(f, e->id + strlen("token:"), &err);
    return rc < 0 ? cli_fail("%s: %s", e->how, err.text) : (printf("Token %s was removed.\n", e->id + strlen("token:")), EXIT_FINE);
}

static int take_back_setup(struct cli *cli)
{
    AUTO_BUF struct buf steps = BUF(256 * 1024);
    struct error err = {0};
    int rc = plan_undo(&cli->env, false, &steps, &err);
    fputs(steps.len ? steps.at : "", stdout);
    return rc < 0 ? cli_fail("whirr setup --undo: %s", err.text) : EXIT_FINE;
}

static int take_back(struct cli *cli, const struct undo_entry *e)
{
    struct error err = {0};
    if (e->door == UNDO_TOKEN && !cli->host)
        return take_back_token(e);
    if (e->door == UNDO_NOTIFIER && !cli->host)
        return notify_remove(cli, e->id + strlen("notifier:"));
    if (e->door == UNDO_SETUP && !cli->host)
        return take_back_setup(cli);
    if (e->door == UNDO_SETTING && !cli->host)
        return take_back_setting(cli, e);
    if (e->door == UNDO_RESERVATION && !cli->host)
        return take_back_reservation(cli, e);
    char body[UNDO_ID_SIZE + 16];
    snprintf(body, sizeof body, "{\"id\": \"%s\"}", e->id);
    AUTO_JSON json_t *answer = alert_ask(cli, "POST", "/api/undo", body, &err);
    if (!answer)
        return cli_fail("%s: %s", e->how, err.text);
    printf("Taken back: %s %s.\n", e->what, e->now);
    return EXIT_FINE;
}

static int take_all(struct cli *cli, const struct undo_list *list, const char *word)
{
    bool all = strcmp(word, "all") == 0, found = all;
    if (all && !list->count)
        puts("Nothing to undo: whirr holds no change.");
    char *end;
    long number = strtol(word, &end, 10);
    int status = EXIT_FINE;
    for (size_t i = 0; i < list->count; i++) {
        const struct undo_entry *e = &list->at[i];
        if (!all && strcmp(e->id, word) != 0 && (*end || number != (long)i + 1))
            continue;
        found = true;
        /* They were made to stay, and can't be brought back. */
        if (all && e->door >= UNDO_NOTIFIER && !options_has(cli->options, "yes") && !options_has(cli->options, "dry-run")) {
            printf("Left: %s %s. Add --yes, or: %s\n", e->what, e->now, e->how);
            continue;
        }
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
            buf_printf(out, now.ms - e->since.ms < MS_PER_S ? ", just now" : ", %s ago", words_duration(now.ms - e->since.ms, ago));
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
        return take_all(cli, list, cli->options->arguments[0]);
    if (cli->json) {
        answer_write(AS_JSON_LINE(cli, &out), &undo_list_answer, list, NULL);
        return show_text(&out);
    }
    if (!list->count)
        buf_text(&out, "Nothing to undo: whirr holds no change.\n");
    show_list(&out, list, clock_wall(cli->env.clock));
    bool asks = list->count && cli->terminal && isatty(STDIN_FILENO);
    if (list->count && !asks)
        buf_text(&out, "This is only the list. To take back the first: whirr undo 1; everything: whirr undo all\n");
    int status = show_text(&out);
    return status == EXIT_FINE && asks ? ask_which(cli, list) : status;
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
    {.name = "yes", .letter = 'y', .help = "With `all`: tokens, notifiers and setup, too"},
};

const struct command command_undo = {
    .name = "undo",
    .group = HELP_ACT,
    .summary = "List what whirr has changed, and take it back",
    .details = "Settings of GPUs, reservations, silenced alerts, what the guard has paused, notifiers and tokens that were added, "
               "and what "
               "`whirr setup` did, newest first, whoever asked for it. What belongs to others needs their rights, or root's.",
    .exits = "0 fine; 1 there is no such change, or it can't be taken back; 2 wrong usage or configuration.",
    .arguments = "[N|all|ID]",
    .arguments_max = 1,
    OPTIONS(options),
    .examples = {{"whirr undo", "the list: what is changed, and by whom"},
                 {"whirr undo 1", "take back the newest change"},
                 {"whirr undo all", "everything, newest first"}},
    .lacks = "gpu",
    .run = undo_run,
};
