/* SPDX-License-Identifier: Apache-2.0
 * Chooses a rule or condition, and what to try it on: the present, a simulated host, a recording or the history.
 */
#include "cli/alert/alert.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ask/answers.h"
#include "ask/history_source.h"
#include "base/cleanup.h"
#include "base/units.h"
#include "base/words.h"
#include "config/findings.h"
#include "config/places.h"
#include "past/question.h"
#include "source/source.h"
#include "store/query.h"

enum { DURATION_MS = 10 * 60 * 1000, INTERVAL_MS = 5000, OUT_MAX = 64 << 20 };

/* ---- choosing rules ---- */

static int read_condition(const char *text, struct alert_rule *rule)
{
    struct expr_error err;
    int result = expr_parse(str_from(text), &rule->when, &err);
    if (result == 0) {
        str_copy(rule->name, sizeof rule->name, STR("condition"));
        rule->scope = expr_scope(rule->when);
        rule->enabled = true;
        rule->severity = SEVERITY_WARNING;
        rule->help = "";
        rule->summary = strdup("");
        return rule->summary ? EXIT_FINE : cli_fail("out of memory");
    }
    if (result == -ENOMEM)
        return cli_fail("out of memory");
    AUTO_BUF struct buf excerpt = BUF(4096);
    expr_caret(&excerpt, str_from(text), &err, 4);
    cli_fail("column %d: %s", err.column, err.text);
    fputs(buf_view(&excerpt).at, stderr);
    return EXIT_FAILED;
}

static bool is_a_word(const char *text)
{
    return text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")] == '\0';
}

static int no_such_rule(const struct alert_rules *rules, const char *name)
{
    struct nearest n;
    const char *old;
    nearest_init(&n, name);
    for (size_t i = 0; i < rules->count; i++)
        nearest_try(&n, rules->list[i].name);
    for (size_t i = 0; (old = config_old_alert(i)); i++)
        nearest_try(&n, old);
    const char *near = nearest_found(&n);
    return near ? cli_fail("unknown rule '%s'; did you mean '%s'?", name, near)
                : cli_fail("unknown rule '%s'; `whirr alert rules` lists them", name);
}

static bool is_meant(const struct alert_rule *rule, const char *name)
{
    return strcmp(rule->name, name) == 0 || (rule_is_finding(rule) && config_names_finding(name, rule->finding));
}

/* Keeps only the rules with this name and frees the others; an older name may stand for several. */
static void keep_named(struct alert_rules *rules, const char *name)
{
    size_t kept = 0;
    for (size_t i = 0; i < rules->count; i++) {
        struct alert_rule rule = rules->list[i];
        if (is_meant(&rule, name)) {
            rule.enabled = true;
            rules->list[kept++] = rule;
            continue;
        }
        expr_free(rule.when);
        expr_free(rule.clear);
        free(rule.summary);
    }
    rules->count = kept;
}

static int choose(struct cli *cli, struct alert_rules *rules, const char *what)
{
    const char *hold = options_value(cli->options, "for", NULL);
    int64_t hold_ms = 0;
    if (hold && !duration_parse(str_from(hold), &hold_ms))
        return cli_usage(cli, "--for needs " DURATION_SYNTAX);
    if (!what)
        return hold ? cli_usage(cli, "--for needs a rule or a condition") : EXIT_FINE;
    struct alert_rule only = {0};
    bool found = false;
    for (size_t i = 0; i < rules->count; i++)
        found |= is_meant(&rules->list[i], what);
    if (!found && is_a_word(what))
        return no_such_rule(rules, what);
    int status = found ? EXIT_FINE : read_condition(what, &only);
    if (status != EXIT_FINE) {
        free(only.summary);
        return status;
    }
    keep_named(rules, what);
    if (!found)
        rules->list[rules->count++] = only;
    for (size_t i = 0; hold && i < rules->count; i++)
        rules->list[i].hold_ms = hold_ms;
    return EXIT_FINE;
}

/* ---- choosing data ---- */

static const char *only_source(const struct cli *cli)
{
    return options_times(cli->options, "source") == 1 ? options_value(cli->options, "source", NULL) : NULL;
}

static int play(struct cli *cli, struct trial *t, struct error *err)
{
    int64_t duration_ms = DURATION_MS, interval_ms = INTERVAL_MS;
    const char *duration = options_value(cli->options, "duration", NULL);
    if (duration && (!duration_parse(str_from(duration), &duration_ms) || duration_ms > 7 * 86400000LL))
        return error_set(err, -EINVAL, "--duration needs " DURATION_SYNTAX ", up to 7d");
    if (options_seconds(cli->options, "interval", &interval_ms, err))
        return -EINVAL;
    return course_play(&cli->env, only_source(cli), duration_ms, MAX_OF(interval_ms, 1), trial_see, t, err);
}

