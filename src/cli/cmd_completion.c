/* SPDX-License-Identifier: Apache-2.0
 * whirr completion: scripts for shells. They ask the program itself for completions: commands, values and configured names.
 */
#include <ctype.h>
#include <stdio.h>

#include "alert/notify/notify.h"
#include "ask/settings.h"
#include "base/cleanup.h"
#include "cli/command.h"
#include "cli/notify/notify.h"
#include "model/metric.h"
#include "source/sim/sim.h"

/* Completions for the word being typed: the same for bash, zsh and fish, whose scripts only ask. */

struct offers {
    struct cli *cli;
    struct buf *out;
    struct str before; /* kept before a completion: "--source=" or "sim:gpus=2," */
    struct str typed;  /* the part to complete */
};

static void add(const struct offers *o, const char *word, const char *what)
{
    if (strncmp(word, o->typed.at, o->typed.len) != 0)
        return;
    buf_str(o->out, o->before);
    buf_text(o->out, word);
    if (what)
        buf_printf(o->out, "\t%s", what);
    buf_char(o->out, '\n');
}

/* Moves everything up to the last of these characters into `before`. */
static void keep_until(struct offers *o, const char *ends)
{
    for (size_t i = o->typed.len; i > 0; i--)
        if (strchr(ends, o->typed.at[i - 1])) {
            o->before = (struct str){o->before.at, o->before.len + i};
            o->typed = (struct str){o->typed.at + i, o->typed.len - i};
            return;
        }
}

/* ---- values of a kind ---- */

static void add_simulations(struct offers *o)
{
    static const char *const keys[] = {"scenario=", "gpus=", "model=", "fault=", "speed=", "seed=", "npus="};
    keep_until(o, ":,");
    struct str key = o->typed;
    keep_until(o, "=");
    const struct sim_scenario *scenarios;
    size_t count = sim_scenarios(&scenarios);
    if (str_starts(key, "scenario="))
        for (size_t i = 0; i < count; i++)
            add(o, scenarios[i].name, scenarios[i].what);
    else if (str_starts(key, "fault="))
        for (size_t i = 0; sim_fault(i); i++)
            add(o, sim_fault(i)->name, sim_fault(i)->what);
    else if (str_starts(key, "model=")) {
        const char *name, *full;
        for (size_t i = 0; (name = sim_card(i, &full)) != NULL; i++)
            add(o, name, full);
    } else
        for (size_t i = 0; i < ARRAY_LEN(keys); i++)
            add(o, keys[i], NULL);
}

static void add_sources(struct offers *o)
{
    if (str_starts(o->typed, "sim:")) {
        add_simulations(o);
        return;
    }
    add(o, "auto", "what this host has");
    for (size_t i = 0; i < source_registry_count; i++)
        add(o, source_registry[i]->name, NULL);
}

static void add_metrics(struct offers *o)
{
    for (size_t i = 0; i < METRIC_COUNT; i++)
        add(o, metric_table[i].json, metric_table[i].help);
    for (size_t i = 0; i < HOST_METRIC_COUNT; i++) {
        char name[96];
        snprintf(name, sizeof name, "host.%s", host_metric_table[i].json);
        add(o, name, host_metric_table[i].help);
    }
}

static void add_configured(struct offers *o, enum complete kind)
{
    struct config *config = NULL;
    if (settings_load(o->cli, NULL, 0, &config) == EXIT_FINE) {
        for (size_t i = 0; kind == COMPLETE_HOST && i < config->hosts_count; i++)
            add(o, config->hosts[i].entry.name, config->hosts[i].address);
        for (size_t i = 0; kind == COMPLETE_NOTIFIER && i < config->notify_count; i++)
            add(o, config->notify[i].entry.name, notify_type_name((enum config_notify_type)config->notify[i].type));
    }
    config_free(config);
}

static void add_commands(struct offers *o)
{
    for (size_t i = 0; i < command_count; i++)
        if (!command_table[i]->hidden)
            add(o, command_table[i]->name, command_table[i]->summary);
}

