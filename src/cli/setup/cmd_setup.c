/* SPDX-License-Identifier: Apache-2.0
 * whirr setup: asks five questions, applies the answers, and can undo that.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/os/words.h"
#include "base/str.h"
#include "base/words.h"
#include "cli/command.h"
#include "cli/notify/notify.h"
#include "cli/notify/person.h"
#include "cli/programs.h"
#include "cli/setup/plan.h"
#include "config/edit.h"

enum { ANSWER_SIZE = 512, QUESTION_SIZE = 256, TRIES = 5 };

/* A person's answers as text, already checked. */
struct answers {
    char service[ANSWER_SIZE]; /* "system", "user", "no" */
    char price[ANSWER_SIZE];   /* "0.30 EUR"; "": none */
    char access[ANSWER_SIZE];  /* "host", "network" */
    char guard[ANSWER_SIZE];   /* "ollama", "ollama=URL,..."; "none" */
    char notify[ANSWER_SIZE];  /* "none", "desktop", "ntfy=URL" */
    struct notify_settings settings;
};

/* ---- checking answers ---- */

static const struct setup_kinds *setup_kinds(void)
{
    return geteuid() == 0 ? &setup_service.of_root : &setup_service.of_user;
}

static bool good_service(const char *text, struct error *err)
{
    const struct setup_kinds *kinds = setup_kinds();
    for (size_t i = 0; i < ARRAY_LEN(kinds->names) && kinds->names[i]; i++)
        if (strcmp(text, kinds->names[i]) == 0)
            return true;
    if (strcmp(text, "system") == 0)
        error_set(err, -EINVAL, "%s", setup_service.needs_root);
    else
        error_set(err, -EINVAL, "expected %s", kinds->expected);
    return false;
}

static bool split_price(const char *text, double *price, char currency[CURRENCY_SIZE])
{
    currency[0] = '\0';
    return !str_trim(str_from(text)).len || (price_parse(str_from(text), price, currency) && *price <= 1e6);
}

static bool good_price(const char *text, struct error *err)
{
    double price = 0;
    char currency[CURRENCY_SIZE];
    if (split_price(text, &price, currency))
        return true;
    error_set(err, -EINVAL, "expected a price like 0.30 or 0.30 EUR");
    return false;
}

static bool good_access(const char *text, struct error *err)
{
    if (strcmp(text, "host") == 0 || strcmp(text, "network") == 0)
        return true;
    error_set(err, -EINVAL, "expected host or network");
    return false;
}

static bool good_guard(const char *text, struct error *err)
{
    struct str rest = str_from(text), one, method;
    if (!text[0] || strcmp(text, "none") == 0)
        return true;
    if (!WORDS_HAVE_GUARD) {
        error_set(err, -EINVAL, "whirr takes no workers off GPUs on this system yet");
        return false;
    }
    while (str_cut(&rest, ',', &one)) {
        struct str whole = str_trim(one);
        str_cut(&whole, '=', &method);
        bool http = !whole.len || str_starts(whole, "http://") || str_starts(whole, "https://");
        if (programs_server_url(str_trim(method)) && http)
            continue;
        error_set(err, -EINVAL, "'" STR_FMT "' is not one of ollama, llamacpp, vllm, sglang, comfyui, lmstudio, webui, or NAME=URL",
                  STR_ARG(str_trim(one)));
        return false;
    }
    return true;
}

static bool good_notify(const char *text, struct error *err)
{
    char type[64];
    str_copy(type, sizeof type, (struct str){text, strcspn(text, "=")});
    if (!text[0] || strcmp(text, "none") == 0 || notify_needs_of(type))
        return true;
    error_set(err, -EINVAL,
              "expected none, desktop, ntfy, telegram, gotify, pushover, matrix, email, mqtt, slack, discord or webhook");
    return false;
}

/* ---- the questions ---- */

struct question {
    const char *option, *text;
    bool (*good)(const char *text, struct error *err);
    size_t at; /* offset in struct answers */
};

static const struct question questions[] = {
    {"service", NULL, good_service, offsetof(struct answers, service)},
    {"price", "Price of a kilowatt-hour, like 0.30 EUR (empty: show no costs)", good_price, offsetof(struct answers, price)},
    {"access", "Who may look? (host: this host only, network: any client with a token)", good_access,
     offsetof(struct answers, access)},
    {"guard", "Model servers to guard, so that they make room for others (none, or like ollama,comfyui)", good_guard,
     offsetof(struct answers, guard)},
    {"notify", "Where to notify of alerts? (none, desktop, ntfy, telegram, email, mqtt, ...)", good_notify,
     offsetof(struct answers, notify)},
};

