/* SPDX-License-Identifier: Apache-2.0
 * Rules from the table of findings and the configuration. Reports all mistakes at once, with their place.
 */
#include "alert/rule.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/toml.h"
#include "base/units.h"
#include "base/words.h"
#include "config/findings.h"
#include "model/finding_code.h"

/* ---- the place of a mistake inside a configured text: the file gives the place of the value, escapes shift the rest ---- */

static struct str skip(struct str s, size_t n)
{
    return (struct str){s.at + n, s.len - n};
}

/* Length in bytes of the first character or escape. */
static size_t one_character(struct str s, bool escapes)
{
    size_t n = str_utf8(s);
    if (!escapes || s.at[0] != '\\')
        return n ? n : 1;
    size_t len = s.len < 2 ? 1 : s.at[1] == 'u' ? 6 : s.at[1] == 'U' ? 10 : 2;
    return len < s.len ? len : s.len;
}

static bool find_line(struct str text, int line, struct str *ret)
{
    for (int i = 1; str_cut(&text, '\n', ret); i++)
        if (i == line)
            return true;
    return false;
}

/* Moves the origin of a text to its character `column` (from 1). Unchanged if the file can't be read again. */
static void place_inside_text(const struct env *env, struct config_origin *origin, int column)
{
    AUTO_BUF struct buf text = BUF(TOML_SIZE_MAX);
    struct str rest;
    /* Only the system file belongs to a recorded host. */
    struct env here = *env;
    if (origin->kind == CONFIG_FROM_FILE && strcmp(origin->where, CONFIG_SYSTEM_FILE) != 0)
        here.sysroot = "";
    if (origin->kind != CONFIG_FROM_FILE || !origin->line || file_read_all(&here, origin->where, &text) < 0 ||
        !find_line(buf_view(&text), origin->line, &rest))
        return;
    int at = 1;
    for (; at < origin->column && rest.len; at++)
        rest = skip(rest, one_character(rest, false));
    if (rest.len < 2 || (rest.at[0] != '"' && rest.at[0] != '\''))
        return;
    char quote = rest.at[0];
    if (rest.len >= 3 && rest.at[1] == quote && rest.at[2] == quote)
        return; /* spans several lines: its beginning is close enough */
    rest = skip(rest, 1);
    at++;
    for (int i = 1; i < column && rest.len && rest.at[0] != quote; i++) {
        size_t n = one_character(rest, quote == '"');
        for (struct str inside = {rest.at, n}; inside.len; at++)
            inside = skip(inside, one_character(inside, false));
        rest = skip(rest, n);
    }
    origin->column = at;
}

/* Alerts about whirr itself, which are not findings about GPUs. */
static const struct builtin {
    const char *name;
    enum severity severity;
    const char *when;
    int64_t hold_ms;
    const char *clear;
    int64_t clear_hold_ms;
    const char *summary, *help;
} builtins[] = {
    {"store_failing", SEVERITY_WARNING, "store_failing > 0", MINUTE_MS, "", 10 * MS_PER_S, "{{host}} can't write its history",
     "Writing the history has failed for a minute; samples are waiting in the queue"},
    {"store_full_soon", SEVERITY_INFO, "store_full_seconds > 0 and store_full_seconds < 1d", MINUTE_MS,
     "not known(store_full_seconds) or store_full_seconds > 2d", HOUR_MS,
     "The history of {{host}} will reach its size limit in {{store_full_seconds}}",
     "The history is forecast to reach store.max_size within a day; the oldest samples are deleted then"},
};
_Static_assert(ARRAY_LEN(builtins) + FINDING_CODE_COUNT + CONFIG_ENTRIES_MAX <= RULES_MAX, "too many rules");

/* A finding's alert ends when the finding was gone for twice its hold time, within these bounds. */
enum { CLEAR_MIN_MS = 10 * MS_PER_S, CLEAR_MAX_MS = 5 * 60 * MS_PER_S };

/* A rule that exists only if [[alert]] configures it: clients get every rise anyway, as high_gpu_usage_alert. */
#define HIGH_USAGE "high_gpu_usage"

struct reading_rules {
    const struct config *config;
    const struct env *env;
    struct config_problems *problems;
    struct alert_rules *rules;
    struct finding_settings findings;
    bool out_of_memory;
};

