/* SPDX-License-Identifier: Apache-2.0
 * whirr notify: lists notifiers and tests whether a message arrives; add.c adds and removes them.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alert/notify/notify.h"
#include "answer/answer.h"
#include "ask/client.h"
#include "ask/session.h"
#include "ask/settings.h"
#include "base/cleanup.h"
#include "base/digest.h"
#include "base/os/place.h"
#include "base/os/words.h"
#include "base/words.h"
#include "cli/cli_show.h"
#include "cli/notify/notify.h"
#include "format/notifiers.h"

/* ---- list ---- */

/* A running daemon's statistics on its notifiers; 0 and `running` false without one. */
static size_t ask_daemon(const struct cli *cli, struct notifier_stats *list, bool *running, struct error *err)
{
    struct client *client = NULL;
    AUTO_BUF struct buf answer = BUF(1 << 20);
    *running = false;
    if (ask_open(cli, &client, err) < 0)
        return 0;
    *running = client_request(client, "GET", "/api/notifiers", NULL, &answer, CLIENT_WITHIN_MS, err) == 200;
    client_close(client);
    return *running ? notifiers_from_json(buf_view(&answer), list, NOTIFIERS_MAX) : 0;
}

/* Adds configured notifiers that are not listed: all of them without a daemon, otherwise those it has not loaded yet. */
static size_t add_configured(const struct config *config, struct notifier_stats *list, size_t count, const char *reload)
{
    for (size_t i = 0; i < config->notify_count && count < NOTIFIERS_MAX; i++) {
        size_t known = 0;
        while (known < count && strcmp(list[known].name, config->notify[i].entry.name) != 0)
            known++;
        if (known < count)
            continue;
        notifier_describe(&config->notify[i], &list[count]);
        if (reload)
            snprintf(list[count].last_error, sizeof list[count].last_error, "the daemon has not read it yet; %s", reload);
        count++;
    }
    return count;
}

static int list_them(struct cli *cli, struct config *config)
{
    struct error err = {0};
    AUTO_FREE struct notifier_stats *list = calloc(NOTIFIERS_MAX, sizeof *list);
    AUTO_BUF struct buf out = BUF(1 << 20);
    char reload[RELOAD_WORDS];
    bool running = false;
    if (!list)
        return cli_fail("out of memory");
    cli->settings = config;
    size_t count = cli->ask.direct ? 0 : ask_daemon(cli, list, &running, &err);
    if (running)
        notify_reload_words(cli, reload);
    cli->settings = NULL;
    if (err.code == -ENXIO) /* --socket names a daemon that does not answer */
        return cli_fail("%s", err.text);
    count = add_configured(config, list, count, running ? reload : NULL);
    if (cli->json)
        json_notifiers(JSON_PAGE(&out), list, count);
    else
        table_notifiers(&out, &cli->page, list, count, running);
    return show_text(&out);
}

/* ---- test ---- */

void notify_example(const struct env *env, bool resolved, const char *severity, const char *dashboard_url, struct alert_notice *n)
{
    *n = (struct alert_notice){
        .status = resolved ? NOTICE_RESOLVED : NOTICE_FIRING, .gpu_index = -1, .has_value = true, .value = 42};
    struct wall now = clock_wall(env->clock);
    uint8_t digest[SHA256_SIZE];
    env_host_name(n->host, sizeof n->host);
    snprintf(n->alert, sizeof n->alert, "whirr_test");
    snprintf(n->severity, sizeof n->severity, "%s", severity);
    snprintf(n->summary, sizeof n->summary, "This is a test. If you read it, %s can reach you.", "whirr");
    n->started_at = (struct wall){now.ms - (resolved ? 60000 : 0)};
    n->ended_at = (struct wall){resolved ? now.ms : 0};
    snprintf(n->why, sizeof n->why, "`whirr notify test` was run.");
    notice_set_link(n, dashboard_url);
    notice_add_label(n, "test", "true");
    sha256(str_from("whirr notify test"), digest);
    hex_encode(digest, 8, n->fingerprint);
}

struct told_try {
    const char *name;
    const struct notifier_result *r;
};

