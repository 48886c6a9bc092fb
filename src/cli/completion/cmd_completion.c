/* SPDX-License-Identifier: Apache-2.0
 * whirr completion: scripts for shells. They ask the program itself for completions: commands, values and configured names.
 */
#include "base/cleanup.h"
#include "cli/completion/offer.h"

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
