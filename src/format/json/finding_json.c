/* SPDX-License-Identifier: Apache-2.0
 * Findings as JSON, written and parsed: the same keys in every answer.
 */
#include <jansson.h>
#include <string.h>

#include "base/str.h"
#include "format/json/json.h"
#include "model/finding.h"
#include "model/severity.h"

/* Whether its evidence could be seen: a claim of calm rests on all areas, the others on their own. */
static const char *seen(const struct verdict *v, const struct finding *f)
{
    const struct gpu_looked *l = verdict_looked(v, f->gpu_index);
    enum finding_area area = finding_kind(f->code)->area;
    if (f->code == FINDING_CANNOT_KNOW)
        return "no";
    unsigned needed = f->code == FINDING_NOTHING_UNUSUAL ? AREAS_OF_CALM : 1u << area & AREAS_OF_CALM;
    return l && (l->looked & needed) != needed ? "partly" : "yes";
}

static void finding(struct json_writer *j, const struct verdict *v, const struct finding *f)
{
    jw_object(j);
    jw_key_text(j, "code", finding_code_name(f->code));
    jw_key_text(j, "severity", severity_text(f->severity));
    jw_key_text(j, "area", finding_area_name(finding_kind(f->code)->area));
    jw_key_number(j, "confidence", f->confidence);
    jw_key(j, "gpu_index");
    if (f->gpu_index >= 0)
        jw_int(j, f->gpu_index);
    else
        jw_null(j);
    jw_key(j, "pid");
    if (f->pid)
        jw_int(j, f->pid);
    else
        jw_null(j);
    if (f->since.ms)
        json_time(j, "since", f->since);
    else
        jw_key_text(j, "since", NULL);
    jw_key_text(j, "tense", tense_name(f->tense));
    if (f->until.ms)
        json_time(j, "until", f->until);
    else
        jw_key_text(j, "until", NULL);
    jw_key(j, "share");
    if (f->share_minute_permille.state == READING_OK) {
        jw_object(j);
        jw_key_number(j, "minute", (double)f->share_minute_permille.value / 1000);
        jw_key_number(j, "ten_minutes", (double)f->share_ten_permille.value / 1000);
        jw_end(j);
    } else {
        jw_null(j);
    }
    jw_key_text(j, "reference", finding_reference(f->code));
    jw_key_text(j, "seen", seen(v, f));
    jw_key_text(j, "effect_of", f->is_effect ? finding_code_name(f->root) : NULL);
    jw_key_bool(j, "muted", f->muted);
    jw_key_text(j, "headline", f->headline);
    jw_end(j);
}

void json_first_finding(struct json_writer *j, const struct verdict *v, int gpu_index)
{
    const struct finding *first = gpu_index == EVERY_GPU ? verdict_main(v) : verdict_first(v, gpu_index);
    jw_key(j, "finding");
    if (first)
        finding(j, v, first);
    else
        jw_null(j);
}

void json_findings(struct json_writer *j, const struct verdict *v, int gpu_index)
{
    jw_key_array(j, "findings");
    for (size_t i = 0; v && i < v->count; i++)
        if (gpu_index == EVERY_GPU || v->findings[i].gpu_index == gpu_index)
            finding(j, v, &v->findings[i]);
    jw_end(j);
}

void json_verdict(struct json_writer *j, const struct verdict *v, int gpu_index)
{
    const struct finding *first = gpu_index == EVERY_GPU ? verdict_main(v) : verdict_first(v, gpu_index);
    jw_key_text(j, "severity", v ? severity_text(first ? first->severity : SEVERITY_INFO) : NULL);
    json_findings(j, v, gpu_index);
}

void json_looked(struct json_writer *j, const struct verdict *v, int gpu_index)
{
    const struct gpu_looked *l = verdict_looked(v, gpu_index);
    jw_key_array(j, "looked");
    for (unsigned area = 0; l && area < AREA_COUNT; area++)
        if (l->looked & 1u << area)
            jw_text(j, finding_area_name((enum finding_area)area));
    jw_end(j);
    jw_key_text(j, "not_looked", l && l->missing[0] ? l->missing : NULL);
}

