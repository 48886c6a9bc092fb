/* SPDX-License-Identifier: Apache-2.0
 * The man pages, generated from the tables instead of written twice.
 */
#include "cli/command.h"

void manual_text(struct buf *out, const char *text)
{
    for (; *text; text++) {
        if (strchr("\\*_#<~`[", *text))
            buf_char(out, '\\');
        buf_char(out, *text);
    }
}

static void option_items(struct buf *out, const struct option_spec *specs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (specs[i].hidden)
            continue;
        if (specs[i].letter)
            buf_printf(out, "*-%c*, ", specs[i].letter);
        buf_printf(out, "*--%s*", specs[i].name);
        if (specs[i].argument) {
            buf_text(out, specs[i].optional ? "[=" : " ");
            manual_text(out, specs[i].argument);
            buf_text(out, specs[i].optional ? "]" : "");
        }
        buf_text(out, "\n\t");
        manual_text(out, specs[i].help);
        buf_text(out, ".\n\n");
    }
}

void manual_item(struct buf *out, const char *name, const char *text)
{
    buf_text(out, "*");
    manual_text(out, name);
    buf_text(out, "*\n\t");
    manual_text(out, text);
    buf_text(out, "\n\n");
}

static void examples(struct buf *out, const struct command *command)
{
    if (!command->examples[0].line)
        return;
    buf_text(out, "# EXAMPLES\n\n");
    for (size_t i = 0; i < EXAMPLES && command->examples[i].line; i++)
        manual_item(out, command->examples[i].line, command->examples[i].what);
}

/* The sections of a command, or of one that is placed in it. */
static void manual_parts(struct buf *out, const struct command *command, const char *of)
{
    if (command->option_count) {
        buf_printf(out, "# OPTIONS%s%s\n\n", of[0] ? " OF " : "", of);
        option_items(out, command->options, command->option_count);
    }
}

static void manual_inner(struct buf *out, const struct command *command)
{
    size_t length = strlen(command->name);
    for (size_t i = 0; i < command_count; i++) {
        const struct command *c = command_table[i];
        if (!c->hidden || !c->place || strncmp(c->place, command->name, length) != 0 || c->place[length] != ' ')
            continue;
        buf_printf(out, "# WHIRR %s\n\n*whirr %s* [OPTIONS]", c->place, c->place);
        if (c->arguments) {
            buf_char(out, ' ');
            manual_text(out, c->arguments);
        }
        buf_text(out, "\n\n");
        manual_text(out, c->details ? c->details : c->summary);
        buf_text(out, "\n\n");
        manual_parts(out, c, c->place);
    }
}

void manual_command(struct buf *out, const struct command *command)
{
    buf_printf(out, "whirr-%s(1)\n\n# NAME\n\nwhirr-%s - ", command->name, command->name);
    manual_text(out, command->summary);
    buf_printf(out, "\n\n# SYNOPSIS\n\n*whirr %s* [OPTIONS]", command->name);
    if (command->arguments) {
        buf_char(out, ' ');
        manual_text(out, command->arguments);
    }
    buf_text(out, "\n\n");
    examples(out, command);
    buf_text(out, "# DESCRIPTION\n\n");
    manual_text(out, command->details ? command->details : command->summary);
    buf_text(out, command->details ? "\n\n" : ".\n\n");
    if (command->manual)
        command->manual(out);
    manual_parts(out, command, "");
    manual_inner(out, command);
    buf_text(out, "The options of all commands are in *whirr*(1).\n\n# EXIT STATUS\n\n");
    manual_text(out, command->exits ? command->exits : COMMAND_EXITS);
    buf_text(out, "\n\n# SEE ALSO\n\n*whirr*(1)\n");
}

void manual_overview(struct buf *out)
{
    buf_text(out, "whirr(1)\n\n# NAME\n\nwhirr - show what GPUs are doing, and why they are busy, hot or loud\n\n"
                  "# SYNOPSIS\n\n*whirr* [COMMAND] [OPTIONS]\n\n# DESCRIPTION\n\n"
                  "whirr reads the GPUs of this host, of all vendors at once, names the processes on them, and explains why "
                  "a fan is running. Without a command it runs *whirr-status*(1).\n\n");
    for (int group = 0; group < HELP_COUNT; group++) {
        buf_printf(out, "# COMMANDS: %s\n\n", command_groups[group]);
        for (size_t i = 0; i < command_count; i++) {
            if (command_table[i]->hidden || (int)command_table[i]->group != group)
                continue;
            buf_printf(out, "*whirr-%s*(1)\n\t", command_table[i]->name);
            manual_text(out, command_table[i]->summary);
            buf_text(out, ".\n\n");
        }
    }
    buf_text(out, "# OPTIONS OF ALL COMMANDS\n\n");
    option_items(out, global_options.specs, global_options.count);
    buf_text(
        out,
        "# EXIT STATUS\n\n*0*\n\tFine, even without a GPU.\n\n*1*\n\tIt failed, or the answer is no.\n\n*2*\n\tWrong usage, or a "
        "configuration that can't be used.\n\n"
        "Each command's page lists its own.\n\n"
        "# ENVIRONMENT\n\n*NO\\_COLOR*\n\tNo colors, if set to anything.\n\n"
        "*COLUMNS*\n\tWidth of the output where it is not a terminal.\n\n"
        "*NVIDIA\\_VISIBLE\\_DEVICES*\n\tLimits the NVIDIA GPUs that are shown: all, none, void, indexes or UUIDs.\n\n"
        "*WHIRR\\_CONFIG*\n\tThe configuration file, like *--config*.\n\n"
        "*WHIRR\\_NVML\\_LIBRARY*, *WHIRR\\_CUDA\\_LIBRARY*, *WHIRR\\_NVIDIA\\_SMI*\n\t"
        "File names of the libraries and of the program, if not the usual ones.\n\n"
        "# FILES\n\n/etc/whirr/whirr.toml, $XDG\\_CONFIG\\_HOME/whirr/whirr.toml\n\tConfiguration: *whirr.toml*(5).\n\n"
        "%ProgramData%\\\\whirr\\\\whirr.toml, %APPDATA%\\\\whirr\\\\whirr.toml\n\tThe same on Windows.\n");
}
