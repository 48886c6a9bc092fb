/* SPDX-License-Identifier: Apache-2.0
 * whirr alert: active alerts in a few lines each, rules and names as tables, checking rules. Silences and trials have files of
 * their own.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "alert/expr/name.h"
#include "ask/answers.h"
#include "ask/settings.h"
#include "base/cleanup.h"
#include "base/json_reader.h"
#include "base/json_writer.h"
#include "base/words.h"
#include "cli/alert/alert.h"
#include "cli/cli_show.h"
#include "format/alert_forms.h"
#include "format/json/json.h"
#include "format/table/grid.h"

/* ---- for people, from the API's answers ---- */

static enum ink severity_name_ink(const char *severity)
{
    return strcmp(severity, "critical") == 0 ? INK_BAD : strcmp(severity, "warning") == 0 ? INK_WARN : INK_LOAD;
}

/* "since 12m", "for 40s". */
static void age(struct buf *out, const struct page *page, const char *before, const json_t *o, const char *key)
{
    struct wall at;
    char text[NUMBER_SIZE];
    if (!wall_parse(str_from(json_text(o, key)), &at) || page->now.ms - at.ms < 1000)
        return;
    show_age(text, page, page->now.ms - at.ms);
    buf_printf(out, "%s%s", before, text);
}

static void one(struct buf *out, const struct page *page, const json_t *a)
{
    const char *state = json_text(a, "state"), *severity = json_text(a, "severity"), *silence = json_text(a, "silence_id");
    bool firing = strcmp(state, "firing") == 0, pending = strcmp(state, "pending") == 0;
    AUTO_BUF struct buf facts = BUF(512);
    page_ink(out, page, firing ? severity_name_ink(severity) : INK_FAINT, str_from(state));
    buf_text(out, "  ");
    page_ink(out, page, INK_STRONG, str_from(json_text(a, "alert")));
    buf_printf(&facts, "  %s", severity);
    age(&facts, page,
        firing    ? ", for "
        : pending ? ", holds for "
                  : ", over for ",
        a,
        firing    ? "started_at"
        : pending ? "pending_since"
                  : "ended_at");
    if (silence[0])
        buf_printf(&facts, ", silenced by %s", silence);
    if (json_is_true(json_object_get(a, "flapping")))
        buf_text(&facts, ", flapping");
    page_ink(out, page, INK_FAINT, buf_view(&facts));
    buf_text(out, "\n  ");
    page_wrap(out, page, INK_PLAIN, json_text(a, "summary"), 2, 2);
}

/* `all` includes resolved ones. */
static void alert_text(struct buf *out, const struct page *page, const json_t *body, bool all)
{
    const json_t *counts = json_object_get(body, "counts"), *list = json_object_get(body, "alerts"), *a;
    int64_t firing = json_integer_value(json_object_get(counts, "firing"));
    int64_t pending = json_integer_value(json_object_get(counts, "pending"));
    int64_t resolved = json_integer_value(json_object_get(counts, "resolved"));
    size_t i, shown = 0;
    bool simulated = false;
    json_array_foreach(list, i, a) simulated |= json_is_true(json_object_get(a, "simulated"));
    page_simulated_line(out, page, simulated);
    json_array_foreach(list, i, a)
    {
        if (!all && strcmp(json_text(a, "state"), "resolved") == 0)
            continue;
        one(out, page, a);
        shown++;
    }
    if (!firing && !pending)
        buf_text(out, "No alerts.\n");
    if (!all && resolved)
        buf_printf(out, "%lld %s ended within the last hour (--all).\n", (long long)resolved, resolved == 1 ? "is" : "are");
    if (json_array_size(json_object_get(body, "silences"))) {
        buf_text(out, shown ? "\n" : "");
        silences_text(out, page, json_object_get(body, "silences"));
    }
}

