/* SPDX-License-Identifier: Apache-2.0
 * Parses options with getopt_long(), driven by our own tables, so that wrong usage gets a helpful message.
 */
#include "cli/command.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdint.h>
#include <strings.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/str.h"
#include "base/words.h"

enum { FIRST_VALUE = 1000 }; /* above all letters */

struct known_options {
    const struct option_spec *specs[OPTIONS_MAX];
    struct option longs[OPTIONS_MAX + 1];
    char letters[3 * OPTIONS_MAX + 3];
    size_t count;
};

static void options_learn(struct known_options *k, const struct option_table *tables, size_t table_count)
{
    size_t used = 0;
    k->letters[used++] = ':'; /* makes getopt tell a missing argument from an unknown option */
    for (size_t t = 0; t < table_count; t++) {
        for (size_t i = 0; i < tables[t].count && k->count < OPTIONS_MAX; i++) {
            const struct option_spec *spec = &tables[t].specs[i];
            int argument = !spec->argument ? no_argument : spec->optional ? optional_argument : required_argument;
            k->longs[k->count] = (struct option){spec->name, argument, NULL, FIRST_VALUE + (int)k->count};
            k->specs[k->count++] = spec;
            if (spec->letter) {
                k->letters[used++] = spec->letter;
                for (int colon = 0; colon < (argument == required_argument ? 1 : argument == optional_argument ? 2 : 0); colon++)
                    k->letters[used++] = ':';
            }
        }
    }
    k->letters[used] = '\0';
}

/* What an optional value looks like: "2", "0.5", "2s". */
static bool is_number(const char *word)
{
    return word && (isdigit((unsigned char)word[0]) || (word[0] == '.' && isdigit((unsigned char)word[1])));
}

static const struct option_spec *by_letter(const struct option_table *tables, size_t table_count, char letter)
{
    for (size_t t = 0; t < table_count; t++)
        for (size_t i = 0; i < tables[t].count; i++)
            if (tables[t].specs[i].letter == letter)
                return &tables[t].specs[i];
    return NULL;
}

/* Like getopt_long(): matches a whole name or a prefix. */
static const struct option_spec *options_by_name(const struct option_table *tables, size_t table_count, const char *name)
{
    const struct option_spec *begun = NULL;
    for (size_t t = 0; t < table_count; t++)
        for (size_t i = 0; i < tables[t].count; i++) {
            const struct option_spec *spec = &tables[t].specs[i];
            if (strcmp(spec->name, name) == 0)
                return spec;
            if (!begun && strncmp(spec->name, name, strlen(name)) == 0)
                begun = spec;
        }
    return begun;
}

bool options_take_next(const struct option_table *tables, size_t table_count, const char *word, const char *next)
{
    const struct option_spec *spec = NULL;
    if (strncmp(word, "--", 2) == 0)
        spec = options_by_name(tables, table_count, word + 2);
    else
        for (const char *at = word + 1; *at; at++) {
            spec = by_letter(tables, table_count, *at);
            if (spec && spec->argument && at[1]) /* the rest of the word is its value */
                return false;
        }
    return spec && spec->argument && next && (!spec->optional || is_number(next));
}

static const struct option_spec *found(const struct known_options *k, int value)
{
    if (value >= FIRST_VALUE && (size_t)(value - FIRST_VALUE) < k->count)
        return k->specs[value - FIRST_VALUE];
    for (size_t i = 0; i < k->count; i++)
        if (k->specs[i]->letter && k->specs[i]->letter == value)
            return k->specs[i];
    return NULL;
}

static int unknown_option(const struct known_options *k, const char *word, struct error *err)
{
    const char *names[OPTIONS_MAX];
    char typed[64];
    size_t count = 0;
    if (strncmp(word, "--", 2) != 0)
        return error_set(err, -EINVAL, "unknown option '%s'", word);
    const char *equals = strchr(word, '=');
    str_copy(typed, sizeof typed, (struct str){word + 2, equals ? (size_t)(equals - word - 2) : strlen(word + 2)});
    for (size_t i = 0; i < k->count; i++)
        if (!k->specs[i]->hidden)
            names[count++] = k->specs[i]->name;
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i], typed) == 0)
            return error_set(err, -EINVAL, "option '--%s' takes no value", typed);
    const char *near = nearest_name(typed, names, count);
    return near ? error_set(err, -EINVAL, "unknown option '--%s'; did you mean '--%s'?", typed, near)
                : error_set(err, -EINVAL, "unknown option '--%s'", typed);
}

static int check_value(const struct option_spec *spec, const char *value, struct error *err)
{
    if (!spec->values || !value)
        return 0;
    size_t count = 0;
    AUTO_BUF struct buf list = BUF(1024);
    for (; spec->values[count]; count++) {
        if ((spec->any_case ? strcasecmp : strcmp)(spec->values[count], value) == 0)
            return 0;
        buf_printf(&list, "%s%s", count ? ", " : "", spec->values[count]);
    }
    const char *near = nearest_name(value, spec->values, count);
    const char *expected = list.at ? list.at : "";
    return near ? error_set(err, -EINVAL, "invalid value '%s' for --%s; did you mean '%s'? Expected %s", value, spec->name, near,
                            expected)
                : error_set(err, -EINVAL, "invalid value '%s' for --%s; expected %s", value, spec->name, expected);
}

