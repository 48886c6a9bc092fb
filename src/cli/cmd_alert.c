/* SPDX-License-Identifier: Apache-2.0
 * whirr alert: what fires, the rules, silences; whether rules are right, and what they would have done.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/moment.h"
#include "base/units.h"
#include "cli/alert_ask.h"
#include "cli/alert_test.h"
#include "cli/alert_text.h"
#include "cli/client.h"
#include "cli/history_source.h"
#include "cli/settings.h"
#include "cli/show.h"
#include "format/json_alert.h"

enum { ANSWER_MAX = 64 << 20, ANSWER_WITHIN_MS = 5000 };

json_t *alert_ask(struct cli *cli, const char *method, const char *path, const char *body, struct error *err)
{
    struct config *config = NULL;
    struct config_problems problems;
    struct client *client = NULL;
    AUTO_BUF struct buf answer = BUF(ANSWER_MAX);
    json_t *json = NULL;
    settings_read(cli, NULL, 0, &config, &problems);
    int result = client_open(config ? config->server.socket : "auto", &client, err);
    config_free(config);
    if (result == 0)
        result = client_request(client, method, path, body, &answer, ANSWER_WITHIN_MS, err);
    client_close(client);
    if (result >= 400) {
        char text[400];
        client_error_text(buf_view(&answer), text, sizeof text);
        error_set(err, -EREMOTEIO, "%s", text);
    } else if (result > 0) {
        json = json_loadb(answer.at, answer.len, 0, NULL);
        if (!json)
            error_set(err, -EPROTO, "the daemon's answer cannot be understood");
    }
    return json;
}

bool alert_is_direct(const struct cli *cli)
{
    const struct options *o = &cli->options;
    return cli->direct || options_has(o, "direct") || options_has(o, "source") || env_is_recorded(&cli->env);
}

int alert_load(struct cli *cli, struct config **ret_config, struct alert_rules **ret)
{
    static struct config_problems problems; /* large */
    int status = settings_load(cli, NULL, 0, ret_config);
    if (status != EXIT_FINE)
        return status;
    if (alert_rules_new(*ret_config, &cli->env, &problems, ret) == 0)
        return EXIT_FINE;
    config_free(TAKE(*ret_config));
    return cli_fail("the rules cannot be read: %s", problems.count ? problems.list[0].text : "out of memory");
}

static int print_json(const json_t *json)
{
    AUTO_BUF struct buf out = BUF(ANSWER_MAX);
    AUTO_FREE char *text = json_dumps(json, JSON_INDENT(2) | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(10));
    buf_printf(&out, "%s\n", text ? text : "{}");
    return show_text(&out);
}

/* ---- list and rules ---- */

/* Without a daemon nobody remembers anything: one sample, looked at as if it were the first. */
static json_t *look_once(struct cli *cli, struct error *err)
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
    AUTO_FREE struct alert_facts *facts = calloc(1, sizeof *facts);
    alert_set_init(&set, rules);
    if (s && facts) {
        AUTO_BUF struct buf text = BUF(ANSWER_MAX);
        struct json_writer j = JSON_WRITER(&text);
        alert_set_step(&set, s, facts, NULL, NULL);
        alert_set_sort(&set);
        json_alerts(&j, &set);
        json = text.failed ? NULL : json_loadb(text.at, text.len, 0, NULL);
    }
    alert_set_done(&set);
    session_close(session);
    alert_rules_free(rules);
    config_free(config);
    return json;
}

static int list(struct cli *cli)
{
    struct error err = {0};
    json_t *body = alert_is_direct(cli) ? NULL : alert_ask(cli, "GET", "/api/alerts", NULL, &err);
    bool once = alert_is_direct(cli) || (!body && err.code == -ENOENT);
    if (once) {
        err = (struct error){0};
        body = look_once(cli, &err);
    }
    if (!body)
        return err.text[0] ? cli_fail("%s", err.text) : EXIT_FAILED;
    int result;
    if (cli->json) {
        result = print_json(body);
    } else {
        AUTO_BUF struct buf out = BUF(ANSWER_MAX);
        alert_text(&out, &cli->page, body, options_has(&cli->options, "all"));
        if (once && !alert_is_direct(cli))
            fprintf(stderr, "whirr: no daemon is running: this is how a single sample looks, nothing is known about before\n");
        result = show_text(&out);
    }
    json_decref(body);
    return result;
}