static void alert_rules_text(struct buf *out, const struct page *page, const json_t *body)
{
    static const struct grid_column columns[] = {
        {"RULE", LEFT, 0}, {"SEVERITY", LEFT, 0}, {"FOR", RIGHT, 1}, {"STATE", LEFT, 0}, {"CONDITION", LEFT, 0}};
    AUTO_GRID struct grid g;
    const json_t *rules = json_object_get(body, "rules"), *r;
    size_t i;
    grid_init(&g, columns, ARRAY_LEN(columns));
    json_array_foreach(rules, i, r)
    {
        char hold[WORDS_SIZE];
        const char *state = json_text(r, "state"), *severity = json_text(r, "severity");
        bool enabled = json_is_true(json_object_get(r, "enabled")), firing = strcmp(state, "firing") == 0;
        words_duration((int64_t)(json_number_value(json_object_get(r, "for_seconds")) * MS_PER_S), hold);
        grid_add(&g, enabled ? INK_STRONG : INK_FAINT, json_text(r, "name"));
        grid_add(&g, INK_PLAIN, severity);
        grid_add(&g, INK_PLAIN, hold);
        grid_add(&g, firing ? severity_name_ink(severity) : INK_FAINT, !enabled ? "off" : state[0] ? state : page_dash(page));
        grid_add(&g, INK_PLAIN, json_text(r, "when"));
    }
    grid_write(out, page, &g);
}

static const char *type_word(const struct alert_name *n)
{
    static const char *const words[] = {[VALUE_UNKNOWN] = "",
                                        [VALUE_BOOL] = "true/false",
                                        [VALUE_TEXT] = "text",
                                        [VALUE_WORDS] = "words",
                                        [VALUE_NUMBER] = "number"};
    return words[n->type];
}

/* Every name that conditions may use. */
static void alert_names_text(struct buf *out, const struct page *page)
{
    static const struct grid_column columns[] = {{"NAME", LEFT, 0}, {"IS", LEFT, 1}, {"OF", LEFT, 2}, {"WHAT", LEFT, 0}};
    AUTO_GRID struct grid g;
    struct alert_name n;
    grid_init(&g, columns, ARRAY_LEN(columns));
    for (size_t i = 0; name_at(i, &n); i++) {
        grid_add(&g, INK_STRONG, n.text);
        grid_add(&g, INK_FAINT, type_word(&n));
        grid_add(&g, INK_FAINT, scope_name(n.scope));
        grid_add(&g, INK_PLAIN, n.help);
    }
    grid_write(out, page, &g);
}

static const void *next_value(const struct answer_at *at, struct answer_step *step)
{
    step->item.pair.key = name_word(at->record, step->at++);
    return step->item.pair.key ? &step->item : NULL;
}

ANSWER_MAKER(make_type, struct alert_name, word, type_word(of));
ANSWER_NAMES(scopes, enum alert_scope, scope_name, SCOPE_HOST, SCOPE_PROCESS);

ANSWER_TABLE(name_answer, struct alert_name)
{
    FIELD(TEXT, "name", text, NULL);
    MADE(WORD, "type", make_type, NULL);
    FIELD(NAME, "scope", scope, NULL, NAMES(scopes));
    FIELD(WORD, "description", help, NULL);
    EACH(WORD, "values", next_value, "Those that a text can have");
}

static const void *next_name(const struct answer_at *at, struct answer_step *step)
{
    struct alert_name *n = at->context;
    return name_at(step->at++, n) ? n : NULL;
}

ANSWER_TABLE(names_answer, struct alert_name)
{
    EACH(OBJECT, "names", next_name, NULL, FIELDS(name_answer));
}

enum { ANSWER_MAX = 64 << 20 };

/* ---- list and rules ---- */

/* Without a daemon there is no memory: evaluate one sample as if it were the first. */
static json_t *sample_once(struct cli *cli, struct error *err)
{
    struct config *config = NULL;
    struct alert_rules *rules = NULL;
    struct alert_set set;
    json_t *json = NULL;
    if (alert_load(cli, &config, &rules) != EXIT_FINE) {
        error_set(err, -EINVAL, "%s", "");
        return NULL;
    }
    struct session *session = session_open(cli, err);
    AUTO_SNAPSHOT const struct snapshot *s = session ? session_sample(session, GROUP_ALL, err) : NULL;
    alert_set_init(&set, rules);
    if (s) {
        AUTO_BUF struct buf text = BUF(ANSWER_MAX);
        alert_set_step(&set, s, NULL, NULL, NULL);
        alert_set_sort(&set);
        json_alerts(JSON_TO(&text), &set, EVERY_GPU);
        json = text.failed ? NULL : json_loadb(text.at, text.len, 0, NULL);
    }
    alert_set_done(&set);
    session_close(session);
    alert_rules_free(rules);
    config_free(config);
    return json;
}