static int options_note(struct options *o, const struct option_spec *spec, const char *value, struct error *err)
{
    if (o->given_count == OPTIONS_MAX)
        return error_set(err, -EINVAL, "more than %d options", OPTIONS_MAX);
    o->given[o->given_count].spec = spec;
    o->given[o->given_count++].value = value;
    return check_value(spec, value, err);
}

int options_parse(struct options *o, const struct option_table *tables, size_t table_count, int argc, char **argv,
                  struct error *err)
{
    struct known_options known = {.count = 0};
    options_learn(&known, tables, table_count);
    opterr = 0;
    optind = 0;
    for (;;) {
        int before = optind ? optind : 1;
        int value = getopt_long(argc, argv, known.letters, known.longs, NULL);
        if (value == -1)
            break;
        const struct option_spec *spec = found(&known, value);
        if (spec) {
            const char *given = optarg;
            if (given && value < FIRST_VALUE && given[0] == '=') /* -w=1 */
                given++;
            if (!given && spec->optional && optind < argc && is_number(argv[optind]))
                given = argv[optind++];
            int rc = options_note(o, spec, given, err);
            if (rc < 0)
                return rc;
            continue;
        }
        const char *word = argv[optind - 1];
        const struct option_spec *asked = found(&known, optopt);
        if (value == ':' && asked && asked->argument) /* some implementations also report an unexpected value this way */
            return error_set(err, -EINVAL, "option '--%s' needs a value: %s", asked->name, asked->argument);
        if (optopt && optopt < FIRST_VALUE) {
            char letter[3] = {'-', (char)optopt, '\0'};
            return unknown_option(&known, letter, err);
        }
        return unknown_option(&known, strncmp(word, "--", 2) == 0 ? word : argv[before], err);
    }
    for (int i = optind; i < argc; i++) {
        if (o->argument_count == ARGUMENTS_MAX)
            return error_set(err, -EINVAL, "more than %d arguments", ARGUMENTS_MAX);
        o->arguments[o->argument_count++] = argv[i];
    }
    return 0;
}

static bool is_known_as(const struct option_spec *spec, const char *name)
{
    return strcmp(spec->known_as ? spec->known_as : spec->name, name) == 0;
}

void options_drop(struct options *o, const char *name)
{
    size_t kept = 0;
    for (size_t i = 0; i < o->given_count; i++)
        if (!is_known_as(o->given[i].spec, name))
            o->given[kept++] = o->given[i];
    o->given_count = kept;
}

bool options_has(const struct options *o, const char *name)
{
    return options_times(o, name) > 0;
}

size_t options_times(const struct options *o, const char *name)
{
    size_t times = 0;
    for (size_t i = 0; i < o->given_count; i++)
        times += is_known_as(o->given[i].spec, name);
    return times;
}

const char *options_value(const struct options *o, const char *name, const char *fallback)
{
    for (size_t i = o->given_count; i > 0; i--)
        if (is_known_as(o->given[i - 1].spec, name))
            return o->given[i - 1].value ? o->given[i - 1].value : fallback;
    return fallback;
}

bool options_parameter(void *options, const char *name, char *value, size_t size)
{
    const char *given = options_value(options, name, NULL);
    if (given)
        str_copy(value, size, str_from(given));
    return given != NULL;
}

int options_seconds(const struct options *o, const char *name, int64_t *ret_ms, struct error *err)
{
    const char *text = options_value(o, name, NULL);
    int64_t ms;
    if (!text)
        return 0;
    struct str number = str_from(text);
    if (str_ends(number, "s"))
        number.len--;
    if (!str_to_scaled(number, MS_PER_S, &ms) || ms <= 0 || ms > 86400LL * MS_PER_S * 366)
        return error_set(err, -EINVAL, "invalid value '%s' for --%s; expected a number of seconds above 0", text, name);
    *ret_ms = ms;
    return 0;
}

int options_duration(const struct cli *cli, const char *name, int64_t *ret_ms)
{
    const char *text = options_value(cli->options, name, NULL);
    if (text && !duration_parse(str_from(text), ret_ms))
        return cli_usage(cli, "invalid value '%s' for --%s; expected " DURATION_SYNTAX, text, name);
    return EXIT_FINE;
}

int options_span(const struct cli *cli, const char *name, int64_t *ret_ms)
{
    const char *text = options_value(cli->options, name, NULL);
    if (text && (!duration_parse(str_from(text), ret_ms) || *ret_ms <= 0))
        return cli_usage(cli, "'--%s %s' is not %s", name, text, DURATION_SYNTAX);
    return EXIT_FINE;
}