ANSWER_TEST(has_status, struct notifier_result, of->fine || of->status);

ANSWER_TABLE(result_answer, struct notifier_result)
{
    FIELD(TEXT, "target", target, NULL);
    FIELD(BOOL, "ok", fine, NULL);
    FIELD(INT, "status", status, NULL, WHEN(has_status));
    FIELD(AMOUNT, "took_seconds", took_ms, NULL, SCALE(1e-3));
    FIELD(TEXT, "answer", answer, NULL, OR_NULL);
    FIELD(TEXT, "error", error, NULL, OR_NULL);
}

ANSWER_TABLE(tried_answer, struct told_try)
{
    FIELD(WORD, "name", name, NULL);
    VIA(KEYS, NULL, r, result_answer, NULL);
}

int notify_print_result(const struct cli *cli, const struct config_notify *c, const struct notifier_result *r)
{
    AUTO_BUF struct buf out = BUF(64 * 1024);
    if (cli->json) {
        return show_answer(cli, &tried_answer, &(struct told_try){c->entry.name, r});
    } else if (r->fine) {
        page_ink(&out, &cli->page, INK_GOOD, STR("delivered"));
        buf_printf(&out, "  %s (%s) in %lld ms", c->entry.name, r->target, (long long)r->took_ms);
        if (c->type != CONFIG_NOTIFY_DESKTOP && c->type != CONFIG_NOTIFY_MQTT)
            buf_printf(&out, ", %s %d%s%.160s",
                       c->type == CONFIG_NOTIFY_COMMAND ? "exit status"
                       : c->type == CONFIG_NOTIFY_EMAIL ? "SMTP"
                                                        : "HTTP",
                       r->status, r->answer[0] ? ": " : "", r->answer);
        buf_char(&out, '\n');
    }
    int result = show_text(&out);
    if (r->fine)
        return result;
    if (cli->json)
        return EXIT_FAILED;
    return cli_fail("cannot reach notifier '%s' (%s) after %lld ms: %s", c->entry.name, r->target, (long long)r->took_ms, r->error);
}

int notify_unknown(const struct config *config, const char *name, const char *place)
{
    const char *names[NOTIFIERS_MAX] = {0};
    size_t count = MIN_OF(config->notify_count, (size_t)NOTIFIERS_MAX);
    for (size_t i = 0; i < count; i++)
        names[i] = config->notify[i].entry.name;
    const char *near = nearest_name(name, names, count);
    if (near)
        return cli_fail("no [notify.%s] in %s; did you mean '%s'?", name, place, near);
    return cli_fail("no [notify.%s] in %s%s", name, place,
                    count ? "; `whirr notify list` shows the known ones"
                          : ": no notifier is configured yet; `whirr notify add` adds one");
}

static int test(struct cli *cli, const struct config *config, const char *name)
{
    const char *severity = options_value(cli->options, "severity", "warning");
    for (size_t i = 0; i < config->notify_count; i++) {
        const struct config_notify *c = &config->notify[i];
        struct error err = {0};
        if (strcmp(c->entry.name, name) != 0)
            continue;
        if (notifier_check(c, &err) < 0)
            return err.code == -EINVAL ? cli_usage(cli, "notifier '%s' is not set up correctly: %s", name, err.text)
                                       : cli_fail("%s", err.text);
        struct alert_notice example;
        struct notifier_result result;
        notify_example(&cli->env, options_has(cli->options, "resolved"), severity, config->server.dashboard_url, &example);
        notifier_try(&cli->env, c, &example, &result);
        return notify_print_result(cli, c, &result);
    }
    return notify_unknown(config, name, "the configuration");
}

static int list_or_test(struct cli *cli, const char *name)
{
    struct config *config = NULL;
    int result = settings_load(cli, NULL, 0, &config);
    if (result == EXIT_FINE)
        result = name ? test(cli, config, name) : list_them(cli, config);
    config_free(config);
    return result;
}

