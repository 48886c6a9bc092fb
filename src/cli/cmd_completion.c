/* SPDX-License-Identifier: Apache-2.0
 * whirr completion: what shells need to know, from the command table.
 */
#include <stdio.h>

#include "base/cleanup.h"
#include "cli/show.h"
#include "source/source.h"

static void source_names(struct buf *out)
{
    buf_text(out, "auto");
    for (size_t i = 0; i < source_registry_count; i++)
        buf_printf(out, " %s", source_registry[i]->name);
}

/* ---- bash ---- */

static void bash_words(struct buf *out, const struct option_table *table)
{
    for (size_t i = 0; i < table->count; i++)
        if (!table->specs[i].hidden)
            buf_printf(out, " --%s", table->specs[i].name);
}

static void bash_values(struct buf *out, const struct option_table *table)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct option_spec *spec = &table->specs[i];
        if (!spec->argument || spec->optional || spec->hidden)
            continue;
        buf_printf(out, "        --%s) ", spec->name);
        if (spec->values) {
            buf_text(out, "COMPREPLY=($(compgen -W '");
            for (size_t v = 0; spec->values[v]; v++)
                buf_printf(out, "%s%s", v ? " " : "", spec->values[v]);
            buf_text(out, "' -- \"$cur\"));");
        } else if (spec->complete == COMPLETE_FILE)
            buf_text(out, "COMPREPLY=($(compgen -f -- \"$cur\"));");
        else if (spec->complete == COMPLETE_FOLDER)
            buf_text(out, "COMPREPLY=($(compgen -d -- \"$cur\"));");
        else if (spec->complete == COMPLETE_USER)
            buf_text(out, "COMPREPLY=($(compgen -u -- \"$cur\"));");
        else if (spec->complete == COMPLETE_SOURCE) {
            buf_text(out, "COMPREPLY=($(compgen -W '");
            source_names(out);
            buf_text(out, "' -- \"$cur\"));");
        } else
            buf_text(out, "COMPREPLY=();");
        buf_text(out, " return ;;\n");
    }
}

static void bash(struct buf *out)
{
    buf_text(out, "# bash completion of whirr: source <(whirr completion bash)\n"
                  "_whirr() {\n"
                  "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command= word skip= i\n"
                  "    COMPREPLY=()\n"
                  "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
                  "        word=${COMP_WORDS[i]}\n"
                  "        if [[ $skip ]]; then skip=; continue; fi\n"
                  "        case $word in\n        ");
    bool first = true;
    for (size_t i = 0; i < global_options.count; i++) {
        if (!global_options.specs[i].argument)
            continue;
        buf_printf(out, "%s--%s", first ? "" : "|", global_options.specs[i].name);
        first = false;
    }
    buf_text(out, ") skip=1 ;;\n        -*) ;;\n        *) command=$word; break ;;\n        esac\n    done\n"
                  "    case $prev in\n");
    bash_values(out, &global_options);
    buf_text(out, "    esac\n    case $command in\n");
    for (size_t i = 0; i < command_count; i++) {
        const struct command *c = command_table[i];
        struct option_table own = {c->options, c->option_count};
        if (c->hidden)
            continue;
        buf_printf(out, "    %s)\n        case $prev in\n", c->name);
        bash_values(out, &own);
        buf_text(out, "        esac\n        [[ $cur == -* ]] && COMPREPLY=($(compgen -W '");
        bash_words(out, &own);
        bash_words(out, &global_options);
        buf_text(out, "' -- \"$cur\"))\n");
        if (strcmp(c->name, "help") == 0) {
            buf_text(out, "        [[ $cur == -* ]] || COMPREPLY=($(compgen -W '");
            for (size_t k = 0; k < command_count; k++)
                if (!command_table[k]->hidden)
                    buf_printf(out, " %s", command_table[k]->name);
            buf_text(out, "' -- \"$cur\"))\n");
        } else if (strcmp(c->name, "completion") == 0)
            buf_text(out, "        [[ $cur == -* ]] || COMPREPLY=($(compgen -W 'bash zsh fish' -- \"$cur\"))\n");
        else if (c->arguments && strstr(c->arguments, "FILE"))
            buf_text(out, "        [[ $cur == -* ]] || COMPREPLY=($(compgen -f -- \"$cur\"))\n");
        buf_text(out, "        ;;\n");
    }
    struct option_table status = {command_table[0]->options, command_table[0]->option_count};
    buf_text(out, "    *)\n        if [[ $cur == -* ]]; then COMPREPLY=($(compgen -W '");
    bash_words(out, &status);
    bash_words(out, &global_options);
    buf_text(out, "' -- \"$cur\"))\n        else COMPREPLY=($(compgen -W '");
    for (size_t i = 0; i < command_count; i++)
        if (!command_table[i]->hidden)
            buf_printf(out, " %s", command_table[i]->name);
    buf_text(out, "' -- \"$cur\"))\n        fi ;;\n    esac\n}\ncomplete -F _whirr whirr\n");
}

/* ---- zsh ---- */

/* Inside '...[...]' of _arguments. */
static void zsh_text(struct buf *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '\'')
            buf_text(out, "'\\''");
        else {
            if (strchr("[]:\\", *text))
                buf_char(out, '\\');
            buf_char(out, *text);
        }
    }
}

