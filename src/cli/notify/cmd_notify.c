/* SPDX-License-Identifier: Apache-2.0
 * whirr notify: lists notifiers, tests whether a message arrives, adds and removes them. A configuration table is built from
 * answers; secrets are read from the terminal without echo or from a file, never from the command line, which all users can see.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "alert/notify/notify.h"
#include "answer/answer.h"
#include "ask/client.h"
#include "ask/session.h"
#include "ask/settings.h"
#include "base/cleanup.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/keep.h"
#include "base/os/place.h"
#include "base/os/words.h"
#include "base/words.h"
#include "cli/cli_show.h"
#include "cli/notify/notify.h"
#include "cli/notify/person.h"
#include "config/edit.h"
#include "format/notifiers.h"

static bool is_service(const struct env *env, int32_t pid)
{
    char path[64], text[4096];
    snprintf(path, sizeof path, "/proc/%d/cgroup", (int)pid);
    return pid <= 1 || (file_read(env, path, text, sizeof text) >= 0 && strstr(text, "whirr.service"));
}

/* How a change of the configuration comes into effect here: "to use it now: systemctl reload whirr". */
enum { RELOAD_WORDS = 256 };
static const char *reload_words(const struct cli *cli, char out[RELOAD_WORDS])
{
    struct client *client = NULL;
    struct error err = {0};
    uid_t user = geteuid();
    int32_t pid = 0;
    if (ask_open(cli, &client, &err) < 0)
        snprintf(out, RELOAD_WORDS, "no daemon is running; one that starts uses it: whirr serve, or as a service: whirr setup");
    else if (client_daemon(client, &user, &pid) && user != geteuid() && geteuid() != 0)
        snprintf(out, RELOAD_WORDS, "the daemon at %.100s belongs to another user, and reads another configuration",
                 client_place(client));
    else if (is_service(&cli->env, pid))
        snprintf(out, RELOAD_WORDS, "to use it now: %s", geteuid() == 0 ? WORD_RELOAD_SYSTEM : WORD_RELOAD_USER);
    else
        snprintf(out, RELOAD_WORDS, "to use it now: kill -HUP %d", (int)pid);
    client_close(client);
    return out;
}

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
        reload_words(cli, reload);
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

static int notify_print_result(const struct cli *cli, const struct config_notify *c, const struct notifier_result *r)
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

/* ---- add, remove: what each type needs ---- */

static const struct notify_needs needs[] = {
    {"desktop", NULL, NULL, NULL, NULL},
    {"ntfy", "URL with the topic, like https://ntfy.sh/my-topic", NULL, NULL, NULL},
    {"telegram", NULL, "Token of the bot, from @BotFather", "ID of the chat", NULL},
    {"gotify", "URL of the server", "Token of the application", NULL, NULL},
    {"pushover", NULL, "Token of the application", "User or group key", NULL},
    {"matrix", "URL of the home server", "Access token", "ID of the room, like !abc:example.org", NULL},
    {"email", "Mail server, like smtp://mail.example.org:587", NULL, "Address of the recipient",
     "User name at the mail server (empty: no login)"},
    {"mqtt", "Broker, like mqtt://broker.example.org", NULL, NULL, "User name at the broker (empty: no login)"},
    {"slack", "URL of the incoming webhook", NULL, NULL, NULL},
    {"discord", "URL of the webhook", NULL, NULL, NULL},
    {"webhook", "URL to post to", NULL, NULL, NULL},
    {"alertmanager", "URL of Alertmanager", NULL, NULL, NULL},
};

const struct notify_needs *notify_needs_of(const char *type)
{
    size_t i = NAME_FIND(needs, str_from(type));
    return i < ARRAY_LEN(needs) ? &needs[i] : NULL;
}