static int notify_run(struct cli *cli)
{
    static const char *const words[] = {"list", "test", "add", "remove"};
    const struct options *o = cli->options;
    const char *word = o->argument_count ? o->arguments[0] : "list";
    const char *name = o->argument_count > 1 ? o->arguments[1] : NULL, *type = o->argument_count > 2 ? o->arguments[2] : NULL;
    bool adds = strcmp(word, "add") == 0, removes = strcmp(word, "remove") == 0, tests = strcmp(word, "test") == 0;
    if (!adds && !removes && !tests && strcmp(word, "list") != 0)
        return cli_unknown(cli, "subcommand", word, words, ARRAY_LEN(words));
    if (type && !adds)
        return cli_usage(cli, "'notify %s' does not take '%s'", word, type);
    if ((tests || removes) && !name)
        return cli_usage(cli, "'notify %s' needs the NAME of a [notify.NAME] table", word);
    if (!adds && !tests && !removes && name)
        return cli_usage(cli, "'notify list' does not take '%s'", name);
    if (adds)
        return notify_add(cli, name, type);
    return removes ? notify_remove(cli, name) : list_or_test(cli, name);
}

static const char *const severities[] = {"info", "warning", "critical", NULL};

static const struct option_spec options[] = {
    {.name = "url", .argument = "URL", .help = "add: address of the service, mail server or broker"},
    {.name = "to", .argument = "RECIPIENT", .help = "add: email address, chat, room or user key"},
    {.name = "user", .argument = "NAME", .help = "add: user name at the mail server or broker"},
    {.name = "from", .argument = "ADDRESS", .help = "add: sender of email"},
    {.name = "topic", .argument = "TOPIC", .help = "add: first part of the MQTT topics (default: whirr)"},
    {.name = "secret-file",
     .argument = "FILE",
     .complete = COMPLETE_FILE,
     .help = "add: read the token or password from here; - is standard input"},
    {.name = "quiet", .argument = "HOURS", .help = "add: quiet hours, like \"22:00-07:00\""},
    {.name = "digest", .argument = "TIME", .help = "add: one message at these times, like \"08:00\""},
    {.name = "no-test", .help = "add: send no test message"},
    {.name = "resolved", .help = "test: send a resolved alert instead of a firing one"},
    {.name = "severity", .argument = "SEVERITY", .values = severities, .help = "test: info, warning (default) or critical"},
    {.name = "dry-run", .help = "add, remove: show what would be done; change nothing"},
};

const struct command command_notify = {
    .alone = true,
    .exits = "0 fine; 1 it failed: the message was not delivered; 2 wrong usage or configuration.",
    .name = "notify",
    .group = HELP_SETUP,
    .summary = "Add, test and show who is notified of alerts",
    .details =
        "Subcommands: list (the default), add NAME TYPE, remove NAME, test NAME. `add` asks for what is missing when it runs on a "
        "terminal, sends a test message, writes [notify.NAME] into the configuration (" WORD_ADMINISTRATOR ": " PLACE_CONFIG_NAME
        ", others: their "
        "own; "
        "or --config FILE) and lets built-in alerts notify it; types are desktop, ntfy, telegram, gotify, pushover, matrix, email, "
        "mqtt, slack, discord, webhook and alertmanager. Tokens and passwords are asked for without an echo, or read from "
        "--secret-file; they are never shown, and the file is readable by its owner only. `test` sends one message from here, "
        "immediately and without the daemon's queue, and shows the response; it exits with 1 if the message was not delivered. "
        "Secret parts of addresses are masked.",
    .arguments = "[list | add NAME TYPE | remove NAME | test NAME]",
    .offers = {{.behind = "add", .place = 2, .complete = COMPLETE_NOTIFIER_TYPE},
               {.behind = "remove", .place = 1, .complete = COMPLETE_NOTIFIER},
               {.behind = "test", .place = 1, .complete = COMPLETE_NOTIFIER}},
    .arguments_max = 3,
    OPTIONS(options),
    .examples = {{"whirr notify", "who is notified, what is queued, what failed"},
                 {"whirr notify add phone ntfy --url https://ntfy.sh/my-topic", "send a test message and add [notify.phone]"},
                 {"whirr notify test phone", "send a test message"}},
    .lacks = "gpu",
    .run = notify_run,
};
