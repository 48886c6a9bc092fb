/* SPDX-License-Identifier: Apache-2.0
 * whirr token: new, list, remove. Tokens admit other hosts, and clients that act on the GPUs over HTTP.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answer/answer.h"
#include "base/cleanup.h"
#include "base/lock.h"
#include "base/words.h"
#include "cli/cli_show.h"
#include "cli/command.h"
#include "config/places.h"
#include "http/token.h"

/* Names the daemon that the change affects: the one that uses the file's directory. */
static void print_place(const char *path, const char *done)
{
    char lock[PLACE_SIZE];
    struct error err = {0};
    pid_t holder;
    if (place_lock(lock, &err) == 0 && lock_held(lock, &holder))
        fprintf(stderr, "%s %s; the daemon that uses it (PID %d) applies it immediately.\n", done, path, (int)holder);
    else
        fprintf(stderr, "%s %s; no daemon is using it now.\n", done, path);
}

/* Parses --role and --for. EXIT_FINE, or the exit status after a message. */
static int read_grant(struct cli *cli, struct token_grant *ret)
{
    struct error err = {0};
    const char *span = options_value(cli->options, "for", NULL);
    int64_t ms;
    *ret = (struct token_grant){.now = clock_wall(&clock_system)};
    if (rights_parse(str_from(options_value(cli->options, "role", "read")), &ret->rights, &err) < 0)
        return cli_usage(cli, "--role: %s", err.text);
    if (!span)
        return EXIT_FINE;
    if (!duration_parse(str_from(span), &ms) || ms <= 0)
        return cli_usage(cli, "invalid value '%s' for --for; expected a span of time, like 90d", span);
    ret->until.ms = ret->now.ms + ms;
    return EXIT_FINE;
}

struct told_new {
    const char *name, *token, *file, *roles;
    struct wall until;
};

ANSWER_TABLE(new_answer, struct told_new)
{
    FIELD(WORD, "name", name, NULL);
    FIELD(WORD, "token", token, NULL);
    FIELD(WORD, "roles", roles, NULL);
    FIELD(MOMENT, "until", until, "null: it never expires", OR_NULL);
    FIELD(WORD, "file", file, NULL);
}

static int new_token(struct cli *cli, struct token_file *f, const char *path, const char *name)
{
    struct error err = {0};
    struct token_grant grant;
    char text[TOKEN_TEXT_SIZE], roles[ROLES_SIZE];
    int status = read_grant(cli, &grant);
    if (status != EXIT_FINE)
        return status;
    if (options_has(cli->options, "dry-run"))
        return show_would(cli, "add token %s (%s) to %s", name, rights_roles(grant.rights, roles), path);
    if (token_file_add(f, name, &grant, text, &err))
        return cli_error(cli, &err);
    if (cli->json) {
        return show_answer(cli, &new_answer, &(struct told_new){name, text, path, rights_roles(grant.rights, roles), grant.until});
    }
    printf("%s\n", text);
    fputs("Keep it: only its hash is stored. Send it as \"Authorization: Bearer TOKEN\".\n", stderr);
    if (!options_value(cli->options, "role", NULL))
        fputs("It can only read; for a token that can do more: --role (whirr token --help).\n", stderr);
    print_place(path, "Added to");
    return EXIT_FINE;
}

static bool make_roles(const struct answer_at *at, union answer_value *ret)
{
    _Static_assert(sizeof ret->text >= ROLES_SIZE, "room");
    rights_roles(((const struct access_token *)at->record)->rights, ret->text);
    return true;
}

ANSWER_TABLE(token_answer, struct access_token)
{
    FIELD(TEXT, "name", name, NULL);
    FIELD(MOMENT, "made_at", made_at, NULL);
    MADE(TEXT, "roles", make_roles, NULL);
    FIELD(MOMENT, "until", until, "null: it never expires", OR_NULL);
}

ANSWER_TABLE(tokens_answer, struct token_file)
{
    OBJECTS("tokens", tokens, count, token_answer, NULL);
}

