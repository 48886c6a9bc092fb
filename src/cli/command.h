/* SPDX-License-Identifier: Apache-2.0
 * A command is one file and one const entry in the table of commands.c.
 */
#pragma once

#include "base/env.h"
#include "cli/options.h"
#include "format/page.h"

enum { EXIT_FINE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

struct cli;

struct example {
    const char *line; /* what to type */
    const char *what; /* what it does */
};

struct command {
    const char *name;
    const char *summary;   /* one line, no full stop */
    const char *details;   /* paragraphs for --help and the man page; NULL: the summary says it all */
    const char *arguments; /* "FILE", "[COMMAND]"; NULL: none */
    size_t arguments_min, arguments_max;
    const struct option_spec *options;
    size_t option_count;
    const struct example *examples;
    size_t example_count;
    bool hidden;
    int (*run)(struct cli *cli); /* returns the exit status */
};

/* What a command runs with. */
struct cli {
    const struct command *command;
    struct options options;
    struct env env;
    struct page page;
    bool terminal; /* stdout is one that can be drawn on */
    bool json;
    bool direct;        /* this command samples by itself in any case */
    int status;         /* of an answer that was shown: check plugins have their own codes */
    int failure_status; /* of one that could not be; 0: EXIT_FAILED */
};

extern const struct command *const command_table[];
extern const size_t command_count;
extern const struct option_table global_options;

const struct command *command_find(const char *name); /* NULL: unknown */

/* Messages to stderr, with "whirr: " in front; they return the exit status. */
int cli_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
int cli_usage(const struct command *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* --help of one command, and of the program. */
void help_command(struct buf *out, const struct page *page, const struct command *command);
void help_overview(struct buf *out, const struct page *page);
