/* SPDX-License-Identifier: Apache-2.0
 * Alerts, their rules and silences: the answers of the API, and series.
 */
#include "format/alert_forms.h"

#include <stdio.h>
#include <string.h>

#include "format/json/json.h"
#include "format/prometheus/prometheus.h"

ANSWER_NAMES(phases, enum alert_phase, alert_phase_name, ALERT_PENDING, ALERT_RESOLVED);
ANSWER_NAMES(rule_phases, enum alert_phase, alert_phase_name, ALERT_INACTIVE, ALERT_FIRING);
ANSWER_NAMES(severities, enum severity, severity_text, SEVERITY_INFO, SEVERITY_CRITICAL);
ANSWER_NAMES(scopes, enum alert_scope, scope_name, SCOPE_HOST, SCOPE_PROCESS);

/* ---- an alert ---- */

static bool make_code(const struct answer_at *at, union answer_value *ret)
{
    const struct alert *a = at->record;
    finding_code code;
    ret->word = a->rule;
    return finding_code_from_name(a->rule, &code);
}

static bool make_flapping(const struct answer_at *at, union answer_value *ret)
{
    const struct alert_state *s = &((const struct alert *)at->record)->state;
    ret->yes = s->flapping && s->phase == ALERT_FIRING;
    return true;
}

static bool make_fingerprint(const struct answer_at *at, union answer_value *ret)
{
    alert_fingerprint(at->record, ret->text);
    return true;
}

ANSWER_TEST(is_held, struct alert, of->state.phase != ALERT_RESOLVED);

ANSWER_TEST(has_started, struct alert, of->state.phase != ALERT_PENDING);

ANSWER_TEST(is_over, struct alert, of->state.phase == ALERT_RESOLVED);

SHARED_ANSWER_TABLE(alert_answer, struct alert, .name = "Alert")
{
    FIELD(TEXT, "alert", rule, "Name of the rule");
    MADE(WORD, "code", make_code, "Of the finding that it is about (docs/findings.md); null: a rule of the configuration", OR_NULL);
    FIELD(NAME, "state", state.phase, NULL, NAMES(phases));
    FIELD(NAME, "severity", severity, NULL, NAMES(severities));
    FIELD(NAME, "scope", scope, "What it is about", NAMES(scopes));
    FIELD(TEXT, "host", host, NULL, OR_NULL);
    FIELD(INT, "gpu_index", gpu_index, "null: about the host or the daemon", NONE(-1));
    FIELD(TEXT, "gpu_name", gpu_name, NULL, OR_NULL);
    FIELD(TEXT, "gpu_uuid", gpu_uuid, NULL, OR_NULL);
    FIELD(BOOL, "simulated", simulated, "The GPU exists only in the simulator");
    FIELD(INT, "pid", pid, NULL, OR_NULL);
    FIELD(TEXT, "process", process, NULL, OR_NULL);
    FIELD(TEXT, "user", user, NULL, OR_NULL);
    FIELD(NUMBER, "value", value, "The number that decided, in the unit of its metric", PRESENT(has_value));
    FIELD(TEXT, "summary", summary, NULL);
    PAIRS(TEXT, "labels", labels, label_count, NULL);
    FIELD(MOMENT, "pending_since", state.pending_at, "Since when the condition holds", WHEN(is_held));
    FIELD(MOMENT, "started_at", state.started_at, "When it began to fire", WHEN(has_started));
    FIELD(MOMENT, "ended_at", state.ended_at, NULL, WHEN(is_over));
    FIELD(BOOL, "silenced", silenced_by[0], NULL);
    FIELD(TEXT, "silence_id", silenced_by, NULL, OR_NULL);
    MADE(BOOL, "flapping", make_flapping, "It came and went: it ends only when it was over for five minutes");
    MADE(TEXT, "fingerprint", make_fingerprint, "The same for this alert of this GPU or process, also after a restart");
}

/* ---- a silence ---- */

ANSWER_TABLE(silence_answer, struct silence, .name = "Silence")
{
    FIELD(TEXT, "id", id, NULL);
    PAIRS(TEXT, "matchers", matchers, matcher_count, "All must match; * and ? stand for anything");
    FIELD(MOMENT, "created_at", created_at, NULL);
    FIELD(MOMENT, "until", until, NULL);
    FIELD(TEXT, "comment", comment, NULL, OR_NULL);
    FIELD(TEXT, "created_by", created_by, NULL, OR_NULL);
}

