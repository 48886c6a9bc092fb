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
#include "cli/remedy/remedy_cli.h"
#include "lease/lease_settings.h"

enum { UNDO_MAX = 256, UNDO_TEXT = 192 };

struct undo_entry {
    char id[64], what[UNDO_TEXT], before[UNDO_TEXT], now[UNDO_TEXT], by[96], how[96];
    struct wall since, until;
    const struct lease *lease; /* NULL: not a lease */
    char body[160];            /* of the request that takes it back */
    const char *path;
};

struct undo_list {
    size_t count;
    struct undo_entry at[UNDO_MAX];
    struct lease_list leases;
};

static void undo_fields(struct answer_rows *to)
{
    ROWS(struct undo_entry) = {
        FIELD(TEXT, "id", id, "For `whirr undo ID`"),
        FIELD(TEXT, "what", what, NULL),
        FIELD(TEXT, "before", before, "What it will be again", OR_NULL),
        FIELD(TEXT, "now", now, NULL, OR_NULL),
        FIELD(TEXT, "by", by, "Who changed it", OR_NULL),
        FIELD(MOMENT, "since", since, NULL, OR_NULL),
        FIELD(MOMENT, "until", until, "null: until it is undone", OR_NULL),
        FIELD(TEXT, "how", how, "The command for this alone"),
    };
    KEEP_ROWS(to);
}
const struct answer undo_answer = ANSWER(struct undo_entry, undo_fields, .name = "Undo");

static struct undo_entry *add_entry(struct undo_list *l)
{
    if (l->count == UNDO_MAX)
        return NULL;
    l->at[l->count] = (struct undo_entry){0};
    return &l->at[l->count++];
}

/* ---- by which door ---- */

static void add_lease(struct undo_list *list, const struct lease *l)
{
    char gpus[LEASE_WORDS];
    struct undo_entry *e =
        l->state == LEASE_ENDED || (l->kind != LEASE_SETTING && l->kind != LEASE_RESERVE) ? NULL : add_entry(list);
    if (!e)
        return;
    e->lease = l;
    snprintf(e->id, sizeof e->id, "%s", l->id);
    snprintf(e->how, sizeof e->how, "whirr lease end %s", l->id);
    snprintf(e->by, sizeof e->by, "%s", l->user);
    e->since = l->made;
    e->until = l->until;
    snprintf(e->what, sizeof e->what, "%s%s", l->simulated ? "simulated " : "", lease_gpu_words(l, gpus));
    if (l->kind == LEASE_RESERVE) {
        snprintf(e->now, sizeof e->now, "reserved");
        return;
    }
    for (size_t i = 0; i < l->setting_count; i++) {
        enum control_kind kind;
        struct control_value asked, before;
        char text[CONTROL_TEXT_SIZE];
        if (!lease_set_values(&l->settings[i], &kind, &asked, &before))
            continue;
        size_t now = strlen(e->now), was = strlen(e->before);
        snprintf(e->now + now, sizeof e->now - now, "%s%s %s", now ? ", " : "", control_words(kind),
                 control_text(kind, NULL, asked, text));
        snprintf(e->before + was, sizeof e->before - was, "%s%s", was ? ", " : "", control_text(kind, NULL, before, text));
    }
}

static struct wall moment_of(const json_t *o, const char *key)
{
    struct wall at = {0};
    (void)wall_parse(str_from(json_text(o, key)), &at);
    return at;
}

