/* SPDX-License-Identifier: Apache-2.0
 * Parses an explanation from JSON. Truncates long texts, and drops entries that don't fit.
 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "format/json/json.h"
#include "format/json/usual_json.h"
#include "insight/view/idle_audit.h"

static void copy_text(char *to, size_t size, const json_t *text)
{
    const char *value = json_string_value(text);
    str_copy(to, size, value ? (struct str){value, json_string_length(text)} : STR(""));
}

static void read_cause(const json_t *json, struct why_cause *ret)
{
    const char *code = json_string_value(json_object_get(json, "code"));
    ret->code = FINDING_CANNOT_KNOW; /* a newer version: its text still explains it */
    if (code)
        finding_code_from_name(code, &ret->code);
    ret->confidence = json_number_value(json_object_get(json, "confidence"));
    ret->pid = (int32_t)json_integer_value(json_object_get(json, "pid"));
    copy_text(ret->text, sizeof ret->text, json_object_get(json, "text"));
    copy_text(ret->process, sizeof ret->process, json_object_get(json, "process"));
    const json_t *evidence = json_object_get(json, "evidence");
    for (size_t i = 0; i < json_array_size(evidence) && i < WHY_EVIDENCE_MAX; i++)
        copy_text(ret->evidence[ret->evidence_count++], WHY_LINE_SIZE, json_array_get(evidence, i));
}

static void read_part(const json_t *json, struct why_part *ret)
{
    const char *severity = json_string_value(json_object_get(json, "severity"));
    if (severity)
        severity_from_text(severity, &ret->severity);
    copy_text(ret->answer, sizeof ret->answer, json_object_get(json, "answer"));
    const json_t *causes = json_object_get(json, "causes"), *suggestions = json_object_get(json, "suggestions");
    for (size_t i = 0; i < json_array_size(causes) && i < WHY_CAUSES_MAX; i++)
        read_cause(json_array_get(causes, i), &ret->causes[ret->cause_count++]);
    for (size_t i = 0; i < json_array_size(suggestions) && i < WHY_SUGGESTIONS_MAX; i++)
        copy_text(ret->suggestions[ret->suggestion_count++], WHY_LINE_SIZE, json_array_get(suggestions, i));
}

static void read_brief(const json_t *json, struct why_brief *ret)
{
    ret->trouble = json_is_true(json_object_get(json, "trouble"));
    copy_text(ret->headline, sizeof ret->headline, json_object_get(json, "headline"));
    copy_text(ret->state, sizeof ret->state, json_object_get(json, "state"));
    copy_text(ret->numbers, sizeof ret->numbers, json_object_get(json, "numbers"));
    copy_text(ret->doing, sizeof ret->doing, json_object_get(json, "doing"));
}

static void read_findings(const json_t *list, bool keeps, struct idle_audit *ret)
{
    for (size_t i = 0; i < json_array_size(list) && ret->count < IDLE_FINDINGS_MAX; i++) {
        const json_t *json = json_array_get(list, i);
        struct idle_finding *f = &ret->findings[ret->count++];
        const char *code = json_string_value(json_object_get(json, "code"));
        for (int k = 0; code && k < IDLE_CODE_COUNT; k++)
            if (strcmp(idle_code_name((enum idle_code)k), code) == 0)
                f->code = (enum idle_code)k;
        f->keeps = keeps;
        f->pid = (int32_t)json_integer_value(json_object_get(json, "pid"));
        copy_text(f->text, sizeof f->text, json_object_get(json, "text"));
        if (json_is_number(json_object_get(json, "watts")))
            f->added_mw = reading_ok((int64_t)(json_number_value(json_object_get(json, "watts")) * 1000 + 0.5));
    }
}

static void read_idle(const json_t *json, struct idle_audit *ret)
{
    if (!json_is_object(json))
        return;
    ret->looked = true;
    copy_text(ret->answer, sizeof ret->answer, json_object_get(json, "answer"));
    read_findings(json_object_get(json, "keeps_from_idling"), true, ret);
    read_findings(json_object_get(json, "also"), false, ret);
    const json_t *out = json_object_get(json, "ruled_out"), *suggestions = json_object_get(json, "suggestions");
    for (size_t i = 0; i < json_array_size(out); i++)
        for (unsigned k = 0; k < IDLE_CODE_COUNT; k++)
            if (json_is_string(json_array_get(out, i)) &&
                strcmp(idle_code_name((enum idle_code)k), json_string_value(json_array_get(out, i))) == 0)
                ret->ruled_out |= 1u << k;
    if (json_is_number(json_object_get(json, "excess_watts")))
        ret->excess_mw = reading_ok((int64_t)(json_number_value(json_object_get(json, "excess_watts")) * 1000));
    ret->hidden = (size_t)json_integer_value(json_object_get(json, "hidden_processes"));
    for (size_t i = 0; i < json_array_size(suggestions) && i < ARRAY_LEN(ret->suggestions); i++)
        copy_text(ret->suggestions[ret->suggestion_count++], WHY_LINE_SIZE, json_array_get(suggestions, i));
}

struct why *why_from_json(const json_t *json, const struct snapshot *s)
{
    const json_t *gpus = json_object_get(json, "gpus");
    if (!json_is_array(gpus) || json_array_size(gpus) != s->gpu_count)
        return NULL;
    struct why *why = calloc(1, sizeof *why + s->gpu_count * sizeof why->gpus[0]);
    if (!why)
        return NULL;
    why->verdict = verdict_from_json(json_object_get(json, "findings"), s);
    if (!why->verdict) {
        why_free(why);
        return NULL;
    }
    copy_text(why->answer, sizeof why->answer, json_object_get(json, "answer"));
    why->machine.gpu_index = -1;
    read_part(json_object_get(json, "machine"), &why->machine);
    why->gpu_count = s->gpu_count;
    for (size_t i = 0; i < s->gpu_count; i++) {
        why->gpus[i].gpu_index = s->gpus[i].index;
        why->gpus[i].activity = s->gpus[i].activity;
        const json_t *gpu = json_array_get(gpus, i);
        read_part(gpu, &why->gpus[i]);
        read_brief(json_object_get(gpu, "brief"), &why->gpus[i].brief);
        if (json_is_object(json_object_get(gpu, "activity")))
            activity_from_json(json_object_get(gpu, "activity"), &why->gpus[i].activity);
        if (why->gpus[i].answer[0] && strncmp(why->answer, why->gpus[i].answer, strlen(why->gpus[i].answer)) == 0)
            why->main = i;
        usual_from_json(json_object_get(gpu, "usual"), &why->gpus[i].usual);
        copy_text(why->gpus[i].after_resume, WHY_LINE_SIZE, json_object_get(gpu, "after_resume"));
        read_idle(json_object_get(gpu, "idle"), &why->gpus[i].idle_audit);
        looked_from_json(gpu, &why->verdict->gpus[i]);
    }
    return why;
}
