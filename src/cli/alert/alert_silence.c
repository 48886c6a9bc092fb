/* SPDX-License-Identifier: Apache-2.0
 * whirr alert silence: add, list, remove.
 */
#include "cli/alert/alert.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alert/silence.h"
#include "ask/answers.h"
#include "base/cleanup.h"
#include "base/json_reader.h"
#include "base/json_writer.h"
#include "base/moment.h"
#include "base/words.h"
#include "cli/cli_show.h"
#include "config/findings.h"
#include "format/table/grid.h"

static int write_end(struct cli *cli, struct json_writer *j)
{
    const char *length = options_value(cli->options, "for", NULL), *until = options_value(cli->options, "until", NULL);
    struct wall now = clock_wall(cli->env.clock), end;
    int64_t ms;
    char text[WALL_TEXT_SIZE];
    if (!length == !until)
        return cli_usage(cli, "'alert silence' needs either --for DURATION or --until TIME");
    if (length && (!duration_parse(str_from(length), &ms) || ms == 0))
        return cli_usage(cli, "--for needs " DURATION_SYNTAX);
    if (length) {
        jw_key_number(j, "for_seconds", (double)ms / MS_PER_S);
        return EXIT_FINE;
    }
    if (!moment_parse_ahead(str_from(until), now, now, MOMENT_LOCAL, &end))
        return cli_usage(cli, "invalid value '%s' for --until; expected " MOMENT_AHEAD_SYNTAX, until);
    wall_format(end, text);
    jw_key_text(j, "until", text);
    return EXIT_FINE;
}

/* A typo in a name would silence nothing. */
static int check_rule(struct cli *cli, const json_t *rules, const char *name)
{
    struct nearest n;
    size_t i;
    const json_t *rule;
    nearest_init(&n, name);
    json_array_foreach(rules, i, rule)
    {
        if (strcmp(json_text(rule, "name"), name) == 0)
            return EXIT_FINE;
        nearest_try(&n, json_text(rule, "name"));
    }
    const char *old;
    for (i = 0; (old = config_old_alert(i)); i++)
        if (strcmp(old, name) == 0)
            return EXIT_FINE;
    const char *near = nearest_found(&n);
    if (near)
        return cli_usage(cli, "unknown rule '%s'; did you mean '%s'? Nothing was silenced", name, near);
    return cli_usage(cli, "unknown rule '%s'; `whirr alert rules` lists them. Nothing was silenced", name);
}

static int check_severity(struct cli *cli, const char *severity)
{
    static const char *const severities[] = {"info", "warning", "critical"};
    if (NAME_IN(severities, str_from(severity)))
        return EXIT_FINE;
    return cli_unknown(cli, "severity", severity, severities, ARRAY_LEN(severities));
}

/* A GPU that the daemon has never seen. One that is missing now is still listed, and may be silenced. */
static int check_gpu(struct cli *cli, const char *index)
{
    struct error err = {0};
    AUTO_JSON json_t *answer = alert_ask(cli, "GET", "/api/gpu/summary", NULL, &err);
    const json_t *gpu, *gpus = json_object_get(answer, "gpus");
    char *end;
    long wanted = strtol(index, &end, 10);
    bool found = *end || !json_array_size(gpus);
    size_t i;
    json_array_foreach(gpus, i, gpu) found |= json_integer_value(json_object_get(gpu, "index")) == wanted;
    return found ? EXIT_FINE : cli_usage(cli, "there is no GPU %s; `whirr status` lists them. Nothing was silenced", index);
}

/* Names of rules, severities and GPUs must exist. Names with wildcards may match rules that are added later. */
static int check_names(struct cli *cli, const char *const *matchers, size_t count)
{
    struct error err = {0};
    AUTO_JSON json_t *answer = alert_ask(cli, "GET", "/api/alerts/rules", NULL, &err);
    const json_t *rules = json_object_get(answer, "rules");
    int status = EXIT_FINE;
    for (size_t i = 0; i < count && json_is_array(rules) && status == EXIT_FINE; i++) {
        const char *equals = strchr(matchers[i], '='), *value = equals ? equals + 1 : matchers[i];
        if (strpbrk(value, "*?[") || !value[0])
            continue;
        if (!equals || strncmp(matchers[i], "alert=", 6) == 0)
            status = check_rule(cli, rules, value);
        else if (strncmp(matchers[i], "severity=", 9) == 0)
            status = check_severity(cli, value);
        else if (strncmp(matchers[i], "gpu=", 4) == 0)
            status = check_gpu(cli, value);
    }
    return status;
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
        char matcher[256];
        snprintf(matcher, sizeof matcher, "%s%s", strchr(matchers[i], '=') ? "" : "alert=", matchers[i]);
        if (silence_add_matcher(&checked, str_from(matcher), &err))
            return cli_usage(cli, "%s", err.text);
        jw_text(&j, matcher);
    }
    jw_end(&j);
    int status = write_end(cli, &j);
    if (status != EXIT_FINE)
        return status;
    jw_key_text(&j, "comment", options_value(cli->options, "comment", ""));
    jw_key_text(&j, "created_by", user ? user : "");
    jw_end(&j);
    status = sampling_option(cli) ? EXIT_FINE : check_names(cli, matchers, count); /* sampling options are rejected below */
    if (status != EXIT_FINE)
        return status;
    if (options_has(cli->options, "dry-run")) {
        AUTO_BUF struct buf all = BUF(16 << 10);
        const char *length = options_value(cli->options, "for", NULL);
        for (size_t i = 0; i < count; i++)
            buf_printf(&all, "%s%s", i ? " with " : "", matchers[i]);
        return show_would(cli, "silence %s %s %s", all.at, length ? "for" : "until",
                          length ? length : options_value(cli->options, "until", ""));
    }
    AUTO_JSON json_t *answer = alert_ask(cli, "POST", "/api/alerts/silence", body.at, &err);
    if (!answer)
        return cli_error(cli, &err);
    if (cli->json)
        return alert_print_json(answer);
    AUTO_BUF struct buf out = BUF(64 << 10);
    AUTO_JSON json_t *list = json_pack("[O*]", json_object_get(answer, "silence"));
    silences_text(&out, &cli->page, list);
    buf_printf(&out, "Silenced by the daemon at %s.\n", json_text(answer, "daemon"));
    return show_text(&out);
}

