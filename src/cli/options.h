/* SPDX-License-Identifier: Apache-2.0
 * Options as data: from one table come parsing, --help, completions and man pages.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* What a shell should offer for the argument. */
enum complete {
    COMPLETE_NOTHING,
    COMPLETE_FILE,
    COMPLETE_FOLDER,
    COMPLETE_USER,
    COMPLETE_COMMAND, /* of whirr */
    COMPLETE_HOST,    /* of the configuration */
    COMPLETE_METRIC,
    COMPLETE_NOTIFIER, /* of the configuration */
    COMPLETE_NOTIFIER_TYPE,
    COMPLETE_SOURCE,
};

struct option_spec {
    const char *name;          /* without the dashes */
    const char *known_as;      /* by options_has() and the like; NULL: by its name */
    char letter;               /* 0: no short form */
    const char *argument;      /* "SECONDS"; NULL: takes none */
    bool optional;             /* the argument may be left out: --watch[=SECONDS] */
    bool hidden;               /* understood, but not offered */
    const char *help;          /* one line */
    const char *const *values; /* the only ones allowed, NULL at the end; NULL: any */
    bool any_case;             /* of `values` */
    enum complete complete;
};

enum { OPTIONS_MAX = 64, ARGUMENTS_MAX = 512 }; /* arguments: also those of a program that is started */

struct options {
    struct {
        const struct option_spec *spec;
        const char *value; /* NULL: without argument */
    } given[OPTIONS_MAX];
    size_t given_count;
    const char *arguments[ARGUMENTS_MAX + 1]; /* NULL behind the last one */
    size_t argument_count;
};

struct option_table {
    const struct option_spec *specs;
    size_t count;
};

/* Options may stand anywhere; "--" ends them. -EINVAL and a sentence with the nearest known name on wrong usage. */
int options_parse(struct options *o, const struct option_table *tables, size_t table_count, int argc, char **argv,
                  struct error *err);

/* Whether this option, as it was typed, has its value in the next word: of one whose value may be left out, only a number is. */
bool options_take_next(const struct option_table *tables, size_t table_count, const char *word, const char *next);

bool options_has(const struct options *o, const char *name);
size_t options_times(const struct options *o, const char *name);
/* The last value given, or `fallback`. */
const char *options_value(const struct options *o, const char *name, const char *fallback);
/* The same as the parameter of a question: false when it was not given. `options`: a struct options. */
bool options_parameter(void *options, const char *name, char *value, size_t size);
/* Forgets an option that was given. */
void options_drop(struct options *o, const char *name);
/* A positive number of seconds in ms; -EINVAL and a sentence otherwise. *ret is untouched when the option was not given. */
int options_seconds(const struct options *o, const char *name, int64_t *ret_ms, struct error *err);
