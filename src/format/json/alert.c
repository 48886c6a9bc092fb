/* SPDX-License-Identifier: Apache-2.0
 * What the API says about alerts.
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
    alert_fingerprint(a, fingerprint);
    jw_object(j);
    jw_key_text(j, "alert", a->rule);
    jw_key_text(j, "state", alert_phase_name(s->phase));
    jw_key_text(j, "severity", severity_name(a->severity));
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

static void key_fact(struct json_writer *j, const char *key, struct reading r)
{
    key_int_or_null(j, key, r.state == READING_OK, r.value);
}

static bool has_facts(const struct alert_gpu_facts *f)
{
    bool any = false;
#define GPU_FACT(field, help) any |= f->field.state == READING_OK;
#include "alert/facts.def"
    return any;
}

static void json_alert_facts(struct json_writer *j, const struct alert_facts *facts)
{
    jw_object(j);
#define HOST_FACT(field, help) key_fact(j, #field, facts->field);
#include "alert/facts.def"
    jw_key_array(j, "gpus");
    for (int i = 0; i < GPU_MAX; i++) {
        const struct alert_gpu_facts *f = &facts->gpus[i];
        if (!has_facts(f))
            continue;
        jw_object(j);
        jw_key_int(j, "gpu_index", i);
#define GPU_FACT(field, help) key_fact(j, #field, f->field);
#include "alert/facts.def"
        jw_end(j);
    }
    jw_end(j);
    jw_end(j);
}

static struct reading read_fact(const json_t *o, const char *key)
{
    const json_t *value = json_object_get(o, key);
    return json_is_integer(value) ? reading_ok(json_integer_value(value)) : reading_absent(READING_UNREAD);
}

void alert_facts_from_json(struct alert_facts *facts, struct str body)
{
    json_t *root = json_loadb(body.at ? body.at : "", body.len, 0, NULL), *gpu;
    const json_t *o = json_object_get(root, "facts");
    size_t i;
#define HOST_FACT(field, help) facts->field = read_fact(o, #field);
#include "alert/facts.def"
    json_array_foreach(json_object_get(o, "gpus"), i, gpu)
    {
        json_int_t index = json_integer_value(json_object_get(gpu, "gpu_index"));
        if (index < 0 || index >= GPU_MAX)
            continue;
        struct alert_gpu_facts *f = &facts->gpus[index];
#define GPU_FACT(field, help) f->field = read_fact(gpu, #field);
#include "alert/facts.def"
    }
    json_decref(root);
}

void json_alerts(struct json_writer *j, const struct alert_set *set, const struct alert_facts *facts)
{
    size_t counts[ALERT_RESOLVED + 1] = {0}, silenced = 0;
    jw_object(j);
    json_time(j, "timestamp", set->last_at);
    jw_key_array(j, "alerts");
    for (size_t i = 0; i < set->count; i++) {
        const struct alert *a = set->list[i];
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
    jw_key(j, "facts");
    if (facts)
        json_alert_facts(j, facts);
    else
        jw_null(j);
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

static void json_rule(struct json_writer *j, const struct alert_rule *r, const struct alert_set *set)
{
    jw_object(j);
    jw_key_text(j, "name", r->name);
    jw_key_bool(j, "builtin", r->builtin);
    jw_key_bool(j, "changed", r->changed);
    jw_key_bool(j, "enabled", r->enabled);
    jw_key_text(j, "severity", severity_name(r->severity));
    jw_key_text(j, "scope", scope_name(r->scope));
    jw_key_text(j, "when", expr_text(r->when));
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