static int unknown_type(const struct cli *cli, const char *type)
{
    const char *names[ARRAY_LEN(needs)];
    AUTO_BUF struct buf all = BUF(1024);
    for (size_t i = 0; i < ARRAY_LEN(needs); i++) {
        names[i] = needs[i].type;
        buf_printf(&all, "%s%s", i == 0 ? "" : i + 1 < ARRAY_LEN(needs) ? ", " : " or ", needs[i].type);
    }
    const char *near = type ? nearest_name(type, names, ARRAY_LEN(needs)) : NULL;
    if (!type)
        return cli_usage(cli, "'notify add' needs a NAME and a TYPE (%s), like: whirr notify add phone ntfy", all.at ? all.at : "");
    if (near)
        return cli_usage(cli, "unknown type '%s'; did you mean '%s'?", type, near);
    return cli_usage(cli, "unknown type '%s'; expected %s", type, all.at ? all.at : "");
}

/* ---- the settings ---- */

static void take_options(const struct cli *cli, struct notify_settings *s)
{
    const struct options *o = cli->options;
    str_copy(s->url, sizeof s->url, str_from(options_value(o, "url", "")));
    str_copy(s->from, sizeof s->from, str_from(options_value(o, "from", "")));
    str_copy(s->user, sizeof s->user, str_from(options_value(o, "user", "")));
    str_copy(s->topic, sizeof s->topic, str_from(options_value(o, "topic", "")));
    for (size_t i = 0; i < o->given_count; i++) {
        const char *name = o->given[i].spec->name, *value = o->given[i].value;
        if (strcmp(name, "to") == 0 && s->to_count < ARRAY_LEN(s->to))
            str_copy(s->to[s->to_count++], sizeof s->to[0], str_from(value));
        if (strcmp(name, "quiet") == 0 && s->quiet_count < ARRAY_LEN(s->quiet))
            s->quiet[s->quiet_count++] = value;
        if (strcmp(name, "digest") == 0 && s->digest_count < ARRAY_LEN(s->digest))
            s->digest[s->digest_count++] = value;
    }
}

static int read_secret(const char *path, char *to, size_t size)
{
    AUTO_CLOSE int fd = strcmp(path, "-") == 0 ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
    char text[1024];
    ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (len < 0)
        return cli_fail("cannot read the secret from '%s': %s", path, strerror(errno));
    str_copy(to, size, str_trim((struct str){text, (size_t)len}));
    return EXIT_FINE;
}

/* Asks for one missing value. */
static bool want(const char *question, const char *option, bool secret, char *to, size_t size, struct buf *missing)
{
    if (!question || to[0])
        return true;
    if (!person_is_there()) {
        buf_printf(missing, "%s%s", missing->len ? ", " : "", option);
        return true;
    }
    return secret ? person_secret(question, to, size) : person_line(question, "", to, size);
}

static int complete(struct cli *cli, const struct notify_needs *n, struct notify_settings *s)
{
    AUTO_BUF struct buf missing = BUF(512);
    const char *file = options_value(cli->options, "secret-file", NULL);
    if (file && read_secret(file, n->token ? s->token : s->password, n->token ? sizeof s->token : sizeof s->password) != EXIT_FINE)
        return EXIT_FAILED;
    bool there = want(n->url, "--url", false, s->url, sizeof s->url, &missing);
    there = there && want(n->to, "--to", false, s->to[0], sizeof s->to[0], &missing);
    there = there && want(n->token, "--secret-file", true, s->token, sizeof s->token, &missing);
    if (there && n->user && person_is_there())
        there = want(n->user, "--user", false, s->user, sizeof s->user, &missing);
    if (there && s->user[0])
        there = want("Password", "--secret-file", true, s->password, sizeof s->password, &missing);
    if (!there)
        return cli_fail("nothing was added");
    s->to_count = MAX_OF(s->to_count, (size_t)(s->to[0][0] != '\0'));
    if (missing.len)
        return cli_usage(cli, "a notifier of type %s needs %s, and there is no terminal to ask at", n->type, missing.at);
    return EXIT_FINE;
}

static void put_text(struct buf *out, const char *key, const char *value)
{
    if (!value[0])
        return;
    buf_printf(out, "%s = ", key);
    edit_quote(out, value);
    buf_char(out, '\n');
}

