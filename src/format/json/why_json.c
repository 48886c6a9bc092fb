/* SPDX-License-Identifier: Apache-2.0
 * The explanation as JSON: the body of GET /api/why.
 */
#include "format/json/json.h"
#include "format/json/usual_json.h"
#include "insight/view/idle_audit.h"

static void cause(struct json_writer *j, const struct why_cause *c)
{
    jw_object(j);
    jw_key_text(j, "code", finding_code_name(c->code));
    jw_key_text(j, "text", c->text);
    jw_key_number(j, "confidence", c->confidence);
    jw_key_text(j, "likelihood", why_likelihood(c));
    jw_key_array(j, "evidence");
    for (size_t i = 0; i < c->evidence_count; i++)
        jw_text(j, c->evidence[i]);
    jw_end(j);
    jw_key(j, "pid");
    if (c->pid)
        jw_int(j, c->pid);
    else
        jw_null(j);
    json_words(j, "process", c->process);
    jw_end(j);
}

/* The keys that the host and each GPU have in common. */
void json_why_part(struct json_writer *j, const struct why_part *p)
{
    jw_key_text(j, "answer", p->answer);
    jw_key_text(j, "severity", severity_text(p->severity));
    jw_key_array(j, "causes");
    for (size_t i = 0; i < p->cause_count; i++)
        cause(j, &p->causes[i]);
    jw_end(j);
    jw_key_array(j, "suggestions");
    for (size_t i = 0; i < p->suggestion_count; i++)
        jw_text(j, p->suggestions[i]);
    jw_end(j);
}

static void brief(struct json_writer *j, const struct why_brief *b)
{
    jw_key_object(j, "brief");
    jw_key_bool(j, "trouble", b->trouble);
    json_words(j, "headline", b->headline);
    json_words(j, "state", b->state);
    json_words(j, "numbers", b->numbers);
    json_words(j, "doing", b->doing);
    jw_end(j);
}

/* How urgent the answer is, and its main GPU; null if it is about the host. */
static void about(struct json_writer *j, const struct why *why, int only)
{
    bool one = only >= 0 && only < (int)why->gpu_count;
    const struct why_part *part = one ? &why->gpus[only] : why->gpu_count ? &why->gpus[why->main] : NULL;
    jw_key_text(j, "severity", severity_text(one ? part->severity : why_severity(why)));
    jw_key(j, "gpu_index");
    if (part)
        jw_int(j, part->gpu_index);
    else
        jw_null(j);
}

static void idle_findings(struct json_writer *j, const char *key, const struct idle_audit *a, bool keeps)
{
    jw_key_array(j, key);
    for (size_t i = 0; i < a->count; i++) {
        const struct idle_finding *f = &a->findings[i];
        if (f->keeps != keeps)
            continue;
        jw_object(j);
        jw_key_text(j, "code", idle_code_name(f->code));
        jw_key_text(j, "text", f->text);
        jw_key(j, "pid");
        if (f->pid)
            jw_int(j, f->pid);
        else
            jw_null(j);
        json_scaled(j, "watts", f->added_mw, 1e-3);
        jw_end(j);
    }
    jw_end(j);
}

/* The idle audit; null if not requested. */
static void idle(struct json_writer *j, const struct idle_audit *a)
{
    jw_key(j, "idle");
    if (!a->looked) {
        jw_null(j);
        return;
    }
    jw_object(j);
    jw_key_text(j, "answer", a->answer);
    idle_findings(j, "keeps_from_idling", a, true);
    idle_findings(j, "also", a, false);
    jw_key_array(j, "ruled_out");
    for (unsigned i = 0; i < IDLE_CODE_COUNT; i++)
        if (a->ruled_out & 1u << i)
            jw_text(j, idle_code_name((enum idle_code)i));
    jw_end(j);
    json_scaled(j, "excess_watts", a->excess_mw, 1e-3);
    jw_key_int(j, "hidden_processes", (int64_t)a->hidden);
    jw_key_array(j, "suggestions");
    for (size_t i = 0; i < a->suggestion_count; i++)
        jw_text(j, a->suggestions[i]);
    jw_end(j);
    jw_end(j);
}

/* The limits of a GPU's processes. */
static void limits(struct json_writer *j, const struct gpu *gpu)
{
    char words[PROCESS_WORDS];
    jw_key_array(j, "limits");
    for (size_t i = 0; i < gpu->process_count; i++) {
        const struct process *p = &gpu->processes[i];
        if (!p->limit.code)
            continue;
        jw_object(j);
        jw_key_int(j, "pid", p->pid);
        jw_key_text(j, "process", process_words(p, SHORT_NAME, words));
        json_limit(j, &p->limit);
        jw_end(j);
    }
    jw_end(j);
}

void json_why_keys(struct json_writer *j, const struct snapshot *s, const struct why *why, int only)
{
    bool simulated = false;
    for (size_t i = 0; i < s->gpu_count; i++)
        simulated |= s->gpus[i].simulated;
    jw_key_text(j, "answer", only >= 0 && only < (int)why->gpu_count ? why->gpus[only].answer : why->answer);
    about(j, why, only);
    json_words(j, "calm", why_calm(s, only));
    json_time(j, "timestamp", s->taken_at);
    jw_key_bool(j, "simulated", simulated);
    jw_key_array(j, "gpus");
    for (size_t i = 0; i < why->gpu_count; i++) {
        if (only != ALL_GPUS && only != (int)i)
            continue;
        jw_object(j);
        jw_key_int(j, "gpu_index", why->gpus[i].gpu_index);
        json_words(j, "gpu_name", i < s->gpu_count ? s->gpus[i].id.name : "");
        json_activity(j, &why->gpus[i].activity);
        brief(j, &why->gpus[i].brief);
        json_why_part(j, &why->gpus[i]);
        limits(j, i < s->gpu_count ? &s->gpus[i] : &(const struct gpu){0});
        json_usual(j, &why->gpus[i].usual);
        idle(j, &why->gpus[i].idle_audit);
        json_words(j, "after_resume", why->gpus[i].after_resume);
        json_findings(j, why->verdict, why->gpus[i].gpu_index);
        json_looked(j, why->verdict, why->gpus[i].gpu_index);
        jw_end(j);
    }
    jw_end(j);
    json_findings(j, why->verdict, only >= 0 && only < (int)why->gpu_count ? why->gpus[only].gpu_index : EVERY_GPU);
    jw_key_object(j, "machine");
    json_why_part(j, &why->machine);
    jw_end(j);
}

void json_why(struct json_writer *j, const struct snapshot *s, const struct why *why, int only)
{
    jw_object(j);
    json_why_keys(j, s, why, only);
    jw_end(j);
}