static int list_rules(struct cli *cli)
{
    struct error err = {0};
    json_t *body = alert_is_direct(cli) || options_has(&cli->options, "config")
                       ? NULL
                       : alert_ask(cli, "GET", "/api/alerts/rules", NULL, &err);
    AUTO_BUF struct buf out = BUF(ANSWER_MAX);
    if (!body) {
        struct config *config = NULL;
        struct alert_rules *rules = NULL;
        int status = alert_load(cli, &config, &rules);
        if (status != EXIT_FINE)
            return status;
        struct json_writer j = JSON_WRITER(&out);
        json_alert_rules(&j, rules, NULL);
        body = json_loadb(out.at, out.len, 0, NULL);
        alert_rules_free(rules);
        config_free(config);
        out.len = 0;
    }
    int result;
    if (cli->json) {
        result = print_json(body);
    } else {
        alert_rules_text(&out, &cli->page, body);
        result = show_text(&out);
    }
    json_decref(body);
    return result;
}

static int list_names(struct cli *cli)
{
    AUTO_BUF struct buf out = BUF(1 << 20);
    if (cli->json)
        alert_names_json(&out);
    else
        alert_names_text(&out, &cli->page);
    return show_text(&out);
}

/* ---- silence ---- */

static int say_end(struct cli *cli, struct json_writer *j)
{
    const char *length = options_value(&cli->options, "for", NULL), *until = options_value(&cli->options, "until", NULL);
    struct wall now = clock_wall(cli->env.clock), end;
    int64_t ms;
    char text[WALL_TEXT_SIZE];
    if (!length == !until)
        return cli_usage(cli->command, "'alert silence' needs either --for DURATION or --until TIME");
    if (length && (!duration_parse(str_from(length), &ms) || ms == 0))
        return cli_usage(cli->command, "--for needs " DURATION_SYNTAX);
    if (length) {
        jw_key_number(j, "for_seconds", (double)ms / MS_PER_S);
        return EXIT_FINE;
    }
    if (!moment_parse(str_from(until), now, MOMENT_LOCAL, &end))
        return cli_usage(cli->command, "--until needs " MOMENT_SYNTAX);
    if (end.ms < now.ms && strlen(until) <= 8 && strchr(until, ':'))
        end.ms += 86400000; /* "18:00" lies ahead, not behind */
    wall_format(end, text);
    jw_key_text(j, "until", text);
    return EXIT_FINE;
}

static int add_silence(struct cli *cli, const char *const *matchers, size_t count)
{
    AUTO_BUF struct buf body = BUF(16 << 10);
    struct json_writer j = JSON_WRITER(&body);
    struct error err = {0};
    struct silence checked = {0};
    const char *user = getenv("USER");
    jw_object(&j);
    jw_key_array(&j, "matchers");
    for (size_t i = 0; i < count; i++) {
        if (silence_add_matcher(&checked, str_from(matchers[i]), &err))
            return cli_usage(cli->command, "%s", err.text);
        jw_text(&j, matchers[i]);
    }
    jw_end(&j);
    int status = say_end(cli, &j);
    if (status != EXIT_FINE)
        return status;
    jw_key_text(&j, "comment", options_value(&cli->options, "comment", ""));
    jw_key_text(&j, "created_by", user ? user : "");
    jw_end(&j);
    json_t *answer = alert_ask(cli, "POST", "/api/alerts/silence", body.at, &err);
    if (!answer)
        return cli_fail("%s", err.text);
    if (cli->json) {
        status = print_json(answer);
    } else {
        AUTO_BUF struct buf out = BUF(64 << 10);
        json_t *list = json_array();
        json_array_append(list, json_object_get(answer, "silence"));
        silences_text(&out, &cli->page, list);
        json_decref(list);
        status = show_text(&out);
    }
    json_decref(answer);
    return status;
}

static int remove_silence(struct cli *cli, const char *id)
{
    AUTO_BUF struct buf body = BUF(1024);
    struct json_writer j = JSON_WRITER(&body);
    struct error err = {0};
    jw_object(&j);
    jw_key_text(&j, "remove", id);
    jw_end(&j);
    json_t *answer = alert_ask(cli, "POST", "/api/alerts/silence", body.at, &err);
    if (!answer)
        return cli_fail("%s", err.text);
    int status = cli->json ? print_json(answer) : EXIT_FINE;
    json_decref(answer);
    return status;
}

static int list_silences(struct cli *cli)
{
    struct error err = {0};
    json_t *body = alert_ask(cli, "GET", "/api/alerts", NULL, &err);
    if (!body)
        return cli_fail("%s", err.text);
    int status;
    if (cli->json) {
        json_t *only = json_object();
        json_object_set(only, "silences", json_object_get(body, "silences"));
        status = print_json(only);
        json_decref(only);
    } else {
        AUTO_BUF struct buf out = BUF(1 << 20);
        silences_text(&out, &cli->page, json_object_get(body, "silences"));
        status = show_text(&out);
    }
    json_decref(body);
    return status;
}

