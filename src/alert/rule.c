/* SPDX-License-Identifier: Apache-2.0
 * Rules from rules.def and the configuration. Everything that is wrong is told at once, with its place.
 */
#include "alert/rule.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "alert/high_usage.h"
#include "base/cleanup.h"
#include "base/words.h"

static const struct builtin {
    const char *name;
    enum config_severity severity;
    const char *when;
    int64_t hold_ms;
    const char *clear;
    int64_t clear_hold_ms;
    const char *summary, *help;
} builtins[] = {
#define ALERT_RULE(name, severity, when, hold_ms, clear, clear_hold_ms, summary, help) \
    {#name, CONFIG_SEVERITY_##severity, when, hold_ms, clear, clear_hold_ms, summary, help},
#include "alert/rules.def"
#undef ALERT_RULE
};
_Static_assert(ARRAY_LEN(builtins) + CONFIG_ENTRIES_MAX <= RULES_MAX, "more rules than room");

struct reading_rules {
    const struct config *config;
    const struct env *env;
    struct config_problems *problems;
    struct alert_rules *rules;
    bool out_of_memory;
};

const char *severity_name(enum config_severity severity)
{
    static const char *const names[] = {"info", "warning", "critical"};
    return names[severity];
}

const struct alert_rule *alert_rules_find(const struct alert_rules *rules, const char *name)
{
    for (size_t i = 0; i < rules->count; i++)
        if (strcmp(rules->list[i].name, name) == 0)
            return &rules->list[i];
    return NULL;
}

/* A mistake inside a text of the configuration, shown with a caret. */
static void report(struct reading_rules *r, const struct config_origin *origin, const char *rule, const char *key, const char *text,
                   const struct expr_error *err)
{
    AUTO_BUF struct buf excerpt = BUF(sizeof r->problems->list[0].excerpt - 1);
    struct config_origin place = *origin;
    place_inside_text(r->env, &place, err->column);
    struct config_problem *p = config_problem_add(r->problems, false, &place, "%s of alert '%s': %s", key, rule, err->text);
    expr_caret(&excerpt, str_from(text), err, 4);
    if (p && !excerpt.failed)
        str_copy(p->excerpt, sizeof p->excerpt, buf_view(&excerpt));
}

static struct expr *read_condition(struct reading_rules *r, const struct config_origin *origin, const char *rule, const char *key,
                                   const char *text)
{
    struct expr *e = NULL;
    struct expr_error err;
    int result = expr_parse(str_from(text), &e, &err);
    if (result == -ENOMEM)
        r->out_of_memory = true;
    else if (result)
        report(r, origin, rule, key, text, &err);
    return e;
}

static char *copy_text(struct reading_rules *r, const char *text)
{
    char *copy = strdup(text);
    r->out_of_memory |= !copy;
    return copy;
}

/* As Prometheus and Alertmanager take them, and none that every alert has anyway. */
static void check_label(struct reading_rules *r, const struct config_alert *a, const char *key)
{
    static const char *const own[] = {"alert",    "alertname", "severity", "gpu",     "gpu_index", "gpu_uuid",
                                      "gpu_name", "host",      "pid",      "process", "user"};
    const struct config_origin *origin = config_origin_of(&a->entry, "alert", "labels");
    bool fine = key[0] && !(key[0] >= '0' && key[0] <= '9');
    for (const char *c = key; *c; c++)
        fine &= (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') || *c == '_';
    if (!fine)
        config_problem_add(r->problems, false, origin, "the label '%.64s' of alert '%s' must be of letters, digits and _", key,
                           a->name);
    for (size_t i = 0; i < ARRAY_LEN(own); i++)
        if (strcmp(key, own[i]) == 0)
            config_problem_add(r->problems, false, origin, "alert '%s' already has a built-in label '%s': choose another name",
                               a->name, key);
}

static void check_rule(struct reading_rules *r, const struct alert_rule *rule, const struct config_alert *a)
{
    struct expr_error err;
    if (!rule->when)
        return;
    if (rule->clear && expr_scope(rule->clear) > rule->scope)
        config_problem_add(r->problems, false, config_origin_of(&a->entry, "alert", "clear"),
                           "clear of alert '%s' is about a %s, but its condition is about a %s", rule->name,
                           scope_name(expr_scope(rule->clear)), scope_name(rule->scope));
    if (rule->summary && summary_check(str_from(rule->summary), rule->scope, &err))
        report(r, config_origin_of(&a->entry, "alert", "summary"), rule->name, "summary", rule->summary, &err);
    for (size_t i = 0; i < a->labels.count; i++)
        check_label(r, a, a->labels.pairs[i].key);
    if (a->labels.count > RULE_LABELS_MAX)
        config_problem_add(r->problems, false, config_origin_of(&a->entry, "alert", "labels"), "alert '%s' has more than %d labels",
                           rule->name, RULE_LABELS_MAX);
}

static bool is_set(const struct config_alert *a, const char *key)
{
    return config_origin_of(&a->entry, "alert", key)->kind != CONFIG_FROM_DEFAULT;
}

/* What is set replaces what was there before, be it built in or a default. */
static void apply(struct reading_rules *r, struct alert_rule *rule, const struct config_alert *a)
{
    bool fresh = !rule->builtin;
    if (fresh || is_set(a, "when")) {
        expr_free(rule->when);
        rule->when = read_condition(r, config_origin_of(&a->entry, "alert", "when"), a->name, "when", a->when);
        rule->scope = rule->when ? expr_scope(rule->when) : SCOPE_GPU;
    }
    /* Another condition does not fit the built-in one that ends it. */
    if (fresh || is_set(a, "when") || is_set(a, "clear")) {
        expr_free(TAKE(rule->clear));
        if (a->clear[0])
            rule->clear = read_condition(r, config_origin_of(&a->entry, "alert", "clear"), a->name, "clear", a->clear);
    }
    if (fresh || is_set(a, "for"))
        rule->hold_ms = a->hold_ms;
    if (fresh || is_set(a, "clear_for"))
        rule->clear_hold_ms = a->clear_hold_ms;
    if (fresh || is_set(a, "severity"))
        rule->severity = (enum config_severity)a->severity;
    if (fresh || is_set(a, "summary") || is_set(a, "when")) {
        free(rule->summary);
        rule->summary = copy_text(r, a->summary);
    }
    if (fresh || is_set(a, "notify"))
        rule->notify = a->notify;
    if (is_set(a, "enabled") || fresh)
        rule->enabled = a->enabled;
    rule->labels = a->labels;
    check_rule(r, rule, a);
}

static void add_builtin(struct reading_rules *r, const struct builtin *b)
{
    const struct config_alerts *settings = &r->config->alerts;
    struct alert_rule *rule = &r->rules->list[r->rules->count++];
    char usage[HIGH_USAGE_TEXT_SIZE];
    const char *when = b->when;
    *rule = (struct alert_rule){.builtin = true,
                                .enabled = settings->enabled,
                                .severity = b->severity,
                                .hold_ms = b->hold_ms,
                                .clear_hold_ms = b->clear_hold_ms,
                                .help = b->help,
                                .notify = settings->notify};
    str_copy(rule->name, sizeof rule->name, str_from(b->name));
    if (strcmp(b->name, "high_gpu_usage") == 0) {
        high_usage_condition(settings->high_usage_percent, usage);
        when = usage;
        rule->every_rise = true;
        rule->notify = (struct config_list){0}; /* every rise: only who asks for it by name is told */
    }
    for (size_t i = 0; i < settings->disabled.count; i++)
        if (strcmp(settings->disabled.items[i], b->name) == 0)
            rule->enabled = false;
    const struct config_origin *nowhere = &settings->entry.at;
    rule->when = read_condition(r, nowhere, b->name, "when", when);
    rule->clear = b->clear[0] ? read_condition(r, nowhere, b->name, "clear", b->clear) : NULL;
    rule->scope = rule->when ? expr_scope(rule->when) : SCOPE_GPU;
    rule->summary = copy_text(r, b->summary);
}

static void add_own(struct reading_rules *r, const struct config_alert *a)
{
    struct alert_rule *rule = (struct alert_rule *)alert_rules_find(r->rules, a->name);
    if (rule) {
        rule->changed = true;
    } else if (!a->when[0]) {
        config_problem_add(r->problems, false, &a->entry.at,
                           "alert.when is missing: the condition, like \"temperature_celsius > 85 and utilization_percent > 10\"");
        return;
    } else {
        rule = &r->rules->list[r->rules->count++];
        *rule = (struct alert_rule){.help = ""};
        str_copy(rule->name, sizeof rule->name, str_from(a->name));
    }
    apply(r, rule, a);
}

static void check_disabled(struct reading_rules *r)
{
    const struct config_list *disabled = &r->config->alerts.disabled;
    for (size_t i = 0; i < disabled->count; i++) {
        struct nearest n;
        nearest_init(&n, disabled->items[i]);
        for (size_t k = 0; k < ARRAY_LEN(builtins); k++)
            nearest_try(&n, builtins[k].name);
        const char *near = nearest_found(&n);
        if (!near || strcmp(near, disabled->items[i]) != 0)
            config_problem_add(r->problems, false, config_origin_of(&r->config->alerts.entry, "alerts", "disabled"),
                               "there is no built-in alert '%.64s'%s%s%s", disabled->items[i], near ? ", did you mean '" : "",
                               near ? near : "", near ? "'?" : "; `whirr alert rules` lists them");
    }
}

int alert_rules_new(const struct config *config, const struct env *env, struct config_problems *problems, struct alert_rules **ret)
{
    struct reading_rules r = {.config = config, .env = env, .problems = problems, .rules = calloc(1, sizeof *r.rules)};
    size_t errors = problems->errors;
    if (!r.rules)
        return -ENOMEM;
    for (size_t i = 0; i < ARRAY_LEN(builtins); i++)
        add_builtin(&r, &builtins[i]);
    check_disabled(&r);
    for (size_t i = 0; i < config->alert_count; i++)
        add_own(&r, &config->alert[i]);
    if (!r.out_of_memory && problems->errors == errors) {
        *ret = r.rules;
        return 0;
    }
    alert_rules_free(r.rules);
    return r.out_of_memory ? -ENOMEM : -EINVAL;
}

void alert_rules_free(struct alert_rules *rules)
{
    if (!rules)
        return;
    for (size_t i = 0; i < rules->count; i++) {
        expr_free(rules->list[i].when);
        expr_free(rules->list[i].clear);
        free(rules->list[i].summary);
    }
    free(rules);
}
