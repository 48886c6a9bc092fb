/* SPDX-License-Identifier: Apache-2.0
 * Health verdicts as JSON, written and parsed.
 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json_reader.h"
#include "format/health.h"
#include "format/json/json.h"
#include "format/json/usual_json.h"

static void key_time(struct json_writer *j, const char *key, struct wall at)
{
    char text[WALL_TEXT_SIZE];
    wall_format(at, text);
    jw_key_text(j, key, at.ms ? text : NULL);
}

static void key_text(struct json_writer *j, const char *key, const char *text)
{
    jw_key_text(j, key, text[0] ? text : NULL);
}

static void finding(struct json_writer *j, const struct health_finding *f)
{
    jw_object(j);
    jw_key_text(j, "check", health_check_name(f->check));
    jw_key_text(j, "code", finding_code_name(f->code));
    jw_key_text(j, "state", health_state_name(f->state));
    jw_key(j, "xid");
    if (f->check == HEALTH_CHECK_XID)
        jw_int(j, f->fault);
    else
        jw_null(j);
    jw_key_text(j, "reason", f->reason);
    jw_key_text(j, "action", f->action);
    key_time(j, "since", f->since);
    jw_end(j);
}

static void verdict_head(struct json_writer *j, const struct health_verdict *v)
{
    jw_key_int(j, "gpu_index", v->gpu_index);
    key_text(j, "gpu_name", v->id.name);
    key_text(j, "gpu_uuid", v->id.uuid);
    key_text(j, "pci_address", v->id.pci_address);
    jw_key_bool(j, "simulated", v->simulated);
    json_activity(j, &v->activity);
    jw_key_text(j, "state", health_state_name(v->state));
    jw_key_text(j, "reason", v->reason);
    jw_key_text(j, "action", v->action);
    key_time(j, "since", v->since);
}

void json_health(struct json_writer *j, const struct health *health, const struct health_basis *basis,
                 const struct verdict *verdict, int only)
{
    enum health_state worst = HEALTH_UNKNOWN;
    for (size_t i = 0; i < health->count; i++)
        if (only == HEALTH_ALL || health->verdicts[i].gpu_index == only)
            worst = MAX_OF(worst, health->verdicts[i].state);
    jw_object(j);
    key_time(j, "timestamp", basis->at);
    jw_key_text(j, "state", health_state_name(worst));
    jw_key_bool(j, "remembered", basis->remembered);
    key_time(j, "watched_since", basis->watched_since);
    jw_key_object(j, "kernel_log");
    jw_key_text(j, "state", basis->log_state);
    key_text(j, "message", basis->log_message);
    jw_end(j);
    json_verdict(j, verdict, only == HEALTH_ALL ? EVERY_GPU : only);
    jw_key_array(j, "gpus");
    for (size_t i = 0; i < health->count; i++) {
        const struct health_verdict *v = &health->verdicts[i];
        if (only != HEALTH_ALL && v->gpu_index != only)
            continue;
        jw_object(j);
        verdict_head(j, v);
        json_looked(j, verdict, v->gpu_index);
        json_usual(j, &v->usual);
        jw_key_array(j, "findings");
        for (size_t k = 0; k < v->finding_count; k++)
            finding(j, &v->findings[k]);
        jw_end(j);
        jw_end(j);
    }
    jw_end(j);
    jw_end(j);
}

void json_health_change(struct json_writer *j, const struct health_verdict *v, struct wall at)
{
    jw_object(j);
    key_time(j, "timestamp", at);
    verdict_head(j, v);
    jw_key_text(j, "before", health_state_name(v->before));
    jw_end(j);
}

/* ---- parsing ---- */

static void take_state(const json_t *o, enum health_state *ret)
{
    const char *name = json_string_value(json_object_get(o, "state"));
    if (!name || !health_state_from_name(name, ret))
        *ret = HEALTH_UNKNOWN;
}