static void put_list(struct buf *out, const char *key, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        buf_printf(out, i ? ", " : "%s = [", key);
        edit_quote(out, list[i]);
    }
    buf_text(out, count ? "]\n" : "");
}

void notify_table(struct buf *out, const char *name, const char *type, const struct notify_settings *s)
{
    const char *to[ARRAY_LEN(s->to)];
    for (size_t i = 0; i < s->to_count; i++)
        to[i] = s->to[i];
    buf_printf(out, "[notify.%s]\n", name);
    put_text(out, "type", type);
    put_text(out, "url", s->url);
    put_text(out, "token", s->token);
    put_list(out, "to", to, s->to_count);
    put_text(out, "from", s->from);
    put_text(out, "user", s->user);
    put_text(out, "password", s->password);
    put_text(out, "topic", s->topic);
    put_list(out, "quiet", s->quiet, s->quiet_count);
    put_list(out, "digest", s->digest, s->digest_count);
}

/* ---- the file ---- */

static const struct config_problem *first_error(const struct config_problems *problems)
{
    for (size_t i = 0; i < problems->count; i++)
        if (!problems->list[i].warning)
            return &problems->list[i];
    return NULL;
}

static int load_trial(const struct env *env, const char *path, struct str text, struct config **ret, struct error *err)
{
    static const char *const none[] = {NULL};
    char trial[PLACE_SIZE + 16];
    snprintf(trial, sizeof trial, "%.4080s.trial", path);
    size_t there = edit_parents(trial);
    int rc = edit_write(env, trial, text, err);
    struct config_problems *problems = rc == 0 ? calloc(1, sizeof *problems) : NULL;
    if (rc == 0 && !problems)
        rc = error_set(err, -ENOMEM, "out of memory");
    if (rc == 0)
        rc = config_load(&(struct config_inputs){.env = env, .file = trial, .environment = none}, ret, problems);
    const struct config_problem *first = rc < 0 && problems ? first_error(problems) : NULL;
    if (first)
        error_set(err, rc, "%s", first->text);
    edit_undo(trial, there);
    free(problems);
    return rc;
}

/* Adds the name to alerts.notify, or removes it. */
static void set_notified(struct buf *text, const struct config_list *old, const char *name, bool with)
{
    const char *list[256];
    size_t count = 0;
    for (size_t i = 0; i < old->count && count + 1 < ARRAY_LEN(list); i++)
        if (strcmp(old->items[i], name) != 0)
            list[count++] = old->items[i];
    if (with)
        list[count++] = name;
    AUTO_BUF struct buf value = BUF(32 * 1024);
    buf_char(&value, '[');
    for (size_t i = 0; i < count; i++) {
        buf_text(&value, i ? ", " : "");
        edit_quote(&value, list[i]);
    }
    buf_char(&value, ']');
    if (count)
        edit_set(text, "alerts", "notify", value.at ? value.at : "[]");
    else
        edit_unset(text, "alerts", "notify");
}

int notify_insert(const struct env *env, struct buf *text, const char *trial_path, const char *name, const char *table,
                  struct error *err)
{
    struct config *config = NULL;
    edit_append(text, table);
    int rc = load_trial(env, trial_path, buf_view(text), &config, err);
    if (rc == 0)
        set_notified(text, &config->alerts.notify, name, true);
    config_free(config);
    return rc;
}

static const struct config_notify *find_configured(const struct config *config, const char *name)
{
    for (size_t i = 0; i < config->notify_count; i++)
        if (strcmp(config->notify[i].entry.name, name) == 0)
            return &config->notify[i];
    return NULL;
}

/* Mistakes in the arguments or the existing configuration are usage errors; all else is a failure. */
static int add_refuse(const struct cli *cli, const struct error *err)
{
    return err->code == -EINVAL ? cli_usage(cli, "nothing was added: %s", err->text) : cli_fail("nothing was added: %s", err->text);
}