static int list_tokens(struct cli *cli, const struct token_file *f)
{
    AUTO_BUF struct buf out = BUF(65536);
    if (cli->json)
        return show_answer(cli, &tokens_answer, f);
    for (size_t i = 0; i < f->count; i++) {
        const struct access_token *t = &f->tokens[i];
        char day[WALL_TEXT_SIZE], until[WALL_TEXT_SIZE], roles[ROLES_SIZE];
        wall_format(t->made_at, day);
        wall_format(t->until, until);
        buf_printf(&out, "%-24s %s  %s", t->name, day, rights_roles(t->rights, roles));
        if (t->until.ms)
            buf_printf(&out, token_is_over(t, clock_wall(&clock_system)) ? ", expired %s" : ", until %s", until);
        buf_char(&out, '\n');
    }
    if (f->count == 0) {
        buf_text(&out, "No tokens. To create one: whirr token new NAME\n");
    }
    return show_text(&out);
}

static int token_run(struct cli *cli)
{
    const char *verb = cli->options->arguments[0], *name = cli->options->argument_count > 1 ? cli->options->arguments[1] : NULL;
    static const char *const names[] = {"new", "list", "remove"};
    struct error err = {0};
    char path[PLACE_SIZE];
    AUTO_FREE struct token_file *f = calloc(1, sizeof *f);
    if (!f)
        return cli_fail("out of memory");
    if (place_tokens(path, &err) || token_file_load(f, path, &err))
        return cli_fail("%s", err.text);
    if (strcmp(verb, "new") == 0)
        return new_token(cli, f, path, name ? name : "default");
    if (strcmp(verb, "list") == 0)
        return name ? cli_usage(cli, "'token list' does not take '%s'", name) : list_tokens(cli, f);
    if (strcmp(verb, "remove") != 0)
        return cli_unknown(cli, "subcommand", verb, names, ARRAY_LEN(names));
    if (!name)
        return cli_usage(cli, "'remove' needs the name of a token; `whirr token list` shows them");
    bool there = false;
    for (size_t i = 0; i < f->count; i++)
        there |= strcmp(f->tokens[i].name, name) == 0;
    if (there && options_has(cli->options, "dry-run"))
        return show_would(cli, "remove token %s from %s", name, path);
    struct nearest near;
    char hint[NEAREST_SIZE + 32];
    nearest_init(&near, name);
    for (size_t i = 0; i < f->count; i++)
        nearest_try(&near, f->tokens[i].name);
    if (token_file_remove(f, name, &err))
        return err.code == -ENOENT
                   ? cli_fail("%s%s\nTo list them: whirr token list", err.text, nearest_text(&near, hint, sizeof hint))
                   : cli_fail("%s", err.text);
    print_place(path, "Removed from");
    return EXIT_FINE;
}

static const struct option_spec options[] = {
    {.name = "role",
     .argument = "ROLES",
     .help = "With new: what it may do: read, commands (read with command lines), silence, guard, control, admin (everything); "
             "several with commas (default: read)"},
    {.name = "for", .argument = "SPAN", .help = "With new: it expires after this time, like 90d"},
    {OPTION_DRY_RUN},
};

const struct command command_token = {
    .name = "token",
    .group = HELP_SETUP,
    .summary = "Create, list and remove access tokens of the daemon",
    .details = "A token is needed from other hosts, and on this host to act (`POST`) over HTTP. It is shown once; its SHA-256 is "
               "kept in the state directory. New and removed tokens, and what clients change with them, are in the log and in the "
               "history (`whirr history "
               "--events`), with their names.",
    .arguments = "new [NAME] | list | remove NAME",
    .arguments_min = 1,
    .arguments_max = 2,
    OPTIONS(options),
    .examples = {{"whirr token new prometheus", "a read-only token, shown once"},
                 {"whirr token new phone --role silence --for 90d", "one that can silence alerts, and expires"},
                 {"whirr token remove laptop", "revoke it immediately"}},
    .lacks = "gpu",
    .run = token_run,
};
