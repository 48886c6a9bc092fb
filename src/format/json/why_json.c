/* SPDX-License-Identifier: Apache-2.0
 * The explanation as JSON, written and parsed: the body of GET /api/why, with remedies and a GPU's usual values.
 */
#include <stdlib.h>

#include "base/cleanup.h"
#include "format/json/json.h"
#include "format/json/told.h"
#include "insight/baseline/baseline.h"
#include "insight/view/idle_audit.h"
#include "model/finding_code.h"
#include "model/remedy.h"

/* ---- remedies ---- */

static const char *code_of(enum remedy_code code)
{
    return remedy_row(code)->code;
}
ANSWER_NAMES(remedy_codes, enum remedy_code, code_of, 0, REMEDY_COUNT - 1);
ANSWER_NAMES(expected_sources, enum expected_source, expected_source_name, EXPECTED_OWN_HISTORY, EXPECTED_SOURCES - 1);

ANSWER_MAKER(make_kind, struct remedy, word, remedy_kind_name(remedy_row(of->code)->kind));

ANSWER_MAKER(make_who, struct remedy, word, remedy_who_name(remedy_row(of->code)->who));

static bool make_cost(const struct answer_at *at, union answer_value *ret)
{
    enum remedy_code code = ((const struct remedy *)at->record)->code;
    ret->word = code == REMEDY_QUIET ? "a little slower" : code == REMEDY_STOCK_LIMIT ? "louder" : NULL;
    return ret->word != NULL;
}

static bool make_undo(const struct answer_at *at, union answer_value *ret)
{
    enum remedy_undo undo = remedy_row(((const struct remedy *)at->record)->code)->undo;
    ret->word = undo == REMEDY_YES ? "whirr undo" : undo == REMEDY_BY_HAND ? "by hand" : NULL;
    return ret->word != NULL;
}

ANSWER_TABLE(expected_answer, struct remedy, .name = "RemedyExpected")
{
    FIELD(OPTION, "fan_percent", expected.fan_permille, "By how much it changes", SCALE(0.1));
    FIELD(OPTION, "power_watts", expected.power_mw, NULL, SCALE(1e-3));
    FIELD(OPTION, "temperature_celsius", expected.temp_mdegc, NULL, SCALE(1e-3));
    FIELD(OPTION, "clock_graphics_mhz", expected.clock_khz, NULL, SCALE(1e-3));
    FIELD(OPTION, "tokens_per_second", expected.tokens_milli, NULL, SCALE(1e-3));
    FIELD(NAME, "source", source, "own_history: a step of this GPU; siblings: of another GPU of its model",
          NAMES(expected_sources));
    FIELD(MOMENT, "seen_at", seen, "When that step was measured", OR_NULL);
}

SHARED_ANSWER_TABLE(remedy_answer, struct remedy, .name = "Remedy")
{
    FIELD(INT, "number", number, "For `whirr do`");
    FIELD(NAME, "code", code, NULL, NAMES(remedy_codes), OPEN, .none = REMEDY_FAULT);
    FIELD(NAME, "root", root, "Code of the finding that it is about", NAMES(finding_codes), OPEN, .none = FINDING_CANNOT_KNOW);
    MADE(WORD, "kind", make_kind, "setting, env, server_api, hint or physical; `whirr do` makes settings");
    FIELD(TEXT, "text", text, "A sentence", FOREIGN);
    FIELD(TEXT, "command", command, "To paste", OR_NULL);
    MADE(WORD, "who", make_who, "Who may: control (root, or through whirr-control), owner of the program, administrator, anyone");
    TEXTS(TEXT, "affects", affects, affects_count, "Programs on the GPU that notice it", FOREIGN);
    PART("expected", expected_answer, "From measured steps; null: not known", PRESENT(source));
    MADE(WORD, "cost", make_cost, NULL, OR_NULL);
    MADE(WORD, "undo", make_undo, "How it is taken back", OR_NULL);
}

/* ---- usual values of a GPU ---- */

ANSWER_NAMES(starts, enum baseline_start, baseline_start_name, BASELINE_FIRST, BASELINE_NEW_FAN_CURVE);

static bool make_days_needed(const struct answer_at *at, union answer_value *ret)
{
    (void)at;
    ret->number = BASELINE_DAYS_NEEDED;
    return true;
}