/* Takes the answer from an option, the person, or the default; EXIT_FINE, or the exit status. */
static int setup_answer(struct cli *cli, const struct question *q, int number, bool ask, struct answers *a)
{
    char *to = (char *)a + q->at;
    struct error err = {0};
    const char *given = options_value(cli->options, q->option, NULL);
    if (given) {
        str_copy(to, ANSWER_SIZE, str_from(given));
        return q->good(to, &err) ? EXIT_FINE : cli_usage(cli, "invalid value '%s' for --%s; %s", given, q->option, err.text);
    }
    char fallback[ANSWER_SIZE];
    str_copy(fallback, sizeof fallback, str_from(to));
    const char *text = q->text ? q->text : setup_kinds()->question;
    char numbered[QUESTION_SIZE];
    snprintf(numbered, sizeof numbered, "%d/%d  %s", number, WORDS_HAVE_GUARD ? 5 : 4, text);
    for (int i = 0; ask && i < TRIES; i++) {
        if (!person_line(numbered, fallback, to, ANSWER_SIZE))
            return cli_fail("nothing was changed");
        if (q->good(to, &err))
            return EXIT_FINE;
        fprintf(stderr, "     %s\n", err.text);
    }
    return ask ? cli_fail("nothing was changed") : EXIT_FINE;
}

/* Asks for one more detail. A typo in an address must not lose the other answers. */
static bool ask_more(const char *wanted, bool secret, bool url, char *to, size_t size)
{
    char question[256];
    snprintf(question, sizeof question, "     %s", wanted);
    for (int i = 0; i < TRIES; i++) {
        if (!(secret ? person_secret(question, to, size) : person_line(question, "", to, size)))
            return false;
        if (!url || strstr(to, "://"))
            return true;
        fprintf(stderr, "     expected a URL with its scheme, like https://\n");
    }
    return false;
}

/* Asks for what the chosen notifier needs besides its type. */
static int complete_notify(struct cli *cli, bool ask, struct answers *a)
{
    char *url = strchr(a->notify, '=');
    if (url) {
        str_copy(a->settings.url, sizeof a->settings.url, str_from(url + 1));
        *url = '\0';
    }
    const struct notify_needs *n = strcmp(a->notify, "none") == 0 || !a->notify[0] ? NULL : notify_needs_of(a->notify);
    if (!n)
        return EXIT_FINE;
    const char *const wanted[] = {a->settings.url[0] ? NULL : n->url, n->to, n->token, n->user};
    char *const places[] = {a->settings.url, a->settings.to[0], a->settings.token, a->settings.user};
    const size_t sizes[] = {sizeof a->settings.url, sizeof a->settings.to[0], sizeof a->settings.token, sizeof a->settings.user};
    for (size_t i = 0; i < ARRAY_LEN(wanted); i++) {
        if (!wanted[i] || (!ask && i == 3))
            continue;
        if (!ask)
            return cli_usage(cli, "a notifier of type %s needs more than setup can take here; use: whirr notify add NAME %s",
                             n->type, n->type);
        if (!ask_more(wanted[i], i == 2, i == 0, places[i], sizes[i]))
            return cli_fail("nothing was changed");
    }
    if (a->settings.user[0] && !person_secret("     Password", a->settings.password, sizeof a->settings.password))
        return cli_fail("nothing was changed");
    a->settings.to_count = a->settings.to[0][0] != '\0';
    return EXIT_FINE;
}

static int ask_all(struct cli *cli, bool ask, struct answers *a)
{
    AUTO_BUF struct buf found = BUF(ANSWER_SIZE);
    str_copy(a->service, sizeof a->service, str_from(setup_kinds()->names[0]));
    str_copy(a->access, sizeof a->access, STR("host"));
    str_copy(a->notify, sizeof a->notify, STR("none"));
    if (ask && WORDS_HAVE_GUARD && !options_has(cli->options, "guard"))
        programs_find_servers(&cli->env, &found);
    str_copy(a->guard, sizeof a->guard, str_from(found.len ? found.at : "none"));
    if (ask && found.len)
        fprintf(stderr, "Found on this host: %s\n", found.at);
    for (size_t i = 0, number = 0; i < ARRAY_LEN(questions); i++) {
        bool asked = WORDS_HAVE_GUARD || questions[i].good != good_guard;
        number += asked;
        int status = setup_answer(cli, &questions[i], (int)number, ask && asked, a);
        if (status != EXIT_FINE)
            return status;
    }
    return complete_notify(cli, ask, a);
}

