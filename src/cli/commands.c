/* SPDX-License-Identifier: Apache-2.0
 * The table of commands, in the order of --help within their groups.
 */
#include <string.h>

#include "base/cleanup.h"
#include "cli/command.h"

/* clang-format off */
#define COMMANDS(COMMAND) \
    COMMAND(status)       \
    COMMAND(top)          \
    COMMAND(ps)           \
    COMMAND(why)          \
    COMMAND(health)       \
    COMMAND(history)      \
    COMMAND(report)       \
    COMMAND(fit)          \
    COMMAND(forecast) /* hidden: why --forecast */ \
    COMMAND(resources) /* hidden: status --full */ \
    COMMAND(devices) /* hidden: status --full */ \
    COMMAND(driver)       \
    COMMAND(doctor)       \
    COMMAND(alert)        \
    COMMAND(setup)        \
    COMMAND(notify)       \
    COMMAND(free)         \
    COMMAND(check)        \
    COMMAND(guard)        \
    COMMAND(run)          \
    COMMAND(reserve)      \
    COMMAND(lease)        \
    COMMAND(do)           \
    COMMAND(try)          \
    COMMAND(undo)         \
    COMMAND(set)          \
    COMMAND(forget)       \
    COMMAND(fleet)        \
    COMMAND(quiet)        \
    COMMAND(limit) /* hidden: set power */ \
    COMMAND(clocks) /* hidden: set clocks */ \
    COMMAND(fan) /* hidden: set fan */ \
    COMMAND(tune) /* hidden: set best */ \
    COMMAND(watch)        \
    COMMAND(wait)         \
    COMMAND(node_health) /* hidden: health --slurm */ \
    COMMAND(serve)        \
    COMMAND(mcp)          \
    COMMAND(record)       \
    COMMAND(export)       \
    COMMAND(sim)          \
    COMMAND(config)       \
    COMMAND(db)           \
    COMMAND(token)        \
    COMMAND(release) /* hidden: driver release */ \
    COMMAND(completion)   \
    COMMAND(help)         \
    COMMAND(version)      \
    COMMAND(lease_recover) /* hidden */ \
    COMMAND(cuda_helper) /* hidden */ \
    COMMAND(check_helper) /* hidden */

#define COMMAND(name) extern const struct command command_##name;
COMMANDS(COMMAND)
#undef COMMAND

const struct command *const command_table[] = {
#define COMMAND(name) &command_##name,
    COMMANDS(COMMAND)
#undef COMMAND
};
/* clang-format on */
const size_t command_count = ARRAY_LEN(command_table);

const char *const command_groups[HELP_COUNT] = {
    [HELP_LOOK] = "Look", [HELP_EXPLAIN] = "Explain", [HELP_PAST] = "Past",
    [HELP_ACT] = "Act",   [HELP_RUN] = "Run",         [HELP_SETUP] = "Set up",
};

/* The meaning of an option before the command is known: a common one, one of `status`, which needs no name, or else the first
 * with that name. */
size_t command_word(const char *const *words, size_t count)
{
    struct option_table tables[2 + COMMANDS_MAX] = {global_options, {NULL, 0}};
    size_t table_count = 2;
    for (size_t i = 0; i < command_count && table_count < ARRAY_LEN(tables); i++) {
        const struct option_table own = {command_table[i]->options, command_table[i]->option_count};
        tables[strcmp(command_table[i]->name, COMMAND_UNNAMED) == 0 ? 1 : table_count++] = own;
    }
    for (size_t i = 0; i < count; i++) {
        if (words[i][0] != '-' || words[i][1] == '\0')
            return i;
        if (strcmp(words[i], "--") == 0)
            break;
        i += options_take_next(tables, table_count, words[i], i + 1 < count ? words[i + 1] : NULL);
    }
    return count;
}

const struct command *command_find(const char *name)
{
    for (size_t i = 0; i < command_count; i++)
        if (strcmp(command_table[i]->name, name) == 0)
            return command_table[i];
    return NULL;
}

const char *command_shown_name(const struct command *command)
{
    return command->hidden && command->place ? command->place : command->name;
}

/* Takes the word at `at` out of the line. */
static void drop_word(const char **words, int *count, int at)
{
    memmove(words + at, words + at + 1, (size_t)(*count - at) * sizeof *words);
    (*count)--;
}

/* The position of the word that selects a command placed in the first word: a subcommand, or one of its options. 0: none. */
static int selected_at(const char *selectors, const char **words, int count)
{
    bool option = selectors[0] == '-';
    int sub = 1 + (int)command_word(words + 1, (size_t)count - 1);
    for (int i = option ? 1 : sub; i < count && strcmp(words[i], "--") != 0; i++) {
        struct str rest = str_from(selectors), one;
        while (str_cut(&rest, '|', &one))
            if (str_is(one, words[i]))
                return i;
        if (!option)
            break;
    }
    return 0;
}

const struct command *command_inner(const struct command *outer, const char **words, int *count, const char **ret_matched)
{
    size_t length = strlen(outer->name);
    *ret_matched = NULL;
    for (size_t i = 0; i < command_count; i++) {
        const struct command *c = command_table[i];
        if (!c->place || strncmp(c->place, outer->name, length) != 0 || c->place[length] != ' ')
            continue;
        int at = selected_at(c->place + length + 1, words, *count);
        if (!at)
            continue;
        *ret_matched = words[at];
        bool own = false; /* an option that it reads itself */
        for (size_t k = 0; k < c->option_count; k++)
            own |= strncmp(words[at], "--", 2) == 0 && strcmp(c->options[k].name, words[at] + 2) == 0;
        if (!own)
            drop_word(words, count, at);
        return c;
    }
    return outer;
}

bool command_lacks(const struct command *command, const char *option)
{
    struct str rest = str_from(command->lacks ? command->lacks : ""), word;
    while (str_word(&rest, &word))
        if (str_is(word, option))
            return true;
    return false;
}

int command_unknown(const char *name)
{
    const char *names[COMMANDS_MAX];
    size_t count = 0;
    for (size_t i = 0; i < command_count && count < ARRAY_LEN(names); i++)
        if (!command_table[i]->hidden)
            names[count++] = command_table[i]->name;
    return cli_unknown(NULL, "command", name, names, count);
}
