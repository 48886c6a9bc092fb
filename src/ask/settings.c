/* SPDX-License-Identifier: Apache-2.0
 * Loads the configuration for commands.
 */
#include "ask/settings.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "alert/notify/notify.h"
#include "alert/rule.h"
#include "base/json_writer.h"
#include "guard/spec.h"

/* What only those can judge who use it. */
static void judge(const struct cli *cli, const struct config *config, struct config_problems *problems)
{
    for (size_t i = 0; i < config->notify_count; i++) {
        const struct config_notify *n = &config->notify[i];
        struct error err = {0};
        if (notifier_check(n, &err) < 0)
            config_problem_add(problems, false, &n->entry.at, "notify.%s: %s", n->entry.name, err.text);
    }
    spec_check_config(config, problems);
    /* The built-in rules are known to be right; a quick command need not read them. */
    struct alert_rules *rules = NULL;
    if (config->alert_count || config->alerts.disabled.count)
        alert_rules_new(config, &cli->env, problems, &rules);
    alert_rules_free(rules);
}

int settings_read(const struct cli *cli, const struct config_flag *flags, size_t flag_count, struct config **ret,
                  struct config_problems *problems)
{
    const struct config_inputs inputs = {
        .env = &cli->env,
        .file = options_value(&cli->options, "config", NULL),
        .environment = (const char *const *)environ,
        .flags = flags,
        .flag_count = flag_count,
    };
    struct config *config = NULL;
    int rc = config_load(&inputs, &config, problems);
    if (rc == 0)
        judge(cli, config, problems);
    if (rc == 0 && problems->errors) {
        config_free(config);
        return -EINVAL;
    }
    if (rc == 0)
        *ret = config;
    return rc;
}

int settings_load(const struct cli *cli, const struct config_flag *flags, size_t flag_count, struct config **ret)
{
    struct config_problems problems;
    int rc = settings_read(cli, flags, flag_count, ret, &problems);
    for (size_t i = 0; i < problems.count; i++)
        fprintf(stderr, "whirr: %s: %s%s\n%s", problems.list[i].where, problems.list[i].warning ? "warning: " : "",
                problems.list[i].text, problems.list[i].excerpt);
    if (problems.left_out)
        fprintf(stderr, "whirr: and %zu more problems\n", problems.left_out);
    return rc == 0 ? EXIT_FINE : EXIT_FAILED;
}

void settings_problems_json(const struct config *config, const struct config_problems *problems, struct buf *out)
{
    struct json_writer j = JSON_WRITER_PRETTY(out);
    jw_object(&j);
    jw_key_bool(&j, "valid", problems->errors == 0);
    jw_key_array(&j, "files");
    for (size_t i = 0; config && i < config->file_count; i++)
        jw_text(&j, config->files[i]);
    jw_end(&j);
    jw_key_array(&j, "problems");
    for (size_t i = 0; i < problems->count; i++) {
        const struct config_problem *p = &problems->list[i];
        jw_object(&j);
        jw_key_text(&j, "severity", p->warning ? "warning" : "error");
        jw_key_text(&j, "where", p->where);
        jw_key_text(&j, "file", p->file[0] ? p->file : NULL);
        jw_key(&j, "line");
        if (p->line)
            jw_int(&j, p->line);
        else
            jw_null(&j);
        jw_key(&j, "column");
        if (p->line)
            jw_int(&j, p->column);
        else
            jw_null(&j);
        jw_key_text(&j, "message", p->text);
        jw_key_text(&j, "excerpt", p->excerpt[0] ? p->excerpt : NULL);
        jw_end(&j);
    }
    jw_end(&j);
    jw_end(&j);
    buf_char(out, '\n');
}

void settings_problems_text(const struct config_problems *problems, struct buf *out)
{
    for (size_t i = 0; i < problems->count; i++)
        buf_printf(out, "%s: %s: %s\n%s", problems->list[i].where, problems->list[i].warning ? "warning" : "error",
                   problems->list[i].text, problems->list[i].excerpt);
    if (problems->left_out)
        buf_printf(out, "and %zu more problems\n", problems->left_out);
}