static void add_notifier_types(const struct offers *o)
{
    const char *name;
    for (int i = 0; (name = notify_type_name((enum config_notify_type)i)) != NULL; i++)
        if (notify_needs_of(name))
            add(o, name, NULL);
}

static void add_kind(struct offers *o, enum complete kind)
{
    static const char *const elsewhere[] = {
        [COMPLETE_FILE] = ":files", [COMPLETE_FOLDER] = ":directories", [COMPLETE_USER] = ":users"};
    if (kind < ARRAY_LEN(elsewhere) && elsewhere[kind])
        buf_printf(o->out, "%s\n", elsewhere[kind]);
    else if (kind == COMPLETE_SOURCE)
        add_sources(o);
    else if (kind == COMPLETE_METRIC)
        add_metrics(o);
    else if (kind == COMPLETE_COMMAND)
        add_commands(o);
    else if (kind == COMPLETE_NOTIFIER_TYPE)
        add_notifier_types(o);
    else
        add_configured(o, kind);
}

/* "a|b", "[a|b X] [Y]", "a | b FILE": adds the first word of each alternative if it is literal. */
static void add_alternatives(const struct offers *o, const char *text)
{
    while (text && *text) {
        char word[32];
        size_t length = 0;
        while (*text == ' ' || *text == '[')
            text++;
        while ((islower((unsigned char)text[length]) || text[length] == '-') && length < sizeof word - 1)
            length++;
        bool whole = length && islower((unsigned char)text[0]) && strchr(" ]|", text[length]);
        snprintf(word, sizeof word, "%.*s", (int)length, text);
        if (whole)
            add(o, word, NULL);
        text = strchr(text, '|');
        text += text != NULL;
    }
}

/* ---- position in the line ---- */

static void add_values(struct offers *o, const struct option_spec *spec)
{
    for (size_t i = 0; spec->values && spec->values[i]; i++)
        add(o, spec->values[i], NULL);
    if (spec->values || spec->complete == COMPLETE_NOTHING)
        return;
    if (spec->complete == COMPLETE_METRIC)
        keep_until(o, ",");
    add_kind(o, spec->complete);
}

static void add_options(const struct offers *o, const struct option_table *tables, size_t count)
{
    for (size_t t = 0; t < count; t++)
        for (size_t i = 0; i < tables[t].count; i++) {
            const struct option_spec *spec = &tables[t].specs[i];
            char name[64];
            snprintf(name, sizeof name, "--%s", spec->name);
            bool before = false; /* a command's own option replaces the common one */
            for (size_t k = 0; t > 0 && k < tables[0].count; k++)
                before |= strcmp(tables[0].specs[k].name, spec->name) == 0;
            if (!spec->hidden && !before)
                add(o, name, spec->help);
        }
}

static const struct option_spec *named(const struct option_table *tables, size_t count, struct str word)
{
    for (size_t t = 0; t < count; t++)
        for (size_t i = 0; i < tables[t].count; i++) {
            const struct option_spec *spec = &tables[t].specs[i];
            bool is_letter = word.len == 2 && word.at[0] == '-' && spec->letter && word.at[1] == spec->letter;
            if (is_letter || (str_starts(word, "--") && str_equal((struct str){word.at + 2, word.len - 2}, str_from(spec->name))))
                return spec;
        }
    return NULL;
}

static void add_arguments(struct offers *o, const struct command *command, const char *const *words, size_t count,
                          const struct option_table *tables, size_t table_count)
{
    const char *first = "";
    size_t before = 0;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(words[i], "--") == 0) { /* a program of the host and its arguments follow */
            add_kind(o, COMPLETE_FILE);
            return;
        }
        if (words[i][0] == '-') {
            i += options_take_next(tables, table_count, words[i], i + 1 < count ? words[i + 1] : NULL);
            continue;
        }
        if (before++ == 0)
            first = words[i];
    }
    if (before == 0)
        add_alternatives(o, command->arguments);
    for (size_t i = 0; i < OFFERS; i++) {
        const struct offer *offer = &command->offers[i];
        bool here = before == offer->place || (offer->repeated && before > offer->place);
        if (!here || (offer->behind && strcmp(first, offer->behind) != 0))
            continue;
        add_alternatives(o, offer->words);
        if (offer->complete != COMPLETE_NOTHING)
            add_kind(o, offer->complete);
    }
}

