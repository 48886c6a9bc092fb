/* SPDX-License-Identifier: Apache-2.0
 * Loads the configuration for commands.
 */
#include "ask/settings.h"

#include <errno.h>
#include <stdio.h>

#include "alert/notify/notify.h"
#include "alert/rule.h"
#include "answer/answer.h"
#include "base/cleanup.h"
#include "guard/spec.h"

enum { FLAGS_MAX = 32 };

/* Checks that only the users of a setting can do. */
static void settings_judge(const struct cli *cli, const struct config *config, bool check, struct config_problems *problems)
{
    for (size_t i = 0; i < config->notify_count; i++) {
        const struct config_notify *n = &config->notify[i];
        struct error err = {0};
        if (notifier_check(n, &err) < 0)
            problem_add(problems, false, &n->entry.at, "notify.%s: %s", n->entry.name, err.text);
    }
    spec_check_config(config, !check, problems);
    /* The built-in rules are known to be valid; a quick command can skip them. */
    struct alert_rules *rules = NULL;
    if (config->alert_count || config->alerts.disabled.count)
        alert_rules_new(config, &cli->env, problems, &rules);
    alert_rules_free(rules);
}

static int load_settings(const struct cli *cli, const struct config_flag *flags, size_t flag_count, bool forgiving,
                         struct config **ret, struct config_problems *problems)
{
    struct config_flag all[FLAGS_MAX];
    size_t count = MIN_OF(flag_count, (size_t)FLAGS_MAX - 1);
    for (size_t i = 0; i < count; i++)
        all[i] = flags[i];
    if (cli->ask.socket)
        all[count++] = (struct config_flag){"server.socket", cli->ask.socket, "--socket"};
    const struct config_inputs inputs = {
        .env = &cli->env,
        .file = cli->ask.config,
        .environment = env_variables(),
        .flags = all,
        .flag_count = count,
        .forgiving = forgiving,
    };
    int rc = config_load(&inputs, ret, problems);
    if (rc == 0)
        env_give_host_name((*ret)->server.host_name);
    return rc;
}

static int read_all(const struct cli *cli, const struct config_flag *flags, size_t flag_count, bool check, struct config **ret,
                    struct config_problems *problems)
{
    struct config *config = NULL;
    int rc = load_settings(cli, flags, flag_count, false, &config, problems);
    if (rc == 0)
        settings_judge(cli, config, check, problems);
    if (rc == 0 && problems->errors) {
        config_free(config);
        return -EINVAL;
    }
    if (rc == 0)
        *ret = config;
    return rc;
}

int settings_read(const struct cli *cli, const struct config_flag *flags, size_t flag_count, struct config **ret,
                  struct config_problems *problems)
{
    return read_all(cli, flags, flag_count, false, ret, problems);
}

int settings_check(const struct cli *cli, struct config **ret, struct config_problems *problems)
{
    return read_all(cli, NULL, 0, true, ret, problems);
}

static void say_problems(const struct config_problems *problems, bool warnings, bool all_are_warnings)
{
    for (size_t i = 0; i < problems->count; i++) {
        const struct config_problem *p = &problems->list[i];
        if (!p->warning || warnings || p->unread)
            fprintf(stderr, "whirr: %s: %s%s\n%s", p->where, p->warning || all_are_warnings ? "warning: " : "", p->text,
                    p->excerpt);
    }
    if (problems->left_out)
        fprintf(stderr, "whirr: and %zu more problems\n", problems->left_out);
}

int settings_quietly(struct cli *cli, struct config_problems *problems)
{
    int rc = load_settings(cli, NULL, 0, true, &cli->settings, problems);
    if (rc == 0)
        env_use_nvapi(&cli->env, cli->settings->sampling.nvidia_api);
    return rc;
}

int settings_open(struct cli *cli)
{
    static struct config_problems problems; /* large */
    int rc = settings_quietly(cli, &problems);
    say_problems(&problems, false, rc == 0);
    return rc == 0 ? EXIT_FINE : rc == -ENOMEM ? EXIT_FAILED : EXIT_USAGE;
}

int settings_load(const struct cli *cli, const struct config_flag *flags, size_t flag_count, struct config **ret)
{
    static struct config_problems problems; /* large */
    int rc = settings_read(cli, flags, flag_count, ret, &problems);
    say_problems(&problems, true, false);
    return rc == 0 ? EXIT_FINE : rc == -ENOMEM ? EXIT_FAILED : EXIT_USAGE;
}

ANSWER_MAKER(problem_severity, struct config_problem, word, of->warning ? "warning" : "error");

ANSWER_TABLE(problem_answer, struct config_problem)
{
    MADE(WORD, "severity", problem_severity, NULL);
    FIELD(TEXT, "where", where, NULL);
    FIELD(TEXT, "file", file, NULL, OR_NULL);
    FIELD(INT, "line", line, NULL, OR_NULL);
    FIELD(INT, "column", column, NULL, PRESENT(line));
    FIELD(TEXT, "message", text, NULL);
    FIELD(TEXT, "excerpt", excerpt, NULL, OR_NULL);
}

struct told_problems {
    bool valid;
    const char *const *files;
    size_t file_count, count;
    const struct config_problem *list;
};

ANSWER_TABLE(problems_answer, struct told_problems)
{
    FIELD(BOOL, "valid", valid, NULL);
    TEXTS(WORD, "files", files, file_count, NULL);
    OBJECTS("problems", list, count, problem_answer, NULL);
}

void settings_problems_json(const struct config *config, const struct config_problems *problems, struct buf *out)
{
    answer_write(JSON_PAGE(out), &problems_answer,
                 &(struct told_problems){problems->errors == 0, config ? config->files : NULL, config ? config->file_count : 0,
                                         problems->count, problems->list},
                 NULL);
}

void settings_problems_text(const struct config_problems *problems, struct buf *out)
{
    for (size_t i = 0; i < problems->count; i++)
        buf_printf(out, "%s: %s: %s\n%s", problems->list[i].where, problems->list[i].warning ? "warning" : "error",
                   problems->list[i].text, problems->list[i].excerpt);
    if (problems->left_out)
        buf_printf(out, "and %zu more problems\n", problems->left_out);
}