void looked_from_json(const json_t *gpu, struct gpu_looked *ret)
{
    const json_t *areas = json_object_get(gpu, "looked");
    const char *missing = json_string_value(json_object_get(gpu, "not_looked"));
    for (size_t i = 0; i < json_array_size(areas); i++)
        for (unsigned area = 0; area < AREA_COUNT; area++)
            if (json_is_string(json_array_get(areas, i)) &&
                strcmp(json_string_value(json_array_get(areas, i)), finding_area_name((enum finding_area)area)) == 0)
                ret->looked |= 1u << area;
    str_copy(ret->missing, sizeof ret->missing, str_from(missing ? missing : ""));
}

void json_finding_codes(struct json_writer *j, const struct finding_settings *settings)
{
    jw_object(j);
    jw_key_array(j, "codes");
    for (size_t i = 0; i < FINDING_CODE_COUNT; i++) {
        const struct finding_kind *kind = finding_kind((enum finding_code)i);
        jw_object(j);
        jw_key_text(j, "code", kind->code);
        jw_key_text(j, "area", finding_area_name(kind->area));
        jw_key_text(j, "severity", severity_text(finding_severity(settings, (enum finding_code)i)));
        jw_key_int(j, "holds_seconds", finding_hold_ms(settings, (enum finding_code)i) / MS_PER_S);
        jw_key_bool(j, "muted", settings->list[i].muted);
        jw_key_bool(j, "work_may_go_there", kind->places);
        jw_key_text(j, "meaning", kind->title);
        jw_end(j);
    }
    jw_end(j);
    jw_end(j);
}

static void read_finding(const json_t *json, struct finding *f)
{
    const char *code = json_string_value(json_object_get(json, "code")),
               *severity = json_string_value(json_object_get(json, "severity"));
    const char *headline = json_string_value(json_object_get(json, "headline")),
               *since = json_string_value(json_object_get(json, "since"));
    const json_t *gpu = json_object_get(json, "gpu_index");
    /* An unknown code of a newer version keeps its severity and text. */
    f->code = FINDING_CANNOT_KNOW;
    if (code)
        finding_code_from_name(code, &f->code);
    if (severity)
        severity_from_text(severity, &f->severity);
    f->confidence = json_number_value(json_object_get(json, "confidence"));
    f->gpu_index = json_is_integer(gpu) ? (int)json_integer_value(gpu) : -1;
    f->pid = (int32_t)json_integer_value(json_object_get(json, "pid"));
    f->muted = json_is_true(json_object_get(json, "muted"));
    if (since)
        wall_parse(str_from(since), &f->since);
    const char *until = json_string_value(json_object_get(json, "until")),
               *tense = json_string_value(json_object_get(json, "tense"));
    f->tense = tense ? tense_from_name(tense) : finding_usual_tense(f->code);
    const char *root = json_string_value(json_object_get(json, "effect_of"));
    f->is_effect = root && finding_code_from_name(root, &f->root);
    if (until)
        wall_parse(str_from(until), &f->until);
    const json_t *share = json_object_get(json, "share");
    if (json_is_object(share)) {
        f->share_minute_permille = reading_ok((int64_t)(json_number_value(json_object_get(share, "minute")) * 1000 + 0.5));
        f->share_ten_permille = reading_ok((int64_t)(json_number_value(json_object_get(share, "ten_minutes")) * 1000 + 0.5));
    }
    str_copy(f->headline, sizeof f->headline, str_from(headline ? headline : ""));
}

struct verdict *verdict_from_json(const json_t *findings, const struct snapshot *s)
{
    size_t count = json_array_size(findings), most = FINDINGS_PER_GPU * (s->gpu_count + 2);
    struct verdict *v = verdict_new(s->gpu_count, count < most ? count : most);
    for (size_t i = 0; v && i < count && i < most; i++)
        read_finding(json_array_get(findings, i), &v->findings[v->count++]);
    for (size_t i = 0; v && i < s->gpu_count; i++)
        v->gpus[i].gpu_index = s->gpus[i].index;
    return v;
}