/* One completion per line, with a tab and a description, among those that match the last word. A line with a colon delegates to
 * the shell: ":files", ":directories", ":users". words: everything after the program's name; the last one is unfinished and may
 * be empty. */
static void offer_words(struct cli *cli, const char *const *words, size_t count, struct buf *out)
{
    const char *last = words[count - 1], *equals = strchr(last, '=');
    struct offers o = {cli, out, {last, 0}, str_from(last)};
    size_t at = command_word(words, count - 1);
    const struct command *command = command_find(at < count - 1 ? words[at] : COMMAND_UNNAMED);
    if (!command || count > ARGUMENTS_MAX)
        return;
    const char *inside[ARGUMENTS_MAX + 1] = {NULL}, *inner;
    if (at < count - 1) { /* "set power" and what follows */
        int left = (int)(count - 1 - at);
        memcpy(inside, words, (count - 1) * sizeof *words);
        command = command_inner(command, inside + at, &left, &inner);
        inside[at + (size_t)left] = last;
        count = at + (size_t)left + 1;
        words = inside;
    }
    const struct option_table tables[] = {{command->options, command->option_count}, global_options};
    const struct option_spec *spec = count > 1 ? named(tables, ARRAY_LEN(tables), str_from(words[count - 2])) : NULL;
    if (spec && spec->argument && !spec->optional) {
        add_values(&o, spec);
    } else if (last[0] == '-' && equals) {
        o.before.len = (size_t)(equals - last) + 1;
        o.typed = str_from(equals + 1);
        spec = named(tables, ARRAY_LEN(tables), (struct str){last, (size_t)(equals - last)});
        if (spec && spec->argument)
            add_values(&o, spec);
    } else if (last[0] == '-') {
        add_options(&o, tables, ARRAY_LEN(tables));
    } else if (at >= count - 1) {
        add_commands(&o);
    } else {
        add_arguments(&o, command, words + at + 1, count - at - 2, tables, ARRAY_LEN(tables));
    }
}

/* bash also splits words at = and :, and expects only the part after them. */
static const char bash[] =
    "# bash completion of whirr: source <(whirr completion bash)\n"
    "_whirr() {\n"
    "    local line=${COMP_LINE:0:COMP_POINT} cur behind stem word what kind\n"
    "    local -a words\n"
    "    read -ra words <<< \"$line\"\n"
    "    [[ $line == *[[:space:]] ]] && words+=('')\n"
    "    cur=${words[${#words[@]}-1]} behind=${cur##*[:=]}\n"
    "    stem=${cur%\"$behind\"}\n"
    "    COMPREPLY=()\n"
    "    while IFS=$'\\t' read -r word what; do\n"
    "        case $word in\n"
    "        :files|:directories|:users)\n"
    "            kind=${word#:} kind=${kind/directories/directory} kind=${kind/files/file} kind=${kind/users/user}\n"
    "            [[ $kind == user ]] || compopt -o filenames 2> /dev/null\n"
    "            while IFS= read -r what; do COMPREPLY+=(\"$what\"); done < <(compgen -A \"$kind\" -- \"$behind\") ;;\n"
    "        *)\n"
    "            [[ $word == *[=:,] ]] && compopt -o nospace 2> /dev/null\n"
    "            COMPREPLY+=(\"${word#\"$stem\"}\") ;;\n"
    "        esac\n"
    "    done < <(\"${words[0]/#\\~\\//$HOME/}\" completion offer -- \"${words[@]:1}\" 2> /dev/null)\n"
    "}\n"
    "complete -F _whirr whirr\n";

