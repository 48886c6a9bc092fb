/* SPDX-License-Identifier: Apache-2.0
 * A command is one file and one const entry in the table of commands.c.
 */
#pragma once

#include "ask/cli.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"

/* ---- Options as data: parsing, --help, completions and man pages use the same tables ---- */

/* What a shell completes the argument with. */
enum complete {
    COMPLETE_NOTHING,
    COMPLETE_FILE,
    COMPLETE_FOLDER,
    COMPLETE_USER,
    COMPLETE_COMMAND, /* commands of whirr */
    COMPLETE_HOST,    /* configured hosts */
    COMPLETE_METRIC,
    COMPLETE_NOTIFIER, /* configured notifiers */
    COMPLETE_NOTIFIER_TYPE,
    COMPLETE_SOURCE,
};

struct option_spec {
    const char *name;          /* without the dashes */
    const char *known_as;      /* name for options_has() and the like; NULL: `name` */
    char letter;               /* 0: no short form */
    const char *argument;      /* "SECONDS"; NULL: takes none */
    bool optional;             /* the argument is optional: --watch[=SECONDS] */
    bool hidden;               /* accepted, but not listed */
    const char *help;          /* one line */
    const char *const *values; /* the only allowed values, NULL-terminated; NULL: any */
    bool any_case;             /* ignore case in `values` */
    enum complete complete;
};

enum { OPTIONS_MAX = 64, ARGUMENTS_MAX = 512 }; /* arguments include those of a program to start */

struct options {
    struct {
        const struct option_spec *spec;
        const char *value; /* NULL: without argument */
    } given[OPTIONS_MAX];
    size_t given_count;
    const char *arguments[ARGUMENTS_MAX + 1]; /* NULL-terminated */
    size_t argument_count;
};

struct option_table {
    const struct option_spec *specs;
    size_t count;
};

/* Options may appear anywhere; "--" ends them. On wrong usage -EINVAL and a message that suggests the nearest name. */
int options_parse(struct options *o, const struct option_table *tables, size_t table_count, int argc, char **argv,
                  struct error *err);

/* Whether this option takes the next word as its value; an optional value must be a number. */
bool options_take_next(const struct option_table *tables, size_t table_count, const char *word, const char *next);

bool options_has(const struct options *o, const char *name);
size_t options_times(const struct options *o, const char *name);
/* The last value given, or `fallback`. */
const char *options_value(const struct options *o, const char *name, const char *fallback);
/* The same as the parameter of a query: false if not given. `options`: a struct options. */
bool options_parameter(void *options, const char *name, char *value, size_t size);
/* Removes an option. */
void options_drop(struct options *o, const char *name);
/* Parses a positive number of seconds into ms; otherwise -EINVAL and a message. *ret is unchanged if the option is not given. */
int options_seconds(const struct options *o, const char *name, int64_t *ret_ms, struct error *err);
/* Durations like "10m", options_span(): above 0. EXIT_FINE, or prints what is wrong. *ret is unchanged if it is not given. */
int options_duration(const struct cli *cli, const char *name, int64_t *ret_ms);
int options_span(const struct cli *cli, const char *name, int64_t *ret_ms);

struct example {
    const char *line; /* what to type */
    const char *what; /* what it does */
};

/* Purposes of commands; --help lists the commands in this order. */
enum help_group { HELP_LOOK, HELP_EXPLAIN, HELP_PAST, HELP_ACT, HELP_RUN, HELP_SETUP, HELP_COUNT };

enum { EXAMPLES = 3, OFFERS = 4 };

/* Completions for an argument, besides those in `arguments` for the first one. */
struct offer {
    const char *behind;     /* if the first argument is this; NULL: whatever it is */
    size_t place;           /* number of arguments before it */
    bool repeated;          /* also for all arguments after it */
    enum complete complete; /* or: */
    const char *words;      /* "a|b" */
};