/* ---- from answers to a plan ---- */

static void set_price(struct buf *text, const struct answers *a)
{
    double price = 0;
    char currency[16], number[32];
    AUTO_BUF struct buf quoted = BUF(64);
    if (!a->price[0] || !split_price(a->price, &price, currency))
        return;
    if (currency[0]) {
        edit_quote(&quoted, currency);
        edit_set(text, "energy", "currency", quoted.at ? quoted.at : "\"EUR\"");
    }
    snprintf(number, sizeof number, "%.6g", price);
    edit_set(text, "energy", "price_per_kwh", strpbrk(number, ".e") ? number : strcat(number, ".0"));
}

static void set_guard(struct buf *text, const struct answers *a)
{
    struct str rest = str_from(strcmp(a->guard, "none") == 0 ? "" : a->guard), one, method;
    while (str_cut(&rest, ',', &one)) {
        struct str url = str_trim(one);
        char key[96], address[ANSWER_SIZE];
        str_cut(&url, '=', &method);
        method = str_trim(method);
        const char *usual = programs_server_url(method);
        if (!usual)
            continue;
        snprintf(key, sizeof key, "guard.worker." STR_FMT, STR_ARG(method));
        if (edit_has(text, key))
            continue; /* configured by a person already */
        str_copy(address, sizeof address, url.len ? url : str_from(usual));
        AUTO_BUF struct buf table = BUF(2048);
        buf_printf(&table, "[%s]\nmethods = [\"" STR_FMT "\"]\nurl = ", key, STR_ARG(method));
        edit_quote(&table, address);
        buf_char(&table, '\n');
        edit_append(text, table.at ? table.at : "");
    }
}

static int set_notify(const struct env *env, struct buf *text, const char *path, const struct answers *a, struct error *err)
{
    AUTO_BUF struct buf table = BUF(8192);
    char key[96];
    snprintf(key, sizeof key, "notify.%.60s", a->notify);
    if (!a->notify[0] || strcmp(a->notify, "none") == 0 || edit_has(text, key))
        return 0;
    notify_table(&table, a->notify, a->notify, &a->settings);
    return notify_insert(env, text, path, a->notify, table.at ? table.at : "", err);
}

static int make_plan(struct cli *cli, const struct answers *a, struct plan *p, struct error *err)
{
    AUTO_BUF struct buf text = BUF(EDIT_TEXT_MAX);
    char path[PLACE_SIZE];
    if (!edit_place(options_value(cli->options, "config", NULL), path))
        return error_set(err, -ENOENT, "no place for a configuration: set HOME, or use --config FILE");
    int rc = edit_read(path, &text, err);
    if (rc < 0)
        return rc;
    set_price(&text, a);
    bool network = strcmp(a->access, "network") == 0;
    if (network)
        edit_set(&text, "server", "listen", "[\"0.0.0.0:9447\"]");
    set_guard(&text, a);
    rc = set_notify(&cli->env, &text, path, a, err);
    if (rc == 0)
        rc = buf_check(&text, err, "'%s' is too long", path);
    if (rc == 0)
        rc = plan_add_file(p, path, buf_view(&text), true, err);
    if (rc == 0 && network)
        plan_add_command(p, (const char *const[]){"whirr", "token", "new", "setup", NULL},
                         (const char *const[]){"whirr", "token", "remove", "setup", NULL});
    return rc < 0 ? rc : setup_service.add(p, a->service, err);
}

/* ---- the command ---- */

static int undo(struct cli *cli, bool sure, bool dry_run)
{
    AUTO_BUF struct buf out = BUF(64 * 1024);
    struct error err = {0};
    if (!sure && !dry_run && !person_is_there())
        return cli_usage(cli, "there is no terminal to ask at; --yes undoes it without a question");
    if (!sure && !dry_run && !person_agrees("Take back what `whirr setup` did?", true))
        return cli_fail("nothing was changed");
    int rc = plan_undo(&cli->env, dry_run, &out, &err);
    if (rc == 0 && !dry_run && setup_service.undone)
        setup_service.undone(&out);
    int status = show_text(&out);
    if (rc < 0)
        return cli_fail("%s", err.text);
    return str_contains(buf_view(&out), "failed  ") ? EXIT_FAILED : status;
}

