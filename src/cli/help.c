/* SPDX-License-Identifier: Apache-2.0
 * --help, on one screen: usage, three examples, the command's own options. The common options have a page of their own.
 */
#include <stdio.h>

#include "base/cleanup.h"
#include "cli/command.h"

static void title(struct buf *out, const struct page *page, const char *text)
{
    buf_char(out, '\n');
    page_wrap(out, page, INK_STRONG, text, 0, 0);
}

static void two_columns(struct buf *out, const struct page *page, enum ink ink, const char *left, const char *right, int width)
{
    int used = width_of(left);
    buf_text(out, "  ");
    page_cell(out, page, ink, LEFT, left, MAX_OF(used, width));
    if (used > width) {
        buf_printf(out, "\n%*s", width + 2, "");
    }
    buf_text(out, "  ");
    page_wrap(out, page, INK_PLAIN, right, width + 4, width + 4);
}

static void option_words(char *text, size_t size, const struct option_spec *spec)
{
    char letter[8] = "";
    if (spec->letter)
        snprintf(letter, sizeof letter, "-%c, ", spec->letter);
    if (!spec->argument)
        snprintf(text, size, "%s--%s", letter, spec->name);
    else if (spec->optional)
        snprintf(text, size, "%s--%s[=%s]", letter, spec->name, spec->argument);
    else
        snprintf(text, size, "%s--%s %s", letter, spec->name, spec->argument);
}

static void option_list(struct buf *out, const struct page *page, const struct option_spec *specs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char words[96];
        if (specs[i].hidden)
            continue;
        option_words(words, sizeof words, &specs[i]);
        two_columns(out, page, INK_PLAIN, words, specs[i].help, 22);
    }
}

static void paragraph(struct buf *out, const struct page *page, const char *text)
{
    buf_char(out, '\n');
    page_wrap(out, page, INK_PLAIN, text, 0, 0);
}

void help_command(struct buf *out, const struct page *page, const struct command *command, bool full)
{
    char line[256];
    snprintf(line, sizeof line, "%s.", command->summary);
    page_wrap(out, page, INK_PLAIN, line, 0, 0);
    snprintf(line, sizeof line, "Usage: whirr %s [OPTIONS]%s%s", command->name, command->arguments ? " " : "",
             command->arguments ? command->arguments : "");
    paragraph(out, page, line);
    if (command->examples[0].line)
        title(out, page, "Examples");
    for (size_t i = 0; i < EXAMPLES && command->examples[i].line; i++)
        two_columns(out, page, INK_MEMORY, command->examples[i].line, command->examples[i].what, 32);
    if (full && command->details)
        paragraph(out, page, command->details);
    if (command->option_count)
        title(out, page, "Options");
    option_list(out, page, command->options, command->option_count);
    snprintf(line, sizeof line, "Exit status: %s", command->exits ? command->exits : COMMAND_EXITS);
    paragraph(out, page, line);
    snprintf(line, sizeof line, "More: `whirr help %s -v`, `whirr help options`", command->name);
    page_wrap(out, page, INK_FAINT, command->details && !full ? line : "More: `whirr help options`", 0, 0);
}

void help_overview(struct buf *out, const struct page *page)
{
    page_wrap(out, page, INK_PLAIN, "whirr shows what your GPUs are doing, and why they are busy, hot or loud.", 0, 0);
    paragraph(out, page, "Usage: whirr [COMMAND] [OPTIONS]");
    title(out, page, "Examples");
    two_columns(out, page, INK_MEMORY, "whirr", "all GPUs at a glance", 24);
    two_columns(out, page, INK_MEMORY, "whirr why", "why is my GPU fan running?", 24);
    two_columns(out, page, INK_MEMORY, "whirr --source sim", "no GPU? a simulated machine", 24);
    for (int group = 0; group < HELP_COUNT; group++) {
        title(out, page, command_groups[group]);
        for (size_t i = 0; i < command_count; i++)
            if (!command_table[i]->hidden && (int)command_table[i]->group == group)
                two_columns(out, page, INK_STRONG, command_table[i]->name, command_table[i]->summary, 11);
    }
    paragraph(out, page, "More: `whirr COMMAND --help`, `whirr help options`");
}

/* Lists the commands without an option: "--json is not for run, record, ..." */
static void list_without(struct buf *out, const struct page *page, const char *option)
{
    char line[512];
    int used = snprintf(line, sizeof line, "--%s is not for", option);
    for (size_t i = 0, count = 0; i < command_count; i++)
        if (!command_table[i]->hidden && command_lacks(command_table[i], option) && used < (int)sizeof line)
            used += snprintf(line + used, sizeof line - (size_t)used, "%s %s", count++ ? "," : "", command_table[i]->name);
    page_wrap(out, page, INK_PLAIN, line, 0, 0);
}

void help_options(struct buf *out, const struct page *page)
{
    page_wrap(out, page, INK_PLAIN, "Commands accept these options, before or after their name.", 0, 0);
    title(out, page, "Options");
    option_list(out, page, global_options.specs, global_options.count);
    buf_char(out, '\n');
    list_without(out, page, "json");
    list_without(out, page, "gpu");
    paragraph(out, page, "Exit status: " COMMAND_EXITS);
}
