/* SPDX-License-Identifier: Apache-2.0 */
#include "why_expect.h"
#include "model/finding_code.h"

#include <strings.h>

#include "insight/facts/facts.h"
#include "test.h"

static void print_part(const struct why_part *part)
{
    print_error("    [%d] %s\n", part->gpu_index, part->answer);
    for (size_t i = 0; i < part->cause_count; i++) {
        const struct why_cause *cause = &part->causes[i];
        print_error("      %.2f %s: %s\n", cause->confidence, finding_code_name(cause->code), cause->text);
        for (size_t e = 0; e < cause->evidence_count; e++)
            print_error("           - %s\n", cause->evidence[e]);
    }
    for (size_t i = 0; i < part->suggestion_count; i++)
        print_error("      > %s\n", part->suggestions[i]);
}

void expectation_print(const struct why *why)
{
    print_error("    overall: %s\n", why->answer);
    if (why->machine.cause_count)
        print_part(&why->machine);
    for (size_t i = 0; i < why->gpu_count; i++)
        print_part(&why->gpus[i]);
}

static bool has(const char *text, struct str words)
{
    char needle[512];
    str_copy(needle, sizeof needle, words);
    return strstr(text, needle) != NULL;
}

static bool has_case(const char *text, struct str words)
{
    char needle[512];
    str_copy(needle, sizeof needle, words);
    return strcasestr(text, needle) != NULL;
}

static bool among(const struct why_part *part, struct str code)
{
    for (size_t i = 0; i < part->cause_count; i++)
        if (str_is(code, finding_code_name(part->causes[i].code)))
            return true;
    return false;
}

static bool in_confidence(const struct why_cause *cause, struct str range)
{
    struct str low_text, high_text;
    double low, high;
    return str_word(&range, &low_text) && str_word(&range, &high_text) && str_to_double(low_text, &low) &&
           str_to_double(high_text, &high) && cause->confidence >= low && cause->confidence <= high;
}

static bool some_line(const char (*lines)[WHY_LINE_SIZE], size_t count, struct str words)
{
    for (size_t i = 0; i < count; i++)
        if (has_case(lines[i], words))
            return true;
    return false;
}

static const struct why_part *part_named(const struct why *why, struct str key, struct str value)
{
    int64_t index;
    if (str_is(key, "machine"))
        return &why->machine;
    for (size_t i = 0; str_to_i64(value, &index) && i < why->gpu_count; i++)
        if (why->gpus[i].gpu_index == index)
            return &why->gpus[i];
    return NULL;
}

struct expectation expectation_first(const struct scenario_block *block, const struct why *why)
{
    return (struct expectation){.block = block, .why = why, .part = why->gpu_count ? &why->gpus[0] : &why->machine};
}

bool expectation_next(struct expectation *e)
{
    while (e->next < e->block->count) {
        e->line = e->value = e->block->lines[e->next++];
        str_word(&e->value, &e->key);
        e->value = str_trim(e->value);
        if (!str_is(e->key, "gpu") && !str_is(e->key, "machine"))
            return true;
        e->part = part_named(e->why, e->key, e->value);
    }
    return false;
}

/* "58 loading" */
static bool process_is(const struct scenario_machine *m, int gpu_index, struct str value)
{
    struct str pid_text;
    int64_t pid;
    str_word(&value, &pid_text);
    for (size_t i = 0; str_to_i64(pid_text, &pid) && i < m->now->gpu_count; i++) {
        const struct process *p = m->now->gpus[i].index == gpu_index ? gpu_find_process(&m->now->gpus[i], (int32_t)pid) : NULL;
        if (p)
            return str_is(str_trim(value),
                          process_activity_name(activity_of_process(m->now, &m->now->gpus[i], p, m->has_past ? &m->past : NULL)));
    }
    return false;
}

static bool has_symptom(const struct why_part *part, struct str name)
{
    for (unsigned i = 0; i < SYMPTOM_COUNT; i++)
        if (part->activity.symptoms & 1u << i && str_is(name, symptom_name(i)))
            return true;
    return false;
}

bool expectation_holds(const struct scenario_machine *m, const struct why *why, const struct why_part *part, struct str key,
                       struct str value)
{
    static const struct why_cause no_cause = {.code = FINDING_CODE_COUNT};
    const struct why_cause *first = part && part->cause_count ? &part->causes[0] : &no_cause;
    int64_t pid;
    if (str_is(key, "overall"))
        return has(why->answer, value);
    if (str_is(key, "overall-omits"))
        return !has(why->answer, value);
    if (str_is(key, "overall-begins"))
        return strncmp(why->answer, value.at, value.len) == 0;
    if (!part)
        return false;
    if (str_is(key, "is"))
        return str_is(value, part->answer);
    if (str_is(key, "brief"))
        return has(part->brief.state, value) || has(part->brief.doing, value);
    if (str_is(key, "brief-omits"))
        return !has(part->brief.state, value) && !has(part->brief.doing, value);
    if (str_is(key, "says"))
        return has(part->answer, value);
    if (str_is(key, "omits"))
        return !has(part->answer, value);
    if (str_is(key, "cause"))
        return str_is(value, finding_code_name(first->code));
    if (str_is(key, "also"))
        return among(part, value);
    if (str_is(key, "never"))
        return !among(part, value);
    if (str_is(key, "pid"))
        return first->pid == (str_to_i64(value, &pid) ? pid : 0);
    if (str_is(key, "confidence"))
        return in_confidence(first, value);
    if (str_is(key, "cause-says"))
        return has(first->text, value);
    if (str_is(key, "evidence"))
        return some_line(first->evidence, first->evidence_count, value);
    if (str_is(key, "activity"))
        return str_is(value, activity_code_name(part->activity.code));
    if (str_is(key, "symptom"))
        return has_symptom(part, value);
    if (str_is(key, "no-symptom"))
        return !has_symptom(part, value);
    if (str_is(key, "process"))
        return process_is(m, part->gpu_index, value);
    if (str_is(key, "no-suggestion"))
        return !some_line(part->suggestions, part->suggestion_count, value);
    if (str_is(key, "suggests"))
        return some_line(part->suggestions, part->suggestion_count, value);
    return false;
}