/* Sends a test message before the configuration is replaced. */
static int try_it(struct cli *cli, const struct config *config, const char *name)
{
    const struct config_notify *c = find_configured(config, name);
    struct error err = {0};
    struct alert_notice example;
    struct notifier_result result;
    if (!c)
        return cli_fail("nothing was added: [notify.%s] cannot be read back", name);
    if (notifier_check(c, &err) < 0)
        return add_refuse(cli, &err);
    if (options_has(cli->options, "no-test") || options_has(cli->options, "dry-run"))
        return EXIT_FINE;
    notify_example(&cli->env, false, "info", config->server.dashboard_url, &example);
    notifier_try(&cli->env, c, &example, &result);
    int status = notify_print_result(cli, c, &result);
    if (status == EXIT_FINE)
        return status;
    if (person_is_there() && person_agrees("The test message was not delivered. Add it anyway?", false))
        return EXIT_FINE;
    fprintf(stderr, "Nothing was added. With --no-test it is added without a message.\n");
    return status;
}

static int write_and_report(struct cli *cli, const char *path, const struct buf *text, const char *name, bool adds)
{
    static struct config_problems problems; /* large; what is wrong with the configuration was said before */
    struct error err = {0};
    if (text->failed)
        return cli_fail("'%s' is too long", path);
    if (options_has(cli->options, "dry-run"))
        return show_would(cli, adds ? "add notifier %s to %s" : "remove notifier %s from %s", name, path);
    if (edit_write(&cli->env, path, buf_view(text), &err) < 0)
        return cli_fail("%s", err.text);
    char words[RELOAD_WORDS];
    if (!cli->settings)
        (void)settings_quietly(cli, &problems);
    reload_words(cli, words);
    fprintf(stderr, "'%s' %s %s\n%c%s\n", name, adds ? "will be notified of built-in alerts: it was added to" : "was removed from",
            path, toupper((unsigned char)words[0]), words + 1);
    return EXIT_FINE;
}

/* ---- what was added, for whirr undo: "NAME PATH TIME" in the state directory ---- */

enum { ADDED_MAX = 64 * 1024 };

static bool added_file(char path[PLACE_SIZE + 24])
{
    char folder[PLACE_SIZE];
    if (place_state_find(folder, NULL) < 0 && place_state(folder, NULL) < 0)
        return false;
    snprintf(path, PLACE_SIZE + 24, "%s/added-notifiers", folder);
    return true;
}

void notify_added_each(void (*each)(void *user, const struct notify_added *a), void *user)
{
    char path[PLACE_SIZE + 24];
    AUTO_BUF struct buf text = BUF(ADDED_MAX);
    if (!added_file(path) || keep_read(path, &text, NULL) < 0)
        return;
    struct str rest = buf_view(&text), line, name, at;
    while (str_cut(&rest, '\n', &line)) {
        struct notify_added a = {0};
        AUTO_BUF struct buf config = BUF(EDIT_TEXT_MAX);
        char key[128];
        if (!str_cut(&line, ' ', &name) || !str_cut(&line, ' ', &at) || !str_to_i64(at, &a.at.ms))
            continue;
        str_copy(a.name, sizeof a.name, name);
        str_copy(a.path, sizeof a.path, line);
        snprintf(key, sizeof key, "notify.%s", a.name);
        if (edit_read(a.path, &config, NULL) == 0 && edit_has(&config, key))
            each(user, &a);
    }
}

static void copy_added(void *user, const struct notify_added *a)
{
    buf_printf(user, "%s %lld %s\n", a->name, (long long)a->at.ms, a->path);
}

/* That it can't be remembered is no reason to fail: it is in the configuration. */
static void note_added(const struct cli *cli, const char *name, const char *file)
{
    char path[PLACE_SIZE + 24];
    AUTO_BUF struct buf text = BUF(ADDED_MAX);
    if (!added_file(path))
        return;
    notify_added_each(copy_added, &text);
    buf_printf(&text, "%s %lld %s\n", name, (long long)clock_wall(cli->env.clock).ms, file);
    (void)keep_write(path, buf_view(&text), NULL);
}