SHARED_ANSWER_TABLE(silenced_answer, struct silence, .name = "Silenced")
{
    PART("silence", silence_answer, NULL);
}

SHARED_ANSWER_TABLE(unsilenced_answer, struct silence, .name = "Unsilenced")
{
    FIELD(TEXT, "removed", id, NULL);
}

/* ---- all alerts ---- */

struct told_alerts {
    const struct alert_set *set;
    int only;
    struct wall at;
    const struct silence *silences;
    size_t silence_count;
    size_t counts[ALERT_RESOLVED + 1], silenced, left_out;
};

static bool is_asked_for(const struct told_alerts *told, const struct alert *a)
{
    return told->only == EVERY_GPU || a->gpu_index == told->only;
}

static const void *next_alert(const struct answer_at *at, struct answer_step *step)
{
    const struct told_alerts *told = at->record;
    while (step->at < told->set->count && !is_asked_for(told, told->set->list[step->at]))
        step->at++;
    return step->at < told->set->count ? told->set->list[step->at++] : NULL;
}

ANSWER_TABLE(count_answer, struct told_alerts)
{
    FIELD(INT, "pending", counts[ALERT_PENDING], NULL);
    FIELD(INT, "firing", counts[ALERT_FIRING], NULL);
    FIELD(INT, "resolved", counts[ALERT_RESOLVED], NULL);
    FIELD(INT, "silenced", silenced, "Of those that fire");
    FIELD(INT, "left_out", left_out, "Over the 2048 that are followed at once");
}

SHARED_ANSWER_TABLE(alerts_answer, struct told_alerts, .name = "Alerts")
{
    FIELD(MOMENT, "timestamp", at, "Of the last sample that was judged", OR_NULL);
    EACH(OBJECT, "alerts", next_alert, NULL, FIELDS(alert_answer));
    PART("counts", count_answer, NULL);
    OBJECTS("silences", silences, silence_count, silence_answer, NULL);
}

void json_alerts(struct json_writer *j, const struct alert_set *set, int only)
{
    struct told_alerts told = {.set = set,
                               .only = only,
                               .at = set->last_at,
                               .silences = set->silences.list,
                               .silence_count = set->silences.count,
                               .left_out = set->left_out};
    for (size_t i = 0; i < set->count; i++) {
        const struct alert *a = set->list[i];
        if (!is_asked_for(&told, a))
            continue;
        told.counts[a->state.phase]++;
        told.silenced += a->state.phase == ALERT_FIRING && a->silenced_by[0];
    }
    answer_write(j, &alerts_answer, &told, NULL);
}

/* ---- rules ---- */

struct told_rules {
    const struct alert_rule *list;
    size_t count;
    const struct alert_set *set; /* NULL: no states are known */
    char condition[64];
};

/* The most urgent state of a rule's alerts. */
static bool make_rule_phase(const struct answer_at *at, union answer_value *ret)
{
    const struct alert_rule *rule = at->record;
    const struct alert_set *set = ((const struct told_rules *)at->context)->set;
    enum alert_phase worst = ALERT_INACTIVE;
    for (size_t i = 0; set && i < set->count; i++) {
        enum alert_phase phase = set->list[i]->state.phase;
        if (strcmp(set->list[i]->rule, rule->name) == 0 && phase != ALERT_RESOLVED && phase > worst)
            worst = phase;
    }
    ret->number = worst;
    return set;
}

static bool make_rule_code(const struct answer_at *at, union answer_value *ret)
{
    const struct alert_rule *r = at->record;
    ret->word = rule_is_finding(r) ? finding_code_name(r->finding) : NULL;
    return rule_is_finding(r);
}

/* Conditions can use findings, too. */
static bool make_condition(const struct answer_at *at, union answer_value *ret)
{
    const struct alert_rule *r = at->record;
    struct told_rules *told = at->context;
    if (rule_is_finding(r))
        snprintf(told->condition, sizeof told->condition, "findings contains \"%s\"", finding_code_name(r->finding));
    ret->word = rule_is_finding(r) ? told->condition : expr_text(r->when);
    return true;
}

static bool make_clear(const struct answer_at *at, union answer_value *ret)
{
    const struct alert_rule *r = at->record;
    ret->word = r->clear ? expr_text(r->clear) : NULL;
    return r->clear;
}