static int silence(struct cli *cli, const char *const *words, size_t count)
{
    if (count == 0 || strcmp(words[0], "list") == 0)
        return list_silences(cli);
    if (strcmp(words[0], "remove") == 0)
        return count == 2 ? remove_silence(cli, words[1])
                          : cli_usage(cli->command, "'alert silence remove' needs the number of a silence, like s1");
    bool add = strcmp(words[0], "add") == 0;
    if (!add && !strchr(words[0], '='))
        return cli_usage(cli->command, "'alert silence' takes add, list, remove, or conditions like alert=gpu_hot");
    return add_silence(cli, words + add, count - add);
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

static int run(struct cli *cli)
{
    static const char *const names[] = {"list", "rules", "names", "test", "silence", "check"};
    const char *const *arguments = cli->options.arguments;
    size_t count = cli->options.argument_count;
    const char *word = count ? arguments[0] : "list";
    cli->page.now = clock_wall(cli->env.clock);
    if (strcmp(word, "silence") == 0)
        return silence(cli, arguments + 1, count - 1);
    if (strcmp(word, "test") == 0)
        return count <= 2 ? alert_test(cli, count > 1 ? arguments[1] : NULL)
                          : cli_usage(cli->command, "a condition must stand in quotes, as one argument");
    const char *near = nearest_name(word, names, ARRAY_LEN(names));
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (strcmp(word, names[i]) == 0 && count > 1)
            return cli_usage(cli->command, "'alert %s' does not take '%s'", word, arguments[1]);
    if (strcmp(word, "list") == 0)
        return list(cli);
    if (strcmp(word, "rules") == 0)
        return list_rules(cli);
    if (strcmp(word, "names") == 0)
        return list_names(cli);
    if (strcmp(word, "check") == 0)
        return check(cli);
    return cli_usage(cli->command, "unknown word '%s'%s%s%s", word, near ? "; did you mean '" : "", near ? near : "",
                     near ? "'?" : "");
}

static const struct option_spec options[] = {
    {.name = "all", .help = "With `list`: also those that were resolved within the last hour"},
    {.name = "for",
     .argument = "DURATION",
     .help = "With `silence`: how long, like 2h. With `test`: how long the condition must hold"},
    {.name = "until", .argument = "TIME", .help = "With `silence`: its end. With `test`: the end of the time that is looked at"},
    {.name = "comment", .argument = "TEXT", .help = "With `silence`: why"},
    {.name = "since", .argument = "TIME", .help = "With `test`: look at the history from there on"},
    OPTION_STORE,
    {.name = "duration", .argument = "DURATION", .help = "With `test --source sim`: how long to simulate; default: 10m"},
    {.name = "interval", .argument = "SECONDS", .help = "With `test --source sim`: time between two samples; default: 5"},
};

static const struct example examples[] = {
    {"whirr alert", "what fires, what is about to, what is silenced"},
    {"whirr alert check", "are the rules of the configuration right, and if not, where is the mistake"},
    {"whirr alert test gpu_hot", "would it fire now, and if not, why"},
    {"whirr alert test 'memory_used_mb > 20GiB' --since -1d", "when would it have fired since yesterday"},
    {"whirr alert test --source sim:scenario=overheat", "which rules fire when a card overheats"},
    {"whirr alert silence alert=gpu_hot gpu=0 --for 2h --comment 'new fans'", "tell nobody for two hours"},
    {"whirr alert silence remove s1", "tell them again"},
};

const struct command command_alert = {
    .name = "alert",
    .summary = "What fires, the rules behind it, and silences",
    .details =
        "Words: list (the default), rules, names, test [RULE|CONDITION], silence [add] KEY=VALUE..., silence list, silence remove "
        "ID, "
        "check. Conditions of a silence: alert, severity, gpu, gpu_uuid, gpu_name, host, process, pid, user, or a label of the "
        "rule; * and ? stand for anything.\n\nThe word test looks at the machine as it is now; with --source at a simulated "
        "machine "
        "or a recording (replay:FILE), with --since at the history. It tells nobody and changes nothing. docs/alerts.md has the "
        "language of conditions and every built-in rule.",
    .arguments = "[WORD] [WHAT...]",
    .arguments_max = 16,
    .options = options,
    .option_count = ARRAY_LEN(options),
    .examples = examples,
    .example_count = ARRAY_LEN(examples),
    .run = run,
};