const struct alert_rule *alert_rules_find(const struct alert_rules *rules, const char *name)
{
    for (size_t i = 0; i < rules->count; i++)
        if (strcmp(rules->list[i].name, name) == 0)
            return &rules->list[i];
    return NULL;
}

/* Reports a mistake inside a configured text, with a caret. */
static void report(struct reading_rules *r, const struct config_origin *origin, const char *rule, const char *key, const char *text,
                   const struct expr_error *err)
{
    AUTO_BUF struct buf excerpt = BUF(sizeof r->problems->list[0].excerpt - 1);
    struct config_origin place = *origin;
    place_inside_text(r->env, &place, err->column);
    struct config_problem *p = problem_add(r->problems, false, &place, "%s of alert '%s': %s", key, rule, err->text);
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

/* Accepts what Prometheus and Alertmanager accept, except labels that every alert has anyway. */
static void check_label(struct reading_rules *r, const struct config_alert *a, const char *key)
{
    static const char *const own[] = {"alert",    "alertname", "severity", "gpu",     "gpu_index", "gpu_uuid",
                                      "gpu_name", "host",      "pid",      "process", "user"};
    const struct config_origin *origin = config_origin_of(&a->entry, "alert", "labels");
    bool fine = key[0] && !(key[0] >= '0' && key[0] <= '9');
    for (const char *c = key; *c; c++)
        fine &= (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') || *c == '_';
    if (!fine)
        problem_add(r->problems, false, origin, "the label '%.64s' of alert '%s' must be of letters, digits and _", key, a->name);
    if (NAME_IN(own, str_from(key)))
        problem_add(r->problems, false, origin, "alert '%s' already has a built-in label '%s': choose another name", a->name, key);
}

static void check_rule(struct reading_rules *r, const struct alert_rule *rule, const struct config_alert *a)
{
    struct expr_error err;
    if (rule->clear && expr_scope(rule->clear) > rule->scope)
        problem_add(r->problems, false, config_origin_of(&a->entry, "alert", "clear"),
                    "clear of alert '%s' is about a %s, but its condition is about a %s", rule->name,
                    scope_name(expr_scope(rule->clear)), scope_name(rule->scope));
    if (rule->summary && summary_check(str_from(rule->summary), rule->scope, &err))
        report(r, config_origin_of(&a->entry, "alert", "summary"), rule->name, "summary", rule->summary, &err);
    for (size_t i = 0; i < a->labels.count; i++)
        check_label(r, a, a->labels.pairs[i].key);
    if (a->labels.count > RULE_LABELS_MAX)
        problem_add(r->problems, false, config_origin_of(&a->entry, "alert", "labels"), "alert '%s' has more than %d labels",
                    rule->name, RULE_LABELS_MAX);
}

static bool is_set(const struct config_alert *a, const char *key)
{
    return config_origin_of(&a->entry, "alert", key)->kind != CONFIG_FROM_DEFAULT;
}

/* Configured settings override built-in ones and defaults. */
static void apply(struct reading_rules *r, struct alert_rule *rule, const struct config_alert *a)
{
    bool fresh = !rule->builtin;
    if (fresh || a->when[0]) {
        expr_free(rule->when);
        rule->when = read_condition(r, config_origin_of(&a->entry, "alert", "when"), a->name, "when", a->when);
        rule->scope = rule->when ? expr_scope(rule->when) : SCOPE_GPU;
    }
    /* The built-in end condition does not fit a new condition. */
    if (fresh || a->when[0] || is_set(a, "clear")) {
        expr_free(rule->clear);
        rule->clear = NULL;
        if (!fresh && !rule->when && a->clear[0])
            problem_add(r->problems, true, config_origin_of(&a->entry, "alert", "clear"),
                        "clear of alert '%s' is ignored: the alert ends with its finding; with a `when` it is a rule of your own",
                        a->name);
        else if (a->clear[0])
            rule->clear = read_condition(r, config_origin_of(&a->entry, "alert", "clear"), a->name, "clear", a->clear);
    }
    if (fresh || is_set(a, "for"))
        rule->hold_ms = a->hold_ms;
    if (fresh || is_set(a, "clear_for"))
        rule->clear_hold_ms = a->clear_hold_ms;
    if (fresh || is_set(a, "severity"))
        rule->severity = (enum severity)a->severity;
    if (fresh || is_set(a, "summary") || a->when[0]) {
        free(rule->summary);
        rule->summary = copy_text(r, a->summary);
    }
    if (fresh || is_set(a, "notify")) {
        rule->notify = a->notify;
        rule->notify_from = SEVERITY_INFO;
    }
    if (is_set(a, "enabled") || fresh)
        rule->enabled = a->enabled;
    rule->labels = a->labels;
    check_rule(r, rule, a);
}

static bool is_disabled(const struct config_alerts *settings, const char *name)
{
    for (size_t i = 0; i < settings->disabled.count; i++)
        if (strcmp(settings->disabled.items[i], name) == 0)
            return true;
    return false;
}

static struct alert_rule *add_rule(struct reading_rules *r, const char *name, const char *summary)
{
    const struct config_alerts *settings = &r->config->alerts;
    struct alert_rule *rule = &r->rules->list[r->rules->count++];
    *rule = (struct alert_rule){.builtin = true,
                                .enabled = settings->enabled && !is_disabled(settings, name),
                                .notify = settings->notify,
                                .notify_from = SEVERITY_WARNING,
                                .summary = copy_text(r, summary)};
    str_copy(rule->name, sizeof rule->name, str_from(name));
    return rule;
}

static void add_builtin(struct reading_rules *r, const struct builtin *b)
{
    struct alert_rule *rule = add_rule(r, b->name, b->summary);
    const struct config_origin *nowhere = &r->config->alerts.entry.at;
    rule->severity = b->severity;
    rule->hold_ms = b->hold_ms;
    rule->clear_hold_ms = b->clear_hold_ms;
    rule->help = b->help;
    rule->when = read_condition(r, nowhere, b->name, "when", b->when);
    rule->clear = b->clear[0] ? read_condition(r, nowhere, b->name, "clear", b->clear) : NULL;
    rule->scope = rule->when ? expr_scope(rule->when) : SCOPE_HOST;
}

/* Findings without a hold time describe normal work or idling and make no alerts. */
static void add_finding(struct reading_rules *r, finding_code code)
{
    const struct finding_kind *kind = finding_kind(code);
    enum severity severity = finding_severity(&r->findings, code);
    int64_t hold_ms = finding_hold_ms(&r->findings, code);
    if (severity == SEVERITY_INFO && kind->severity == SEVERITY_INFO && !hold_ms)
        return;
    struct alert_rule *rule = add_rule(r, kind->code, "");
    rule->finding = code;
    rule->severity = severity;
    rule->hold_ms = hold_ms;
    rule->clear_hold_ms = MIN_OF(MAX_OF(2 * hold_ms, (int64_t)CLEAR_MIN_MS), (int64_t)CLEAR_MAX_MS);
    rule->help = kind->title;
    rule->scope = kind->area == AREA_HOST ? SCOPE_HOST : SCOPE_GPU;
    rule->changed = r->findings.list[code].has_severity || r->findings.list[code].has_hold || r->findings.list[code].muted;
    rule->enabled &= !r->findings.list[code].muted;
    for (size_t i = 0; i < r->config->alerts.disabled.count; i++)
        rule->enabled &= !config_names_finding(r->config->alerts.disabled.items[i], code);
    for (size_t i = 0; i < r->config->finding_count; i++) {
        const struct config_finding *f = &r->config->finding[i];
        if (strcmp(f->entry.name, kind->code) != 0 || config_origin_of(&f->entry, "finding", "notify")->kind == CONFIG_FROM_DEFAULT)
            continue;
        rule->notify = f->notify;
        rule->notify_from = SEVERITY_INFO;
        rule->changed = true;
    }
}

/* An [[alert]] named after a finding's alert adjusts it, or replaces it if it has a condition. */
static bool change_findings(struct reading_rules *r, const struct config_alert *a)
{
    bool any = false;
    for (size_t i = 0; i < r->rules->count; i++) {
        struct alert_rule *rule = &r->rules->list[i];
        if (!rule->builtin || !rule_is_finding(rule) || !config_names_finding(a->name, rule->finding))
            continue;
        any = rule->changed = true;
        if (a->when[0])
            rule->enabled = false;
        else
            apply(r, rule, a);
    }
    return any && !a->when[0];
}

static void make_own(struct alert_rule *rule, const char *name)
{
    *rule = (struct alert_rule){.help = ""};
    str_copy(rule->name, sizeof rule->name, str_from(name));
}

static void add_own(struct reading_rules *r, const struct config_alert *a)
{
    char usage[64];
    struct config_alert with_condition = *a;
    if (change_findings(r, a))
        return;
    if (strcmp(a->name, HIGH_USAGE) == 0 && !a->when[0]) {
        snprintf(usage, sizeof usage, "utilization_percent > %.10g%%", r->config->alerts.high_usage_percent);
        with_condition.when = usage;
    }
    struct alert_rule *rule = (struct alert_rule *)alert_rules_find(r->rules, a->name);
    if (rule && rule_is_finding(rule)) {
        free(rule->summary); /* only the name of the finding remains */
        make_own(rule, a->name);
    } else if (rule) {
        rule->changed = true;
    } else if (!with_condition.when[0]) {
        problem_add(r->problems, false, &a->entry.at,
                    "alert.when is missing: the condition, like \"temperature_celsius > 85 and utilization_percent > 10\"");
        return;
    } else {
        rule = &r->rules->list[r->rules->count++];
        make_own(rule, a->name);
    }
    apply(r, rule, &with_condition);
}

static void check_disabled(struct reading_rules *r)
{
    const struct config_list *disabled = &r->config->alerts.disabled;
    for (size_t i = 0; i < disabled->count; i++) {
        struct nearest n;
        const char *old;
        nearest_init(&n, disabled->items[i]);
        nearest_try(&n, HIGH_USAGE);
        for (size_t k = 0; k < r->rules->count; k++)
            nearest_try(&n, r->rules->list[k].name);
        for (size_t k = 0; (old = config_old_alert(k)); k++)
            nearest_try(&n, old);
        const char *near = nearest_found(&n);
        if (!near || strcmp(near, disabled->items[i]) != 0)
            problem_add(r->problems, false, config_origin_of(&r->config->alerts.entry, "alerts", "disabled"),
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
    config_findings(config, &r.findings);
    for (size_t i = 0; i < FINDING_CODE_COUNT; i++)
        add_finding(&r, (finding_code)i);
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

/* ---- rules about findings ---- */

const struct alert_rule *alert_rules_of_finding(const struct alert_rules *rules, finding_code code)
{
    for (size_t i = 0; i < rules->count; i++)
        if (rule_is_finding(&rules->list[i]) && rules->list[i].finding == code)
            return &rules->list[i];
    return NULL;
}

bool rule_takes(const struct alert_rule *rule, const struct finding *f)
{
    return !f->muted && f->tense != TENSE_WAS && (f->severity > SEVERITY_INFO || rule->severity == SEVERITY_INFO);
}

/* A finding is only known to be absent if its inputs were read. */
static bool was_looked_for(finding_code code, const struct subject *s)
{
    enum finding_area area = finding_kind(code)->area;
    if (!s->gpu)
        return true;
    if (code == FINDING_LOST || code == FINDING_ERROR)
        return s->gpu->state == GPU_OK || s->gpu->state == GPU_ASLEEP;
    const struct gpu_looked *l = verdict_looked(s->snapshot->verdict, s->gpu->index);
    bool counted = area != AREA_IDLE && area != AREA_TRUST && area != AREA_HOST; /* these follow from other findings */
    return s->gpu->state == GPU_OK && l && (!counted || l->looked & 1u << area);
}

enum truth rule_holds(const struct alert_rule *rule, const struct subject *s)
{
    if (!rule_is_finding(rule))
        return expr_eval(rule->when, s);
    const struct verdict *v = s->snapshot->verdict;
    const struct finding *f = verdict_find(v, s->gpu ? s->gpu->index : -1, rule->finding);
    if (f && rule_takes(rule, f))
        return TRUTH_TRUE;
    return v && was_looked_for(rule->finding, s) ? TRUTH_FALSE : TRUTH_UNKNOWN;
}
