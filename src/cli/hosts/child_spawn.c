/* SPDX-License-Identifier: Apache-2.0
 * Where a process can't fork, the child that queries one host is this program, started with the same options. It can't examine the
 * terminal itself.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/os/program.h"
#include "cli/hosts/each_host.h"

enum { WORDS_MAX = OPTIONS_MAX + ARGUMENTS_MAX + 8, TEXT_MAX = 65536 };

#define ONE_OF_SEVERAL "WHIRR_ONE_OF_SEVERAL_HOSTS"

struct words {
    size_t count, starts[WORDS_MAX];
    struct buf text;
};

static void add_option(struct words *w, const char *name, const char *value)
{
    if (w->count == WORDS_MAX)
        return;
    w->starts[w->count++] = w->text.len;
    buf_printf(&w->text, "--%s%s%s", name, value ? "=" : "", value ? value : "");
    buf_char(&w->text, '\0');
}

static void add_word(struct words *w, const char *word)
{
    if (w->count == WORDS_MAX)
        return;
    w->starts[w->count++] = w->text.len;
    buf_text(&w->text, word);
    buf_char(&w->text, '\0');
}

static void write_words(const struct cli *cli, const char *host, struct words *w)
{
    const struct options *o = cli->options;
    add_word(w, cli->env.self_program);
    add_option(w, "host", host); /* before the command, which may have a --host of its own */
    add_word(w, cli->command->name);
    for (size_t i = 0; i < o->given_count; i++) {
        const struct option_spec *spec = o->given[i].spec;
        bool asked = spec->known_as && strcmp(spec->known_as, "asked-host") == 0;
        if (!asked && strcmp(spec->name, "watch") != 0 && strcmp(spec->name, "color") != 0) /* the parent repeats the command */
            add_option(w, spec->name, o->given[i].value);
    }
    add_option(w, "color", cli->page.color ? "always" : "never");
    add_word(w, "--");
    for (size_t i = 0; i < o->argument_count; i++)
        add_word(w, o->arguments[i]);
}

static void pass_terminal(const struct cli *cli)
{
    char columns[16];
    snprintf(columns, sizeof columns, "%d", cli->page.width);
    setenv("LC_ALL", cli->page.utf8 ? "C.UTF-8" : "C", 1);
    setenv(ONE_OF_SEVERAL, "1", 1);
    if (!cli->page.whole)
        setenv("COLUMNS", columns, 1);
}

int host_child_start(struct cli *cli, const char *host, int out, int problem, pid_t *ret)
{
    AUTO_FREE struct words *w = calloc(1, sizeof *w);
    AUTO_FREE const char **argv = calloc(WORDS_MAX + 1, sizeof *argv);
    if (!w || !argv)
        return -ENOMEM;
    w->text = (struct buf)BUF(TEXT_MAX);
    write_words(cli, host, w);
    pass_terminal(cli);
    for (size_t i = 0; i < w->count && !w->text.failed; i++)
        argv[i] = w->text.at + w->starts[i];
    int rc = w->text.failed || w->count == WORDS_MAX ? -E2BIG : launch_spawn(argv, -1, out, problem, ret);
    buf_done(&w->text);
    return rc;
}

bool host_child_is_one(void)
{
    return env_variable(ONE_OF_SEVERAL) != NULL;
}