/* The column for a name; -1: the history does not store it. */
static int column_of(const struct alert_name *name)
{
    if (strcmp(name->text, "memory_used_percent") == 0)
        return series_find(SERIES_GPU, "memory_used_mb");
    if (strcmp(name->text, "slowed_down") == 0)
        return series_find(SERIES_GPU, "throttle_reasons");
    return name->kind == NAME_GPU_METRIC ? series_find(SERIES_GPU, name->text) : -1;
}

/* Adds a column once; ignores a negative one. */
static size_t add_column(int column, size_t *columns, size_t count, size_t max)
{
    for (size_t k = 0; k < count; k++)
        if (columns[k] == (size_t)column)
            return count;
    if (column >= 0 && count < max)
        columns[count++] = (size_t)column;
    return count;
}

static size_t add_columns(const struct expr *e, size_t *columns, size_t count, size_t max)
{
    const struct alert_name *name;
    for (size_t i = 0; e && (name = expr_name(e, i)); i++)
        count = add_column(column_of(name), columns, count, max);
    return count;
}

/* Collects the stored columns that the rules use. A rule about anything else can't be tried on the past. */
static int columns_of(const struct alert_rules *rules, size_t *columns, size_t max, struct error *err)
{
    size_t count = 0;
    const struct alert_rule *only = rules->count == 1 && !rule_is_finding(&rules->list[0]) ? &rules->list[0] : NULL;
    const struct alert_name *first = only ? expr_name(only->when, 0) : NULL;
    for (size_t i = 0; i < rules->count; i++) {
        count = add_columns(rules->list[i].when, columns, count, max);
        count = add_columns(rules->list[i].clear, columns, count, max);
    }
    bool judged = first && first->kind == NAME_GPU_OTHER && first->type != VALUE_TEXT;
    if (only && (only->scope != SCOPE_GPU || (count == 0 && !judged)))
        return error_set(err, -EINVAL, "the history knows nothing about %s", first ? first->text : "that");
    return (int)count;
}

/* A verdict may need any stored column, whatever the rule says: add as many as fit. */
static size_t add_common(size_t *columns, size_t count, size_t max)
{
    for (size_t i = 0; i < series_count(SERIES_GPU) && count < max; i++)
        count = add_column((int)i, columns, count, max);
    return count;
}

static int look_back(struct cli *cli, const struct config *config, const struct alert_rules *rules, struct trial *t,
                     struct error *err)
{
    struct wall now = clock_wall(cli->env.clock);
    struct question_span span = {.since = {now.ms - HOUR_MS}, .until = now};
    size_t columns[QUERY_COLUMNS_MAX];
    struct store *store = NULL;
    int result = question_read_span(options_parameter, cli->options, now, MOMENT_LOCAL, &span, err);
    if (result < 0)
        return result;
    int count = columns_of(rules, columns, ARRAY_LEN(columns), err);
    if (count < 0)
        return count;
    count = (int)add_common(columns, (size_t)count, ARRAY_LEN(columns));
    result = history_open(cli, config, &store, err);
    if (!result)
        result = course_past(store, NULL, span.since, span.until, columns, (size_t)count, trial_see, t, err);
    store_close(store);
    return result;
}

static int try_course(struct cli *cli, const struct config *config, const struct alert_rules *rules, bool past)
{
    AUTO_BUF struct buf out = BUF(OUT_MAX);
    struct trial t;
    struct error err = {0};
    bool ready = trial_init(&t, rules, config);
    t.which = options_value(cli->options, "gpu", NULL);
    int result =
        ready ? past ? look_back(cli, config, rules, &t, &err) : play(cli, &t, &err) : error_set(&err, -ENOMEM, "out of memory");
    int status = EXIT_FINE;
    if (t.which && t.samples && t.only < 0) {
        status = cli_fail("unknown GPU '%s'", t.which);
    } else if (result < 0 && !t.samples) {
        status = cli_error(cli, &err);
    } else {
        if (result < 0)
            fprintf(stderr, "whirr: only part of the history could be read: %s\n", err.text);
        struct json_writer j = JSON_WRITER_PRETTY(&out);
        if (cli->json)
            trial_json(&j, &t);
        else
            trial_text(&out, &cli->page, &t, !past && !source_of_spec(only_source(cli), NULL)->recorded);
        if (cli->json)
            buf_char(&out, '\n');
        status = show_text(&out);
    }
    trial_done(&t);
    return status;
}

int alert_test(struct cli *cli, const char *what)
{
    struct config *config = NULL;
    struct alert_rules *rules = NULL;
    bool past = options_has(cli->options, "since") || options_has(cli->options, "until") || options_has(cli->options, "store");
    bool played = only_source(cli) && course_plays(only_source(cli));
    if (past && options_has(cli->options, "source"))
        return cli_usage(cli, "--since and --source can't be combined: --since reads the history");
    int status = alert_load(cli, &config, &rules);
    if (status != EXIT_FINE)
        return status;
    status = choose(cli, rules, what);
    if (status == EXIT_FINE)
        status = past || played ? try_course(cli, config, rules, past) : alert_now(cli, rules);
    alert_rules_free(rules);
    config_free(config);
    return status;
}