_Static_assert(DRIFT_WORDS <= sizeof(union answer_value), "the words fit");
static bool make_drift_words(const struct answer_at *at, union answer_value *ret)
{
    baseline_drift_words(at->record, ret->text);
    return true;
}

ANSWER_TABLE(drift_answer, struct baseline_drift)
{
    MADE(TEXT, "text", make_drift_words, NULL);
    FIELD(AMOUNT, "celsius_per_month", mdegc_per_month, NULL, SCALE(1e-3));
    FIELD(AMOUNT, "fan_percent_per_month", fan_permille_per_month, NULL, SCALE(0.1));
    FIELD(AMOUNT, "power_watts", power_mw, NULL, SCALE(1e-3));
    FIELD(MOMENT, "since", since, NULL, OR_NULL);
    FIELD(MOMENT, "until", until, NULL, OR_NULL);
    FIELD(INT, "days", days, NULL);
    FIELD(BOOL, "strong", strong, "Enough to call the GPU degraded");
}

ANSWER_TABLE(step_answer, struct baseline_step)
{
    FIELD(INT, "pid", pid, NULL);
    FIELD(MOMENT, "since", since, NULL, OR_NULL);
    FIELD(AMOUNT, "watts", since_mw, NULL, SCALE(1e-3));
    FIELD(AMOUNT, "watts_before", before_mw, NULL, SCALE(1e-3));
}

ANSWER_TABLE(clock_answer, struct usual)
{
    FIELD(AMOUNT, "clock_mhz", at_clock.clock_khz, NULL, SCALE(1e-3));
    FIELD(AMOUNT, "watts", at_clock.power_mw, NULL, SCALE(1e-3));
    FIELD(AMOUNT, "low_clock_mhz", at_low_clock.clock_khz, NULL, SCALE(1e-3));
    FIELD(AMOUNT, "low_watts", at_low_clock.power_mw, NULL, SCALE(1e-3));
}

SHARED_ANSWER_TABLE(
    usual_answer, struct usual, .name = "Usual",
    .about = "What is usual for this GPU, learned from its own history; null while there is none. Below `days_needed` days "
             "nothing is called usual: confidence is 0 and the values are null")
{
    FIELD(NUMBER, "confidence", confidence, NULL, .schema = "{\"minimum\": 0, \"maximum\": 1}");
    FIELD(INT, "days", days, "Days of evidence at the power of this moment, else when idle, else in all");
    MADE(INT, "days_needed", make_days_needed, NULL);
    FIELD(MOMENT, "since", since, NULL, OR_NULL);
    FIELD(NAME, "began_with", start, "Why the baseline begins there: the first sample, another power limit, another fan curve",
          NAMES(starts));
    FIELD(OPTION, "temperature_celsius", temp_mdegc, "The middle of the days, at the power of this moment", SCALE(1e-3));
    FIELD(OPTION, "temperature_low_celsius", temp_low_mdegc, NULL, SCALE(1e-3));
    FIELD(OPTION, "temperature_high_celsius", temp_high_mdegc, NULL, SCALE(1e-3));
    FIELD(BOOL, "at_more_power", at_more_power,
          "It never worked at this power for long: the temperatures are those of the next higher power that is known");
    FIELD(OPTION, "ambient_celsius", ambient_mdegc,
          "The temperatures are those that are usual in air of this temperature; null where no sensor reports it, or too few "
          "days "
          "have it",
          SCALE(1e-3));
    FIELD(OPTION, "fan_percent", fan_permille, NULL, SCALE(0.1));
    FIELD(OPTION, "idle_power_watts", idle_power_mw, NULL, SCALE(1e-3));
    FIELD(OPTION, "idle_power_high_watts", idle_power_high_mw, NULL, SCALE(1e-3));
    FIELD(OPTION, "utilization_percent", util_permille, "At this hour of the day", SCALE(0.1));
    FIELD(BOOL, "too_hot", too_hot, NULL);
    FIELD(BOOL, "fan_too_fast", too_fast, NULL);
    FIELD(BOOL, "fan_too_slow", fan_behind, NULL);
    FIELD(BOOL, "idle_power_too_high", idle_excess, NULL);
    PART("idle_power_by_memory_clock", clock_answer,
         "Idle power at the present memory clock and at the lowest; null where the history doesn't have both",
         PRESENT(at_low_clock.clock_khz));
    OBJECTS("idle_power_by_process", steps, step_count, step_answer,
            "Idle power before a process that is on the GPU came, and since: only where both were idle minutes in which no other "
            "process came or went");
    FIELD(OBJECT, "drift", drift, "A slow rise at the same power: dust. null: none that stands out from noise",
          PRESENT(drift.rising), FIELDS(drift_answer));
}

