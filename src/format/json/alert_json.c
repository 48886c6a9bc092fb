/* SPDX-License-Identifier: Apache-2.0
 * The API's answers about alerts.
 */
#include "format/alert.h"

#include <jansson.h>
#include <stdio.h>

#include "format/json/json.h"

static void key_number_or_null(struct json_writer *j, const char *key, bool known, double value)
{
    jw_key(j, key);
    if (known)
        jw_number(j, value);
    else
        jw_null(j);
}

static void key_int_or_null(struct json_writer *j, const char *key, bool known, int64_t value)
{
    jw_key(j, key);
    if (known)
        jw_int(j, value);
    else
        jw_null(j);
}

void json_alert(struct json_writer *j, const struct alert *a)
{
    char fingerprint[NOTICE_FINGERPRINT_SIZE];
    const struct alert_state *s = &a->state;
    enum finding_code code;
    alert_fingerprint(a, fingerprint);
    jw_object(j);
    jw_key_text(j, "alert", a->rule);
    jw_key_text(j, "code", finding_code_from_name(a->rule, &code) ? a->rule : NULL);
    jw_key_text(j, "state", alert_phase_name(s->phase));
    jw_key_text(j, "severity", severity_text(a->severity));
    jw_key_text(j, "scope", scope_name(a->scope));
    json_words(j, "host", a->host);
    key_int_or_null(j, "gpu_index", a->gpu_index >= 0, a->gpu_index);
    json_words(j, "gpu_name", a->gpu_name);
    json_words(j, "gpu_uuid", a->gpu_uuid);
    jw_key_bool(j, "simulated", a->simulated);
    key_int_or_null(j, "pid", a->pid != 0, a->pid);
    json_words(j, "process", a->process);
    json_words(j, "user", a->user);
    key_number_or_null(j, "value", a->has_value, a->value);
    jw_key_text(j, "summary", a->summary);
    jw_key_object(j, "labels");
    for (size_t i = 0; i < a->label_count; i++)
        jw_key_text(j, a->labels[i].key, a->labels[i].value);
    jw_end(j);
    json_time(j, "pending_since", s->phase == ALERT_PENDING || s->phase == ALERT_FIRING ? s->pending_at : (struct wall){0});
    json_time(j, "started_at", s->phase == ALERT_PENDING ? (struct wall){0} : s->started_at);
    json_time(j, "ended_at", s->phase == ALERT_RESOLVED ? s->ended_at : (struct wall){0});
    jw_key_bool(j, "silenced", a->silenced_by[0] != '\0');
    json_words(j, "silence_id", a->silenced_by);
    jw_key_bool(j, "flapping", s->flapping && s->phase == ALERT_FIRING);
    jw_key_text(j, "fingerprint", fingerprint);
    jw_end(j);
}

void json_silence(struct json_writer *j, const struct silence *s)
{
    jw_object(j);
    jw_key_text(j, "id", s->id);
    jw_key_object(j, "matchers");
    for (size_t i = 0; i < s->matcher_count; i++)
        jw_key_text(j, s->matchers[i].key, s->matchers[i].value);
    jw_end(j);
    json_time(j, "created_at", s->created_at);
    json_time(j, "until", s->until);
    json_words(j, "comment", s->comment);
    json_words(j, "created_by", s->created_by);
    jw_end(j);
}

void json_alerts(struct json_writer *j, const struct alert_set *set, int only)
{
    size_t counts[ALERT_RESOLVED + 1] = {0}, silenced = 0;
    jw_object(j);
    json_time(j, "timestamp", set->last_at);
    jw_key_array(j, "alerts");
    for (size_t i = 0; i < set->count; i++) {
        const struct alert *a = set->list[i];
        if (only != EVERY_GPU && a->gpu_index != only)
            continue;
        json_alert(j, a);
        counts[a->state.phase]++;
        silenced += a->state.phase == ALERT_FIRING && a->silenced_by[0];
    }
    jw_end(j);
    jw_key_object(j, "counts");
    for (int i = ALERT_PENDING; i <= ALERT_RESOLVED; i++)
        jw_key_int(j, alert_phase_name((enum alert_phase)i), (int64_t)counts[i]);
    jw_key_int(j, "silenced", (int64_t)silenced);
    jw_key_int(j, "left_out", (int64_t)set->left_out);
    jw_end(j);
    jw_key_array(j, "silences");
    for (size_t i = 0; i < set->silences.count; i++)
        json_silence(j, &set->silences.list[i]);
    jw_end(j);
    jw_end(j);
}

/* The most urgent state of a rule's alerts. */
static enum alert_phase rule_phase(const struct alert_set *set, const struct alert_rule *rule)
{
    enum alert_phase worst = ALERT_INACTIVE;
    for (size_t i = 0; set && i < set->count; i++) {
        enum alert_phase phase = set->list[i]->state.phase;
        if (strcmp(set->list[i]->rule, rule->name) == 0 && phase != ALERT_RESOLVED && phase > worst)
            worst = phase;
    }
    return worst;
}

/* Conditions can use findings, too. */
static void write_condition(struct json_writer *j, const struct alert_rule *r)
{
    char condition[64];
    snprintf(condition, sizeof condition, "findings contains \"%s\"", finding_code_name(r->finding));
    jw_key_text(j, "when", rule_is_finding(r) ? condition : expr_text(r->when));
}

static void json_rule(struct json_writer *j, const struct alert_rule *r, const struct alert_set *set)
{
    jw_object(j);
    jw_key_text(j, "name", r->name);
    jw_key_bool(j, "builtin", r->builtin);
    jw_key_bool(j, "changed", r->changed);
    jw_key_bool(j, "enabled", r->enabled);
    jw_key_text(j, "severity", severity_text(r->severity));
    jw_key_text(j, "scope", scope_name(r->scope));
    jw_key_text(j, "code", rule_is_finding(r) ? finding_code_name(r->finding) : NULL);
    write_condition(j, r);
    jw_key_number(j, "for_seconds", (double)r->hold_ms / MS_PER_S);
    jw_key_text(j, "clear", r->clear ? expr_text(r->clear) : NULL);
    jw_key_number(j, "clear_for_seconds", (double)r->clear_hold_ms / MS_PER_S);
    json_words(j, "summary", r->summary);
    json_words(j, "description", r->help);
    jw_key_object(j, "labels");
    for (size_t i = 0; i < r->labels.count; i++)
        jw_key_text(j, r->labels.pairs[i].key, r->labels.pairs[i].value);
    jw_end(j);
    jw_key_array(j, "notify");
    for (size_t i = 0; i < r->notify.count; i++)
        jw_text(j, r->notify.items[i]);
    jw_end(j);
    jw_key_text(j, "state", set ? alert_phase_name(rule_phase(set, r)) : NULL);
    jw_end(j);
}

void json_alert_rules(struct json_writer *j, const struct alert_rules *rules, const struct alert_set *set)
{
    jw_object(j);
    jw_key_array(j, "rules");
    for (size_t i = 0; i < rules->count; i++)
        json_rule(j, &rules->list[i], set);
    jw_end(j);
    jw_end(j);
}
