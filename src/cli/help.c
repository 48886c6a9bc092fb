/* SPDX-License-Identifier: Apache-2.0
 * --help: examples first, then how to call it, then the options.
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

void help_command(struct buf *out, const struct page *page, const struct command *command)
{
    char line[256];
    snprintf(line, sizeof line, "whirr %s: %s", command->name, command->summary);
    page_wrap(out, page, INK_PLAIN, line, 0, 0);
    if (command->example_count) {
        title(out, page, "Examples");
        for (size_t i = 0; i < command->example_count; i++)
            two_columns(out, page, INK_MEMORY, command->examples[i].line, command->examples[i].what, 32);
    }
    title(out, page, "Usage");
    snprintf(line, sizeof line, "  whirr %s [OPTIONS]%s%s", command->name, command->arguments ? " " : "",
             command->arguments ? command->arguments : "");
    buf_printf(out, "%s\n", line);
    if (command->details) {
        buf_char(out, '\n');
        page_wrap(out, page, INK_PLAIN, command->details, 0, 0);
    }
    title(out, page, "Exit status");
    page_wrap(out, page, INK_PLAIN, command->exits ? command->exits : COMMAND_EXITS, 0, 0);
    if (command->option_count) {
        title(out, page, "Options");
        option_list(out, page, command->options, command->option_count);
    }
    title(out, page, "Options of all commands");
    option_list(out, page, global_options.specs, global_options.count);
}

void help_overview(struct buf *out, const struct page *page)
{
    page_wrap(out, page, INK_PLAIN, "whirr watches the GPUs of this machine and tells why they are busy, hot or loud.", 0, 0);
    title(out, page, "Examples");
    two_columns(out, page, INK_MEMORY, "whirr", "all GPUs at a glance", 32);
    two_columns(out, page, INK_MEMORY, "whirr why", "why is my GPU fan running?", 32);
    two_columns(out, page, INK_MEMORY, "whirr ps --sort memory", "who holds the memory", 32);
    two_columns(out, page, INK_MEMORY, "whirr --source sim", "without a GPU: a simulated machine", 32);
    title(out, page, "Commands");
    for (size_t i = 0; i < command_count; i++)
        if (!command_table[i]->hidden)
            two_columns(out, page, INK_STRONG, command_table[i]->name, command_table[i]->summary, 11);
    title(out, page, "Options of all commands");
    option_list(out, page, global_options.specs, global_options.count);
    buf_char(out, '\n');
    page_wrap(out, page, INK_PLAIN, "`whirr COMMAND --help` shows examples and options of a command.", 0, 0);
}