struct command {
    const char *name;
    enum help_group group;
    const char *summary;   /* one line that starts with a verb, no period */
    const char *details;   /* paragraphs for `help -v` and the man page; NULL: the summary says it all */
    const char *exits;     /* what its exit status means; NULL: COMMAND_EXITS */
    int failure_status;    /* if there is no answer, for any reason; 0: 1 on failure, 2 on wrong usage or configuration */
    const char *arguments; /* "FILE", "[COMMAND]"; NULL: none */
    size_t arguments_min, arguments_max;
    struct offer offers[OFFERS];
    const struct option_spec *options;
    size_t option_count; /* both: OPTIONS(table) */
    struct example examples[EXAMPLES];
    bool hidden;                     /* an old name, or no command for people */
    const char *place;               /* where it is found: "set power", or "health --slurm|--kubernetes" for an option of another
                                        command; NULL: under its own name alone */
    const char *lacks;               /* common options that make no sense here: "json gpu"; NULL: none */
    bool gpus;                       /* --gpu may name several */
    bool remote;                     /* can query another host (--host) */
    bool any_socket;                 /* --socket need not answer: the command creates it, or reports what it finds there */
    bool alone;                      /* needs no settings, or reads them itself */
    void (*manual)(struct buf *out); /* more sections of its man page; NULL: none */
    int (*run)(struct cli *cli);     /* returns the exit status */
};

#define OPTIONS(table) .options = (table), .option_count = ARRAY_LEN(table)

#define COMMAND_UNNAMED "status" /* the default command */
enum { COMMANDS_MAX = 64 };

#define COMMAND_EXITS "0 fine, even without a GPU; 1 it failed; 2 wrong usage or configuration."

extern const struct command *const command_table[];
extern const size_t command_count;
extern const struct option_table global_options;
/* --host before the command: always the host to ask. */
extern const struct option_table host_option;

/* Options that several commands share. */
#define OPTION_WATCH \
    .name = "watch", .letter = 'w', .argument = "SECONDS", .optional = true, .help = "Refresh every SECONDS (default: 2)"
#define OPTION_OUTPUT(text) .name = "output", .letter = 'o', .argument = "FILE", .complete = COMPLETE_FILE, .help = (text)
#define OPTION_DRY_RUN .name = "dry-run", .help = "Show what would be done; change nothing"

/* Options of the commands that read the history. */
#define OPTION_STORE                                               \
    .name = "store", .argument = "URL", .complete = COMPLETE_FILE, \
    .help = "History database: a file, sqlite:PATH or postgresql://... (default: the daemon's)"
#define OPTION_STORED_HOST \
    .name = "of", .known_as = "host", .argument = "NAME", .help = "Show this host, if the history has several"

/* The position of the first word that is neither an option nor an option's value; count if there is none. */
size_t command_word(const char *const *words, size_t count);
const struct command *command_find(const char *name); /* NULL: unknown */
/* The command that these words mean, the first of which names `outer`: itself, or one placed in it ("set power"), whose word is
 * then removed. *ret_matched: that word, or NULL. */
const struct command *command_inner(const struct command *outer, const char **words, int *count, const char **ret_matched);
/* As people type it: its place if its own name is hidden. */
const char *command_shown_name(const struct command *command);
/* Whether `lacks` contains the option. */
bool command_lacks(const struct command *command, const char *option);
/* "caa60fd4c1b2", with "-dirty" if files were changed; "unknown" without git or, in a release, the file that names it. */
extern const char version_commit[];
int command_unknown(const char *name); /* prints a message; returns the exit status */

extern const char *const command_groups[HELP_COUNT];

/* --help of one command (one screen; `full` adds its details), and of the program. */
void help_command(struct buf *out, const struct page *page, const struct command *command, bool full);
void help_overview(struct buf *out, const struct page *page);

/* ---- Man pages from the command table, as input for scdoc(5). ---- */

void manual_overview(struct buf *out);
void manual_command(struct buf *out, const struct command *command);
/* Writes text with scdoc's markup escaped; writes a list item of a man page. */
void manual_text(struct buf *out, const char *text);
void manual_item(struct buf *out, const char *name, const char *text);
