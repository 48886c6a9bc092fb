/* SPDX-License-Identifier: Apache-2.0
 * Options as data: parsing, --help, completions and man pages use the same tables.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

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