ANSWER_TABLE(rule_answer, struct alert_rule, .name = "AlertRule")
{
    FIELD(TEXT, "name", name, NULL);
    FIELD(BOOL, "builtin", builtin, NULL);
    FIELD(BOOL, "changed", changed, "Built in, and changed in the configuration");
    FIELD(BOOL, "enabled", enabled, NULL);
    FIELD(NAME, "severity", severity, "Of a finding: in the ordinary case", NAMES(severities));
    FIELD(NAME, "scope", scope, NULL, NAMES(scopes));
    MADE(WORD, "code", make_rule_code, "Of the finding that it is about; null: a condition of its own", OR_NULL);
    MADE(WORD, "when", make_condition, "The condition; of a finding: how a condition asks for it");
    FIELD(AMOUNT, "for_seconds", hold_ms, NULL, SCALE(1e-3));
    MADE(WORD, "clear", make_clear, "null: when `when` no longer holds", OR_NULL);
    FIELD(AMOUNT, "clear_for_seconds", clear_hold_ms, NULL, SCALE(1e-3));
    FIELD(WORD, "summary", summary, NULL, OR_NULL);
    FIELD(WORD, "description", help, NULL, OR_NULL);
    PAIRS(WORD, "labels", labels.pairs, labels.count, NULL);
    TEXTS(WORD, "notify", notify.items, notify.count, NULL);
    MADE(NAME, "state", make_rule_phase, "null: without a daemon, it is not known", OR_NULL, NAMES(rule_phases));
}

SHARED_ANSWER_TABLE(alert_rules_answer, struct told_rules, .name = "AlertRules")
{
    OBJECTS("rules", list, count, rule_answer, NULL);
}

void json_alert_rules(struct json_writer *j, const struct alert_rules *rules, const struct alert_set *set)
{
    struct told_rules told = {.list = rules->list, .count = rules->count, .set = set};
    answer_write(j, &alert_rules_answer, &told, &told);
}

/* ---- series ---- */

static bool same_series(const struct alert *a, const struct alert *b)
{
    return a->gpu_index == b->gpu_index && a->severity == b->severity && strcmp(a->rule, b->rule) == 0;
}

/* Alerts of several processes on one GPU form one series: PIDs are not labels. */
static void write_phase(struct buf *out, const struct alert_set *set, enum alert_phase phase, const char *name, const char *help)
{
    prometheus_head(out, name, "gauge", help);
    for (size_t i = 0; i < set->count; i++) {
        const struct alert *a = set->list[i];
        size_t before = 0, count = 0;
        char gpu[16] = "";
        for (size_t k = 0; k < set->count; k++)
            if (set->list[k]->state.phase == phase && same_series(a, set->list[k])) {
                before += k < i;
                count++;
            }
        if (a->state.phase != phase || before)
            continue;
        if (a->gpu_index >= 0)
            snprintf(gpu, sizeof gpu, "%d", a->gpu_index);
        buf_printf(out, "%s{", name);
        prometheus_label(out, true, "alert", a->rule);
        prometheus_label(out, false, "severity", severity_text(a->severity));
        prometheus_label(out, false, "gpu", gpu);
        prometheus_end(out, (double)count);
        buf_char(out, '\n');
    }
}

void prometheus_alerts(struct buf *out, const struct alert_set *set)
{
    size_t silenced = 0, rules = 0;
    for (size_t i = 0; i < set->count; i++)
        silenced += set->list[i]->state.phase == ALERT_FIRING && set->list[i]->silenced_by[0];
    for (size_t i = 0; i < set->rules->count; i++)
        rules += set->rules->list[i].enabled;
    write_phase(out, set, ALERT_FIRING, "whirr_alert_firing", "Alerts that fire, of one rule and GPU");
    write_phase(out, set, ALERT_PENDING, "whirr_alert_pending", "Alerts whose condition holds, but not long enough yet");
    prometheus_plain(out, "whirr_alerts_silenced", "gauge", "Firing alerts whose notifications are silenced", (double)silenced);
    prometheus_plain(out, "whirr_alerts_fired_total", "counter", "Alerts that began to fire since the start",
                     (double)set->fired_total);
    prometheus_plain(out, "whirr_alert_rules", "gauge", "Alert rules that are evaluated", (double)rules);
}