/* Drops alerts that are not about --gpu. */
static int only_gpu(struct cli *cli, json_t *body, struct error *err)
{
    static const char *const states[] = {"pending", "firing", "resolved"};
    struct session *session = session_open(cli, err);
    AUTO_SNAPSHOT const struct snapshot *s = session ? session_sample(session, GROUP_FAST, err) : NULL;
    int at = ALL_GPUS, result = s ? session_only(session, s, &at, err) : -EIO;
    json_t *list = json_object_get(body, "alerts"), *counts = json_object_get(body, "counts");
    int64_t found[ARRAY_LEN(states)] = {0}, silenced = 0;
    for (size_t i = 0; !result && at != ALL_GPUS && i < json_array_size(list);) {
        const json_t *a = json_array_get(list, i), *index = json_object_get(a, "gpu_index");
        if (!json_is_integer(index) || json_integer_value(index) != s->gpus[at].index) {
            json_array_remove(list, i);
            continue;
        }
        for (size_t k = 0; k < ARRAY_LEN(states); k++)
            found[k] += strcmp(json_text(a, "state"), states[k]) == 0;
        silenced += json_is_true(json_object_get(a, "silenced")) && strcmp(json_text(a, "state"), "firing") == 0;
        i++;
    }
    for (size_t k = 0; !result && k < ARRAY_LEN(states); k++)
        json_object_set_new(counts, states[k], json_integer(found[k]));
    if (!result)
        json_object_set_new(counts, "silenced", json_integer(silenced));
    session_close(session);
    return result;
}

static int list(struct cli *cli)
{
    struct error err = {0};
    AUTO_JSON json_t *body = sampling_option(cli) ? NULL : alert_ask(cli, "GET", "/api/alerts", NULL, &err);
    bool once = sampling_option(cli) || (!body && err.code == -ENOENT);
    if (once) {
        err = (struct error){0};
        body = sample_once(cli, &err);
    }
    if (!body)
        return err.text[0] ? cli_fail("%s", err.text) : EXIT_USAGE; /* mistakes in the configuration were printed already */
    if (options_has(cli->options, "gpu") && only_gpu(cli, body, &err))
        return cli_fail("%s", err.text);
    if (cli->json)
        return alert_print_json(body);
    AUTO_BUF struct buf out = BUF(ANSWER_MAX);
    alert_text(&out, &cli->page, body, options_has(cli->options, "all"));
    if (once && !sampling_option(cli))
        fprintf(stderr, "whirr: no daemon is running; showing a single sample, without the past\n");
    return show_text(&out);
}

static int list_rules(struct cli *cli)
{
    struct error err = {0};
    bool own = sampling_option(cli) || options_has(cli->options, "config");
    AUTO_JSON json_t *body = own ? NULL : alert_ask(cli, "GET", "/api/alerts/rules", NULL, &err);
    AUTO_BUF struct buf out = BUF(ANSWER_MAX);
    if (!body && cli->host)
        return cli_fail("%s", err.text);
    if (!body) {
        struct config *config = NULL;
        struct alert_rules *rules = NULL;
        int status = alert_load(cli, &config, &rules);
        if (status != EXIT_FINE)
            return status;
        json_alert_rules(JSON_TO(&out), rules, NULL);
        body = json_loadb(out.at, out.len, 0, NULL);
        alert_rules_free(rules);
        config_free(config);
        out.len = 0;
    }
    if (cli->json)
        return alert_print_json(body);
    alert_rules_text(&out, &cli->page, body);
    return show_text(&out);
}

static int list_names(struct cli *cli)
{
    AUTO_BUF struct buf out = BUF(1 << 20);
    struct alert_name each = {0}; /* the one being written */
    if (cli->json)
        return show_answer(cli, &names_answer, &each);
    alert_names_text(&out, &cli->page);
    return show_text(&out);
}

/* ---- check ---- */