static void zsh_options(struct buf *out, const struct option_table *table)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct option_spec *spec = &table->specs[i];
        if (spec->hidden)
            continue;
        buf_printf(out, "            '*--%s%s[", spec->name, !spec->argument ? "" : spec->optional ? "=-" : "=");
        zsh_text(out, spec->help);
        buf_char(out, ']');
        if (spec->argument) {
            buf_text(out, spec->optional ? "::" : ":");
            zsh_text(out, spec->argument);
            buf_char(out, ':');
            if (spec->values) {
                buf_char(out, '(');
                for (size_t v = 0; spec->values[v]; v++)
                    buf_printf(out, "%s%s", v ? " " : "", spec->values[v]);
                buf_char(out, ')');
            } else if (spec->complete == COMPLETE_FILE)
                buf_text(out, "_files");
            else if (spec->complete == COMPLETE_FOLDER)
                buf_text(out, "_files -/");
            else if (spec->complete == COMPLETE_USER)
                buf_text(out, "_users");
            else if (spec->complete == COMPLETE_SOURCE) {
                buf_char(out, '(');
                source_names(out);
                buf_char(out, ')');
            }
        }
        buf_text(out, "' \\\n");
    }
}

static void zsh(struct buf *out)
{
    buf_text(out, "#compdef whirr\n# zsh completion of whirr: whirr completion zsh > \"${fpath[1]}/_whirr\"\n"
                  "_whirr() {\n    local -a commands\n    commands=(\n");
    for (size_t i = 0; i < command_count; i++) {
        if (command_table[i]->hidden)
            continue;
        buf_printf(out, "        '%s:", command_table[i]->name);
        zsh_text(out, command_table[i]->summary);
        buf_text(out, "'\n");
    }
    buf_text(out, "    )\n    local word command=\n    for word in ${words[2,CURRENT-1]}; do\n"
                  "        if (( ${commands[(I)$word:*]} )); then command=$word; break; fi\n    done\n    case $command in\n");
    for (size_t i = 0; i < command_count; i++) {
        const struct command *c = command_table[i];
        struct option_table own = {c->options, c->option_count};
        if (c->hidden)
            continue;
        buf_printf(out, "    %s)\n        _arguments \\\n", c->name);
        zsh_options(out, &own);
        zsh_options(out, &global_options);
        if (strcmp(c->name, "completion") == 0)
            buf_text(out, "            '*:shell:(bash zsh fish)' ;;\n");
        else
            buf_text(out, "            '*:argument:_files' ;;\n");
    }
    struct option_table status = {command_table[0]->options, command_table[0]->option_count};
    buf_text(out, "    *)\n        _describe command commands\n        _arguments \\\n");
    zsh_options(out, &status);
    zsh_options(out, &global_options);
    buf_text(out, "            '*: :' ;;\n    esac\n}\ncompdef _whirr whirr\n");
}

/* ---- fish ---- */

static void fish_text(struct buf *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '\'' || *text == '\\')
            buf_char(out, '\\');
        buf_char(out, *text);
    }
}

static void fish_options(struct buf *out, const struct option_table *table, const char *condition)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct option_spec *spec = &table->specs[i];
        if (spec->hidden)
            continue;
        buf_printf(out, "complete -c whirr%s -l %s", condition, spec->name);
        if (spec->letter)
            buf_printf(out, " -s %c", spec->letter);
        if (spec->argument && !spec->optional)
            buf_text(out, spec->complete == COMPLETE_FILE || spec->complete == COMPLETE_FOLDER ? " -r" : " -x");
        if (spec->values) {
            buf_text(out, " -a '");
            for (size_t v = 0; spec->values[v]; v++)
                buf_printf(out, "%s%s", v ? " " : "", spec->values[v]);
            buf_char(out, '\'');
        } else if (spec->complete == COMPLETE_SOURCE) {
            buf_text(out, " -a '");
            source_names(out);
            buf_char(out, '\'');
        } else if (spec->complete == COMPLETE_USER)
            buf_text(out, " -a '(__fish_complete_users)'");
        buf_text(out, " -d '");
        fish_text(out, spec->help);
        buf_text(out, "'\n");
    }
}

static void fish(struct buf *out)
{
    buf_text(out, "# fish completion of whirr: whirr completion fish > ~/.config/fish/completions/whirr.fish\n"
                  "complete -c whirr -f\n");
    for (size_t i = 0; i < command_count; i++) {
        if (command_table[i]->hidden)
            continue;
        buf_printf(out, "complete -c whirr -n __fish_use_subcommand -a %s -d '", command_table[i]->name);
        fish_text(out, command_table[i]->summary);
        buf_text(out, "'\n");
    }
    fish_options(out, &global_options, "");
    for (size_t i = 0; i < command_count; i++) {
        const struct command *c = command_table[i];
        char condition[96];
        struct option_table own = {c->options, c->option_count};
        if (c->hidden)
            continue;
        snprintf(condition, sizeof condition, " -n '__fish_seen_subcommand_from %s'", c->name);
        fish_options(out, &own, condition);
        if (c->arguments && strstr(c->arguments, "FILE"))
            buf_printf(out, "complete -c whirr%s -F\n", condition);
    }
    buf_text(out, "complete -c whirr -n '__fish_seen_subcommand_from completion' -a 'bash zsh fish'\n");
}

static const struct {
    const char *name;
    void (*write)(struct buf *out);
} shells[] = {{"bash", bash}, {"zsh", zsh}, {"fish", fish}};

static int completion_run(struct cli *cli)
{
    AUTO_BUF struct buf out = BUF(1024 * 1024);
    const char *asked = cli->options->arguments[0];
    const char *names[ARRAY_LEN(shells)];
    for (size_t i = 0; i < ARRAY_LEN(shells); i++) {
        names[i] = shells[i].name;
        if (strcmp(asked, names[i]) == 0) {
            shells[i].write(&out);
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
    .arguments_max = 1,
    .examples = {{"source <(whirr completion bash)", "for this bash session"},
                 {"whirr completion zsh > \"${fpath[1]}/_whirr\"", "for zsh, permanently"},
                 {"whirr completion fish > ~/.config/fish/completions/whirr.fish", "for fish, permanently"}},
    .run = completion_run,
};