ANSWER_NAMES(idle_codes, enum idle_code, idle_code_name, 0, IDLE_CODE_COUNT - 1);

/* ---- what the host and each GPU have in common ---- */

static bool make_likelihood(const struct answer_at *at, union answer_value *ret)
{
    ret->word = why_likelihood(at->record);
    return true;
}

ANSWER_TABLE(cause_answer, struct why_cause, .name = "Cause")
{
    FIELD(NAME, "code", code, NULL, NAMES(finding_codes), OPEN, .none = FINDING_CANNOT_KNOW); /* its text still explains it */
    FIELD(TEXT, "text", text, NULL);
    FIELD(NUMBER, "confidence", confidence, NULL, .schema = "{\"minimum\": 0, \"maximum\": 1}");
    MADE(WORD, "likelihood", make_likelihood, "The same in words",
         .schema = "{\"enum\": [\"very likely\", \"likely\", \"possible\", \"can't tell\"]}");
    TEXTS(TEXT, "evidence", evidence, evidence_count, NULL);
    FIELD(INT, "pid", pid, NULL, OR_NULL);
    FIELD(TEXT, "process", process, NULL, OR_NULL);
}

SHARED_ANSWER_TABLE(why_part_answer, struct why_part, .name = "WhyPart")
{
    FIELD(TEXT, "answer", answer, NULL, COUNTS, FOREIGN);
    FIELD(NAME, "severity", severity, NULL, NAMES(severities), COUNTS);
    OBJECTS("causes", causes, cause_count, cause_answer, "Most likely first", COUNTS, FOREIGN);
    OBJECTS("remedies", remedies, suggestion_count, remedy_answer, "What can be done about the roots, the most useful first");
    TEXTS(TEXT, "suggestions", suggestions, suggestion_count, "The sentences of the remedies, in their order", COUNTS);
}

/* ---- the idle audit ---- */

ANSWER_TABLE(idle_finding_answer, struct idle_finding, .name = "IdleFinding")
{
    FIELD(NAME, "code", code, NULL, NAMES(idle_codes));
    FIELD(TEXT, "text", text, NULL);
    FIELD(INT, "pid", pid, NULL, OR_NULL);
    FIELD(OPTION, "watts", added_mw, "What it adds to the idle power, as measured in the history; null: not measured", SCALE(1e-3));
}

static const void *next_idle(const struct answer_at *at, struct answer_step *step, bool keeps)
{
    const struct idle_audit *a = at->record;
    while (step->at < a->count)
        if (a->findings[step->at++].keeps == keeps)
            return &a->findings[step->at - 1];
    return NULL;
}

static const void *next_that_keeps(const struct answer_at *at, struct answer_step *step)
{
    return next_idle(at, step, true);
}

static const void *next_other(const struct answer_at *at, struct answer_step *step)
{
    return next_idle(at, step, false);
}

ANSWER_TABLE(idle_answer, struct idle_audit, .name = "IdleAudit")
{
    FIELD(TEXT, "answer", answer, NULL);
    EACH(OBJECT, "keeps_from_idling", next_that_keeps, NULL, FIELDS(idle_finding_answer));
    EACH(OBJECT, "also", next_other, "Worth knowing", FIELDS(idle_finding_answer));
    FIELD(BITS, "ruled_out", ruled_out, "Looked at and not so", NAMES(idle_codes));
    FIELD(OPTION, "excess_watts", excess_mw, "Beyond what is usual when idle", SCALE(1e-3));
    FIELD(INT, "hidden_processes", hidden, "Processes that could not be looked at");
    TEXTS(TEXT, "suggestions", suggestions, suggestion_count, NULL);
}

/* ---- a GPU ---- */