static bool valid_name(const char *name)
{
    size_t len = strlen(name);
    for (size_t i = 0; i < len; i++)
        if (!isalnum((unsigned char)name[i]) && name[i] != '-' && name[i] != '_')
            return false;
    return len > 0 && len < 60;
}

/* EXIT_FINE, or prints why no file can be used. */
static int choose_file(const struct cli *cli, char path[PLACE_SIZE])
{
    const char *named = cli->ask.config;
    if (cli->ask.socket && !named)
        return cli_usage(cli, "the configuration of the daemon at %s is unknown here; name it with --config FILE", cli->ask.socket);
    if (!edit_place(named, path))
        return cli_usage(cli, "no place for a configuration: set HOME, or use --config FILE");
    return EXIT_FINE;
}

static int notify_add(struct cli *cli, const char *name, const char *type)
{
    AUTO_BUF struct buf text = BUF(EDIT_TEXT_MAX), table = BUF(64 * 1024);
    AUTO_FREE struct notify_settings *s = calloc(1, sizeof *s);
    const struct notify_needs *n = type ? notify_needs_of(type) : NULL;
    char path[PLACE_SIZE], key[128];
    struct error err = {0};
    struct config *config = NULL;
    if (!s)
        return cli_fail("out of memory");
    if (!n)
        return unknown_type(cli, type);
    if (!valid_name(name))
        return cli_usage(cli, "invalid name '%s'; expected letters, digits, - and _", name);
    if (choose_file(cli, path) != EXIT_FINE)
        return EXIT_USAGE;
    snprintf(key, sizeof key, "notify.%s", name);
    if (edit_read(path, &text, &err) < 0)
        return cli_fail("%s", err.text);
    if (edit_has(&text, key))
        return cli_fail("there is a [%s] in %s already; `whirr notify remove %s` removes it", key, path, name);
    take_options(cli, s);
    int status = complete(cli, n, s);
    if (status != EXIT_FINE)
        return status;
    notify_table(&table, name, type, s);
    if (notify_insert(&cli->env, &text, path, name, table.at ? table.at : "", &err) < 0 ||
        load_trial(&cli->env, path, buf_view(&text), &config, &err) < 0)
        return add_refuse(cli, &err);
    status = try_it(cli, config, name);
    config_free(config);
    if (status == EXIT_FINE)
        status = write_and_report(cli, path, &text, name, true);
    if (status == EXIT_FINE && !options_has(cli->options, "dry-run"))
        note_added(cli, name, path);
    return status;
}

int notify_remove(struct cli *cli, const char *name)
{
    AUTO_BUF struct buf text = BUF(EDIT_TEXT_MAX);
    char path[PLACE_SIZE], key[256];
    struct error err = {0};
    struct config *config = NULL;
    if (choose_file(cli, path) != EXIT_FINE)
        return EXIT_USAGE;
    snprintf(key, sizeof key, "notify.%.200s", name);
    if (edit_read(path, &text, &err) < 0 || load_trial(&cli->env, path, buf_view(&text), &config, &err) < 0)
        return cli_fail("%s: %s", path, err.text);
    int status = EXIT_FINE;
    for (size_t i = 0; i < config->alert_count && status == EXIT_FINE; i++)
        for (size_t k = 0; k < config->alert[i].notify.count; k++)
            if (strcmp(config->alert[i].notify.items[k], name) == 0)
                status = cli_fail("the alert '%s' notifies it: remove '%s' from its `notify` first", config->alert[i].name, name);
    if (status == EXIT_FINE && !edit_remove(&text, key))
        status = notify_unknown(config, name, path);
    if (status == EXIT_FINE)
        set_notified(&text, &config->alerts.notify, name, false);
    config_free(config);
    return status == EXIT_FINE ? write_and_report(cli, path, &text, name, false) : status;
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