static int remove_silence(struct cli *cli, const char *id)
{
    struct error err = {0};
    if (options_has(cli->options, "dry-run")) {
        AUTO_JSON json_t *answer = alert_ask(cli, "GET", "/api/alerts", NULL, &err);
        const json_t *silence;
        size_t i;
        bool there = false;
        if (!answer)
            return cli_error(cli, &err);
        json_array_foreach(json_object_get(answer, "silences"), i, silence) there |= strcmp(json_text(silence, "id"), id) == 0;
        return there ? show_would(cli, "remove silence %s", id)
                     : cli_fail("there is no silence '%s'; `whirr alert silence` lists them", id);
    }
    AUTO_BUF struct buf body = BUF(1024);
    struct json_writer j = JSON_WRITER(&body);
    jw_object(&j);
    jw_key_text(&j, "remove", id);
    jw_end(&j);
    AUTO_JSON json_t *answer = alert_ask(cli, "POST", "/api/alerts/silence", body.at, &err);
    if (!answer)
        return cli_error(cli, &err);
    if (cli->json)
        return alert_print_json(answer);
    printf("Removed silence %s from the daemon at %s.\n", id, json_text(answer, "daemon"));
    return EXIT_FINE;
}

static void matchers_text(struct buf *out, const json_t *matchers)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)matchers, key, value)
        buf_printf(out, "%s%s=%s", out->len ? " " : "", key, json_string_value(value) ? json_string_value(value) : "");
}

void silences_text(struct buf *out, const struct page *page, const json_t *silences)
{
    static const struct grid_column columns[] = {
        {"SILENCE", LEFT, 0}, {"ABOUT", LEFT, 0}, {"ENDS IN", RIGHT, 0}, {"BY", LEFT, 2}, {"COMMENT", LEFT, 1}};
    const json_t *s;
    size_t i;
    if (json_array_size(silences) == 0) {
        buf_text(out, "No silences.\n");
        return;
    }
    AUTO_GRID struct grid g;
    grid_init(&g, columns, ARRAY_LEN(columns));
    json_array_foreach(silences, i, s)
    {
        AUTO_BUF struct buf about = BUF(4096);
        struct wall until = {0};
        char left[NUMBER_SIZE] = "";
        matchers_text(&about, json_object_get(s, "matchers"));
        if (wall_parse(str_from(json_text(s, "until")), &until))
            show_age(left, page, until.ms - page->now.ms);
        grid_add(&g, INK_STRONG, json_text(s, "id"));
        grid_add(&g, INK_PLAIN, buf_view(&about).at);
        grid_add(&g, INK_PLAIN, left);
        grid_add(&g, INK_PLAIN, json_text(s, "created_by"));
        grid_add(&g, INK_FAINT, json_text(s, "comment"));
    }
    grid_write(out, page, &g);
}

static int list_silences(struct cli *cli)
{
    struct error err = {0};
    AUTO_JSON json_t *body = alert_ask(cli, "GET", "/api/alerts", NULL, &err);
    json_t *silences = json_object_get(body, "silences");
    if (!body)
        return cli_fail("%s", err.text);
    if (cli->json) {
        AUTO_JSON json_t *only = json_pack("{s:O*}", "silences", silences);
        return alert_print_json(only);
    }
    AUTO_BUF struct buf out = BUF(1 << 20);
    silences_text(&out, &cli->page, silences);
    return show_text(&out);
}

int alert_silence(struct cli *cli, const char *const *words, size_t count)
{
    if (count == 0 || strcmp(words[0], "list") == 0)
        return list_silences(cli);
    if (strcmp(words[0], "remove") == 0)
        return count == 2 ? remove_silence(cli, words[1])
                          : cli_usage(cli, "'alert silence remove' needs the number of a silence, like s1");
    bool add = strcmp(words[0], "add") == 0;
    if (add && count == 1)
        return cli_usage(cli, "'alert silence add' needs the name of an alert, or conditions like severity=info");
    return add_silence(cli, words + add, count - add);
}