static void take_finding(const json_t *o, struct health_verdict *v)
{
    const char *name = json_string_value(json_object_get(o, "check"));
    if (v->finding_count == HEALTH_FINDINGS_MAX || !name)
        return;
    struct health_finding *f = &v->findings[v->finding_count];
    *f = (struct health_finding){.fault = (int32_t)json_integer_value(json_object_get(o, "xid"))};
    if (!health_check_from_name(name, &f->check))
        return;
    const char *code = json_string_value(json_object_get(o, "code"));
    if (!code || !finding_code_from_name(code, &f->code)) /* of an older version */
        f->code = health_check_finding(f->check);
    take_state(o, &f->state);
    json_copy_text(o, "reason", f->reason, sizeof f->reason);
    json_copy_text(o, "action", f->action, sizeof f->action);
    f->since = json_moment(o, "since");
    v->finding_count++;
}

void activity_from_json(const json_t *o, struct activity *a)
{
    *a = (struct activity){0};
    const char *code = json_string_value(json_object_get(o, "code"));
    for (int i = 0; code && i < ACTIVITY_COUNT; i++)
        if (strcmp(code, activity_code_name((enum activity_code)i)) == 0)
            a->code = (enum activity_code)i;
    if (json_is_number(json_object_get(o, "load_percent")))
        a->load_permille = reading_ok((int64_t)(json_number_value(json_object_get(o, "load_percent")) * 10 + 0.5));
    a->bursts = json_is_true(json_object_get(o, "bursts"));
    size_t i;
    json_t *item;
    json_array_foreach(json_object_get(o, "symptoms"), i,
                       item) for (unsigned k = 0; k < SYMPTOM_COUNT;
                                  k++) if (json_is_string(item) && strcmp(json_string_value(item), symptom_name((enum symptom)k)) ==
                                                                       0) a->symptoms |= 1u << k;
    json_array_foreach(json_object_get(o, "throttled_by"), i,
                       item) for (unsigned k = 0; k < THROTTLE_COUNT;
                                  k++) if (json_is_string(item) && strcmp(json_string_value(item), throttle_name(k)) == 0)
        a->throttled_by |= 1 << k;
}

static void take_verdict(const json_t *o, struct health_verdict *v)
{
    v->gpu_index = (int)json_integer_value(json_object_get(o, "gpu_index"));
    json_copy_text(o, "gpu_name", v->id.name, sizeof v->id.name);
    json_copy_text(o, "gpu_uuid", v->id.uuid, sizeof v->id.uuid);
    json_copy_text(o, "pci_address", v->id.pci_address, sizeof v->id.pci_address);
    v->simulated = json_is_true(json_object_get(o, "simulated"));
    activity_from_json(json_object_get(o, "activity"), &v->activity);
    usual_from_json(json_object_get(o, "usual"), &v->usual);
    take_state(o, &v->state);
    json_copy_text(o, "reason", v->reason, sizeof v->reason);
    json_copy_text(o, "action", v->action, sizeof v->action);
    v->since = json_moment(o, "since");
    size_t i;
    json_t *item;
    json_array_foreach(json_object_get(o, "findings"), i, item) take_finding(item, v);
}

struct health *health_from_json(struct str text, struct health_basis *basis, struct buf *texts)
{
    json_t *root = json_loadb(text.at, text.len, 0, NULL), *item;
    const json_t *gpus = json_object_get(root, "gpus"), *log = json_object_get(root, "kernel_log");
    size_t count = MIN_OF(json_array_size(gpus), (size_t)(2 * GPU_MAX)), i;
    struct health *health = json_is_array(gpus) ? calloc(1, sizeof *health + count * sizeof health->verdicts[0]) : NULL;
    if (health) {
        take_state(root, &health->worst);
        json_array_foreach(gpus, i, item)
        {
            if (health->count < count)
                take_verdict(item, &health->verdicts[health->count++]);
        }
        *basis = (struct health_basis){.remembered = json_is_true(json_object_get(root, "remembered"))};
        basis->at = json_moment(root, "timestamp");
        basis->watched_since = json_moment(root, "watched_since");
        const char *state = json_string_value(json_object_get(log, "state"));
        const char *message = json_string_value(json_object_get(log, "message"));
        buf_printf(texts, "%.20s%c%.400s", state ? state : "absent", '\0', message ? message : "");
        basis->log_state = texts->failed ? "absent" : texts->at;
        basis->log_message = texts->failed ? "" : texts->at + strlen(texts->at) + 1;
    }
    json_decref(root);
    return health;
}