static const char zsh[] = "#compdef whirr\n"
                          "# zsh completion of whirr: whirr completion zsh > \"${fpath[1]}/_whirr\"\n"
                          "_whirr() {\n"
                          "    local -a whole begun\n"
                          "    local word what\n"
                          "    while IFS=$'\\t' read -r word what; do\n"
                          "        case $word in\n"
                          "        :files) compset -P '--*='; _files ;;\n"
                          "        :directories) compset -P '--*='; _files -/ ;;\n"
                          "        :users) compset -P '--*='; _users ;;\n"
                          "        *[=:,]) begun+=(\"${word//:/\\\\:}${what:+:$what}\") ;;\n"
                          "        *) whole+=(\"${word//:/\\\\:}${what:+:$what}\") ;;\n"
                          "        esac\n"
                          "    done < <(\"${(e)words[1]}\" completion offer -- \"${(@)words[2,CURRENT]}\" 2> /dev/null)\n"
                          "    (( ${#whole} )) && _describe whirr whole\n"
                          "    (( ${#begun} )) && _describe whirr begun -S ''\n"
                          "}\n"
                          "if [[ $funcstack[1] == _whirr ]]; then _whirr \"$@\"; else compdef _whirr whirr; fi\n";

static const char fish[] = "# fish completion of whirr: whirr completion fish > ~/.config/fish/completions/whirr.fish\n"
                           "function __whirr_offer\n"
                           "    set -l words (commandline -opc)\n"
                           "    set -l cur (commandline -ct)\n"
                           "    set -q cur[1]; or set cur ''\n"
                           "    set -l value (string replace -r '^--[^=]*=' '' -- $cur)\n"
                           "    for line in ($words[1] completion offer -- $words[2..-1] $cur 2> /dev/null)\n"
                           "        switch $line\n"
                           "            case :files\n"
                           "                __fish_complete_path $value\n"
                           "            case :directories\n"
                           "                __fish_complete_directories $value\n"
                           "            case :users\n"
                           "                __fish_complete_users\n"
                           "            case '*'\n"
                           "                echo $line\n"
                           "        end\n"
                           "    end\n"
                           "end\n"
                           "complete -c whirr -f -a '(__whirr_offer)'\n";

static const struct {
    const char *name, *script;
} shells[] = {{"bash", bash}, {"zsh", zsh}, {"fish", fish}};

static int completion_run(struct cli *cli)
{
    AUTO_BUF struct buf out = BUF(1024 * 1024);
    const struct options *o = cli->options;
    const char *asked = o->arguments[0];
    const char *names[ARRAY_LEN(shells)];
    if (strcmp(asked, "offer") == 0) {
        if (o->argument_count > 1)
            offer_words(cli, o->arguments + 1, o->argument_count - 1, &out);
        return show_text(&out);
    }
    if (o->argument_count > 1)
        return cli_usage(cli, "'%s' does not take '%s'", cli->name, o->arguments[1]);
    for (size_t i = 0; i < ARRAY_LEN(shells); i++) {
        names[i] = shells[i].name;
        if (strcmp(asked, names[i]) == 0) {
            buf_text(&out, shells[i].script);
            return show_text(&out);
        }
    }
    return cli_unknown(cli, "shell", asked, names, ARRAY_LEN(names));
}

const struct command command_completion = {
    .alone = true,
    .name = "completion",
    .group = HELP_SETUP,
    .summary = "Print the completion script for bash, zsh or fish",
    .arguments = "bash|zsh|fish",
    .arguments_min = 1,
    .arguments_max = ARGUMENTS_MAX, /* the scripts call `offer -- WORD...` */
    .examples = {{"source <(whirr completion bash)", "for this bash session"},
                 {"whirr completion zsh > \"${fpath[1]}/_whirr\"", "for zsh, permanently"},
                 {"whirr completion fish > ~/.config/fish/completions/whirr.fish", "for fish, permanently"}},
    .lacks = "json gpu",
    .run = completion_run,
};