ANSWER_TABLE(brief_answer, struct why_brief, .name = "Brief")
{
    FIELD(BOOL, "trouble", trouble, "Something a person notices: lost, throttling for heat, loud, hot, a fan");
    FIELD(TEXT, "headline", headline, "With trouble, what is wrong", OR_NULL);
    FIELD(TEXT, "state", state, NULL, OR_NULL);
    FIELD(TEXT, "numbers", numbers, NULL, OR_NULL);
    FIELD(TEXT, "doing", doing, NULL, OR_NULL);
}

ANSWER_TABLE(gpu_part_answer, struct why_part)
{
    FIELD(INT, "gpu_index", gpu_index, NULL, COUNTS);
    FIELD(OBJECT, "activity", activity, NULL, FIELDS(activity_answer));
    FIELD(OBJECT, "brief", brief, "The same in one line of a list, in parts: state, numbers: doing", FIELDS(brief_answer));
    KEYS(why_part_answer);
    FIELD(OBJECT, "usual", usual, NULL, FIELDS(usual_answer), PRESENT(usual.days));
    FIELD(OBJECT, "idle", idle_audit, "null: not asked for", FIELDS(idle_answer), PRESENT(idle_audit.looked));
    FIELD(TEXT, "after_resume", after_resume,
          "Settings that are others than before the host was suspended, for a day after the resume; null: none", OR_NULL);
}

static bool make_process(const struct answer_at *at, union answer_value *ret)
{
    _Static_assert(sizeof ret->text >= PROCESS_WORDS, "room");
    ret->text[0] = '\0';
    process_words(at->record, SHORT_NAME, ret->text);
    return true;
}

ANSWER_TABLE(limited_answer, struct process)
{
    FIELD(INT, "pid", pid, NULL);
    MADE(TEXT, "process", make_process, NULL);
    FIELD(OBJECT, "limit", limit, NULL, FIELDS(limit_answer));
}

static const void *next_limited(const struct answer_at *at, struct answer_step *step)
{
    const struct gpu *gpu = at->record;
    while (step->at < gpu->process_count)
        if (gpu->processes[step->at++].limit.code)
            return &gpu->processes[step->at - 1];
    return NULL;
}

ANSWER_TABLE(gpu_answer, struct gpu)
{
    FIELD(TEXT, "gpu_name", id.name, NULL, OR_NULL, COUNTS);
    EACH(OBJECT, "limits", next_limited, "What limits the processes on it", FIELDS(limited_answer));
}

struct why_told_gpu {
    const struct why_part *part;
    const struct gpu *gpu;
    struct findings_told found;
    const struct gpu_looked *looked;
};
ANSWER_TABLE(told_gpu_answer, struct why_told_gpu, .name = "WhyGpu")
{
    VIA(KEYS, NULL, part, gpu_part_answer, NULL);
    VIA(KEYS, NULL, gpu, gpu_answer, NULL);
    FIELD(KEYS, NULL, found, NULL, FIELDS(findings_answer));
    VIA(KEYS, NULL, looked, looked_answer, NULL);
}

/* ---- all of them ---- */

/* The answer: the record and its own context. */
struct told_why {
    const struct snapshot *s;
    const struct why *why;
    int only, gpu_index;
    const char *answer, *calm;
    enum severity severity;
    struct wall at;
    bool simulated;
    struct findings_told found;
    const struct why_part *machine;
    struct why_told_gpu gpu; /* the one being written */
};

static const void *next_gpu(const struct answer_at *at, struct answer_step *step)
{
    static const struct gpu unknown;
    struct told_why *told = at->context;
    while (told->why && step->at < told->why->gpu_count) {
        size_t i = step->at++;
        if (told->only != ALL_GPUS && told->only != (int)i)
            continue;
        const struct why_part *part = &told->why->gpus[i];
        told->gpu = (struct why_told_gpu){part, i < told->s->gpu_count ? &told->s->gpus[i] : &unknown,
                                          told_findings(told->why->verdict, part->gpu_index),
                                          told_looked(told->why->verdict, part->gpu_index)};
        return &told->gpu;
    }
    return NULL;
}