static void add_silences(struct cli *cli, struct undo_list *list)
{
    struct error err = {0};
    json_t *answer = alert_ask(cli, "GET", "/api/alerts", NULL, &err);
    size_t i;
    const json_t *s;
    json_array_foreach(json_object_get(answer, "silences"), i, s)
    {
        struct undo_entry *e = add_entry(list);
        if (!e)
            break;
        const char *id = json_text(s, "id");
        snprintf(e->id, sizeof e->id, "%s", id);
        snprintf(e->what, sizeof e->what, "alerts");
        size_t k;
        const json_t *m;
        snprintf(e->now, sizeof e->now, "silenced:");
        json_array_foreach(json_object_get(s, "matchers"), k, m)
        {
            size_t len = strlen(e->now);
            snprintf(e->now + len, sizeof e->now - len, " %s", json_is_string(m) ? json_string_value(m) : json_text(m, "value"));
        }
        snprintf(e->by, sizeof e->by, "%s", json_text(s, "created_by"));
        e->since = moment_of(s, "created_at");
        e->until = moment_of(s, "until");
        snprintf(e->how, sizeof e->how, "whirr alert silence remove %s", id);
        snprintf(e->body, sizeof e->body, "{\"remove\": \"%s\"}", id);
        e->path = "/api/alerts/silence";
    }
    json_decref(answer);
}

static void add_paused(struct cli *cli, struct undo_list *list)
{
    struct error err = {0};
    json_t *answer = alert_ask(cli, "GET", "/api/guard", NULL, &err);
    size_t i;
    const json_t *w;
    json_array_foreach(json_object_get(answer, "workers"), i, w)
    {
        struct undo_entry *e = strcmp(json_text(w, "state"), "paused") == 0 ? add_entry(list) : NULL;
        if (!e)
            continue;
        const char *name = json_text(w, "name");
        snprintf(e->id, sizeof e->id, "%s", name);
        snprintf(e->what, sizeof e->what, "guard");
        snprintf(e->now, sizeof e->now, "%s paused", name);
        snprintf(e->before, sizeof e->before, "running");
        snprintf(e->by, sizeof e->by, "%s", json_text(w, "reason"));
        e->since = moment_of(w, "since");
        snprintf(e->how, sizeof e->how, "whirr guard resume %s", name);
        snprintf(e->body, sizeof e->body, "{\"worker\": \"%s\"}", name);
        e->path = "/api/guard/resume";
    }
    json_decref(answer);
}

static int newer_first(const void *a, const void *b)
{
    const struct undo_entry *x = a, *y = b;
    return (x->since.ms < y->since.ms) - (x->since.ms > y->since.ms);
}

static int collect_changes(struct cli *cli, struct undo_list *list, struct error *err)
{
    int rc = lease_ask_list(cli, &list->leases, err);
    if (rc < 0 && rc != -ENOENT)
        return rc;
    for (size_t i = 0; i < list->leases.count; i++)
        add_lease(list, &list->leases.at[i]);
    if (!sampling_option(cli)) {
        add_silences(cli, list);
        add_paused(cli, list);
    }
    qsort(list->at, list->count, sizeof list->at[0], newer_first);
    return 0;
}

/* ---- taking it back ---- */

static int take_back(struct cli *cli, const struct undo_entry *e)
{
    struct error err = {0};
    if (e->lease && e->lease->kind == LEASE_SETTING)
        return act_end(cli, e->lease);
    if (e->lease) {
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
    json_t *answer = alert_ask(cli, "POST", e->path, e->body, &err);
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

static int undo_with(struct cli *cli, struct undo_list *list)
{
    struct error err = {0};
    AUTO_BUF struct buf out = BUF(FRAME_MAX);
    if (collect_changes(cli, list, &err) < 0)
        return cli_error(cli, &err);
    if (cli->options->argument_count)
        return list->count || strcmp(cli->options->arguments[0], "all") != 0 ? take_all(cli, list, cli->options->arguments[0])
                                                                             : EXIT_FINE;
    if (cli->json) {
        struct json_writer j = show_json(cli, &out);
        jw_object(&j);
        jw_key_array(&j, "changes");
        for (size_t i = 0; i < list->count; i++)
            answer_write(&j, &undo_answer, &list->at[i], NULL);
        jw_end(&j);
        jw_end(&j);
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
    struct undo_list *list = calloc(1, sizeof *list);
    if (!list)
        return cli_fail("out of memory");
    int status = undo_with(cli, list);
    lease_list_done(&list->leases);
    free(list);
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