static int show_plan(const struct cli *cli, const struct plan *p, bool done)
{
    AUTO_BUF struct buf out = BUF(EDIT_TEXT_MAX);
    if (cli->json)
        plan_json(p, done, &out);
    else
        plan_show(p, &out);
    return show_text(&out);
}

static int carry_out(struct cli *cli, const struct plan *p, bool sure)
{
    struct error err = {0};
    if (!cli->json)
        show_plan(cli, p, false);
    if (options_has(cli->options, "dry-run") || plan_is_empty(p))
        return cli->json ? show_plan(cli, p, false) : EXIT_FINE;
    fflush(stdout);
    if (!sure && !person_agrees("Do it?", true))
        return cli_fail("nothing was changed");
    if (plan_do(&cli->env, p, &err) < 0)
        return cli_fail("%s\nTo take back what was done so far: whirr setup --undo", err.text);
    if (cli->json)
        return show_plan(cli, p, true);
    AUTO_BUF struct buf said = BUF(8192);
    if (setup_service.done)
        setup_service.done(p, &said);
    fprintf(stderr, "%sDone. To take it back: whirr setup --undo\n", said.at ? said.at : "");
    return EXIT_FINE;
}

static int setup_run(struct cli *cli)
{
    bool yes = options_has(cli->options, "yes"), defaults = options_has(cli->options, "defaults"), there = person_is_there();
    bool dry = options_has(cli->options, "dry-run");
    if (options_has(cli->options, "undo"))
        return undo(cli, yes, options_has(cli->options, "dry-run"));
    if (!there && !yes && !defaults && !dry)
        return cli_usage(cli,
                         "there is no terminal to ask at; --defaults takes the usual answers, options like --service give others");
    AUTO_FREE struct answers *a = calloc(1, sizeof *a);
    AUTO_FREE struct plan *p = calloc(1, sizeof *p);
    struct error err = {0};
    if (!a || !p)
        return cli_fail("out of memory");
    int status = ask_all(cli, there && !defaults, a);
    if (status != EXIT_FINE)
        return status;
    if (make_plan(cli, a, p, &err) < 0)
        status = cli_fail("%s", err.text);
    else
        status = carry_out(cli, p, yes || !there);
    plan_done(p);
    return status;
}

static const struct option_spec options[] = {
    {.name = "defaults", .help = "Ask nothing: a service for this host only, without guarding or notifications"},
    {.name = "yes", .letter = 'y', .help = "Do it without asking for confirmation"},
    {.name = "dry-run", .help = "Show the files and commands, and do nothing"},
    {.name = "undo", .help = "Take back what setup did"},
    {.name = "service", .argument = "KIND", .help = WORD_SERVICE_KINDS},
    {.name = "price", .argument = "PRICE", .help = "Of a kilowatt-hour, like \"0.30 EUR\""},
    {.name = "access", .argument = "WHO", .help = "host, or network (with a token)"},
    {.name = "guard", .argument = "SERVERS", .help = "like ollama,comfyui or vllm=http://127.0.0.1:9000"},
    {.name = "notify",
     .argument = "TYPE",
     .complete = COMPLETE_NOTIFIER_TYPE,
     .help = "desktop, or with an address: ntfy=https://ntfy.sh/my-topic"},
};

const struct command command_setup = {
    .alone = true,
    .exits = "0 fine; 1 it failed, or you said no; 2 wrong usage.",
    .name = "setup",
    .group = HELP_SETUP,
    .summary = "Set whirr up with five questions",
    .details =
        "Asks whether to run as a service, what power costs, who may look, which model servers to guard and where to notify; "
        "shows the files and commands that follow; then does it. Questions that an option answers are not asked. Without a "
        "terminal "
        "nothing is asked: --defaults or --yes is needed, and options give other answers. An existing configuration keeps "
        "everything else. --undo restores files that were not changed since, and reverts its commands.",
    OPTIONS(options),
    .examples = {{"whirr setup", "five questions, then what will be done"},
                 {"whirr setup --defaults --dry-run", "show what would be done without questions"},
                 {"whirr setup --undo", "take it back"}},
    .lacks = "gpu",
    .run = setup_run,
};