SHARED_ANSWER_TABLE(why_answer, struct told_why, .name = "WhyNow", .about = "Why the fan is running, why the GPU is hot or slow")
{
    FIELD(WORD, "answer", answer, "The sentence", COUNTS, FOREIGN);
    FIELD(NAME, "severity", severity, NULL, NAMES(severities), COUNTS);
    FIELD(INT, "gpu_index", gpu_index, "Which GPU the sentence is about first; null: the host", NONE(-1));
    FIELD(WORD, "calm", calm,
          "What may be said where nothing was found: that nothing is unusual only where all was looked at; null where "
          "something was found, and without a GPU",
          OR_NULL, .schema = "{\"enum\": [\"nothing unusual\", \"no trouble seen\", null]}");
    FIELD(MOMENT, "timestamp", at, "Of the sample that was explained; null: nothing was stored then", OR_NULL, COUNTS);
    FIELD(BOOL, "simulated", simulated, NULL, COUNTS);
    EACH(OBJECT, "gpus", next_gpu, NULL, FIELDS(told_gpu_answer));
    FIELD(KEYS, NULL, found, NULL, FIELDS(findings_answer));
    VIA(OBJECT, "machine", machine, why_part_answer, NULL);
}

void json_why_keys(struct json_writer *j, const struct snapshot *s, const struct why *why, int only)
{
    bool one = only >= 0 && only < (int)why->gpu_count;
    const struct why_part *part = one ? &why->gpus[only] : why->gpu_count ? &why->gpus[why->main] : NULL;
    struct told_why told = {.s = s,
                            .why = why,
                            .only = only,
                            .gpu_index = part ? part->gpu_index : -1,
                            .answer = one ? part->answer : why->answer,
                            .calm = why_calm(s, why->verdict, only),
                            .severity = one ? part->severity : why_severity(why),
                            .at = s->taken_at,
                            .simulated = snapshot_simulated(s, ALL_GPUS),
                            .found = told_findings(why->verdict, one ? part->gpu_index : EVERY_GPU),
                            .machine = &why->machine};
    answer_write_keys(j, &why_answer, &told, &told);
}

void json_why_nothing(struct json_writer *j, const char *answer)
{
    struct told_why told = {.gpu_index = -1, .answer = answer, .machine = &(struct why_part){.gpu_index = -1}};
    answer_write_keys(j, &why_answer, &told, &told);
}

void json_why(struct json_writer *j, const struct snapshot *s, const struct why *why, int only)
{
    jw_object(j);
    json_why_keys(j, s, why, only);
    jw_end(j);
}

/* ---- parsing ---- */

static void read_idle(const json_t *list, bool keeps, struct idle_audit *ret)
{
    for (size_t i = 0; i < json_array_size(list) && ret->count < IDLE_FINDINGS_MAX; i++) {
        struct idle_finding *f = &ret->findings[ret->count++];
        answer_read(&idle_finding_answer, json_array_get(list, i), f, NULL);
        f->keeps = keeps;
    }
}

/* A daemon of an older version has sentences alone. */
static void check_remedies(struct why_part *part)
{
    for (size_t i = 0; i < part->suggestion_count; i++)
        if (!part->remedies[i].number)
            part->remedies[i].code = REMEDY_FAULT;
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
    const char *answer = json_string_value(json_object_get(json, "answer"));
    str_copy(why->answer, sizeof why->answer, str_from(answer ? answer : ""));
    why->machine.gpu_index = -1;
    answer_read(&why_part_answer, json_object_get(json, "machine"), &why->machine, NULL);
    check_remedies(&why->machine);
    why->gpu_count = s->gpu_count;
    for (size_t i = 0; i < s->gpu_count; i++) {
        const json_t *gpu = json_array_get(gpus, i), *idle = json_object_get(gpu, "idle");
        struct why_part *part = &why->gpus[i];
        part->activity = s->gpus[i].activity;
        answer_read(&gpu_part_answer, gpu, part, NULL);
        check_remedies(part);
        part->gpu_index = s->gpus[i].index;
        read_idle(json_object_get(idle, "keeps_from_idling"), true, &part->idle_audit);
        read_idle(json_object_get(idle, "also"), false, &part->idle_audit);
        answer_read(&looked_answer, gpu, &why->verdict->gpus[i], NULL);
        if (part->answer[0] && strncmp(why->answer, part->answer, strlen(part->answer)) == 0)
            why->main = i;
    }
    return why;
}