static int check(struct cli *cli)
{
    struct config *config = NULL;
    struct alert_rules *rules = NULL;
    static struct config_problems problems; /* large */
    AUTO_BUF struct buf out = BUF(1 << 20);
    int rc = settings_read(cli, NULL, 0, &config, &problems);
    if (!rc)
        rc = alert_rules_new(config, &cli->env, &problems, &rules);
    size_t own = 0, builtin = 0;
    for (size_t i = 0; rules && i < rules->count; i++) {
        own += rules->list[i].enabled && !rules->list[i].builtin;
        builtin += rules->list[i].enabled && rules->list[i].builtin;
    }
    if (cli->json) {
        settings_problems_json(config, &problems, &out);
    } else {
        settings_problems_text(&problems, &out);
        if (rules)
            buf_printf(&out, "%zu rule%s of the configuration and %zu built in: fine\n", own, own == 1 ? "" : "s", builtin);
    }
    alert_rules_free(rules);
    config_free(config);
    int status = show_text(&out);
    return rc ? EXIT_FAILED : status;
}

/* ---- the command ---- */

static int alert_run(struct cli *cli)
{
    static const char *const names[] = {"list", "rules", "names", "test", "silence", "check"};
    const char *const *arguments = cli->options->arguments;
    size_t count = cli->options->argument_count;
    const char *word = count ? arguments[0] : "list";
    cli->page.now = clock_wall(cli->env.clock);
    if (strcmp(word, "silence") == 0)
        return alert_silence(cli, arguments + 1, count - 1);
    if (strcmp(word, "test") == 0)
        return count <= 2 ? alert_test(cli, count > 1 ? arguments[1] : NULL)
                          : cli_usage(cli, "put the condition in quotes, as one argument");
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (strcmp(word, names[i]) == 0 && count > 1)
            return cli_usage(cli, "'alert %s' does not take '%s'", word, arguments[1]);
    if (strcmp(word, "list") == 0)
        return list(cli);
    if (strcmp(word, "rules") == 0)
        return list_rules(cli);
    if (strcmp(word, "names") == 0)
        return list_names(cli);
    if (strcmp(word, "check") == 0)
        return check(cli);
    return cli_unknown(cli, "subcommand", word, names, ARRAY_LEN(names));
}

static const struct option_spec options[] = {
    {.name = "all", .help = "list: include alerts resolved within the last hour"},
    {.name = "for", .argument = "DURATION", .help = "silence: how long, like 2h; test: how long the condition must hold"},
    {.name = "until", .argument = "TIME", .help = "silence: its end; test: end of the time range"},
    {.name = "comment", .argument = "TEXT", .help = "silence: why"},
    {.name = "since", .argument = "TIME", .help = "test: use the history from this time on"},
    {OPTION_STORE},
    {.name = "duration", .argument = "DURATION", .help = "test with --source sim: how long to simulate (default: 10m)"},
    {.name = "dry-run", .help = "silence: show what would be done; change nothing"},
    {.name = "interval", .argument = "SECONDS", .help = "test with --source sim: time between samples (default: 5)"},
};

const struct command command_alert = {
    .exits = "0 fine, even if alerts are firing; 1 it failed, or check found mistakes; 2 wrong usage or configuration.",
    .name = "alert",
    .group = HELP_ACT,
    .summary = "Show alerts and rules, test conditions, and silence alerts",
    .details =
        "Subcommands: list (the default), rules, names, check, test [RULE|CONDITION], silence [add] NAME|KEY=VALUE..., "
        "silence list, silence remove ID. Conditions of a silence: alert, severity, gpu, gpu_uuid, gpu_name, host, process, "
        "pid, user, or a label of the rule; * and ? are wildcards.\n\n`test` uses the host as it is now; with --source a "
        "simulated machine or a recording (replay:FILE), with --since the history. It sends no notification and changes nothing. "
        "docs/alerts.md has the condition language and every built-in rule.",
    .arguments = "[list|rules|names|check|test|silence] [WHAT...]",
    .offers = {{.behind = "silence", .place = 1, .words = "add|list|remove"}},
    .arguments_max = 16,
    OPTIONS(options),
    .examples = {{"whirr alert", "what fires now; what is watched: whirr alert rules; who is notified: whirr notify"},
                 {"whirr alert test 'memory_used_mb > 20GiB' --since -1d", "when would it have fired since yesterday"},
                 {"whirr alert silence hot gpu=0 --for 2h --comment 'new fans'", "no notifications for two hours"}},
    .remote = true,
    .run = alert_run,
};
