/* SPDX-License-Identifier: Apache-2.0
 * Where a process spends its CPU time, as JSON, written and parsed.
 */
#include <jansson.h>
#include <string.h>

#include "base/cleanup.h"
#include "format/json/json.h"

ANSWER_TABLE(object_answer, struct address_object)
{
    FIELD(TEXT, "name", name, NULL, FOREIGN);
    FIELD(AMOUNT, "percent", permille, NULL, SCALE(0.1));
}

ANSWER_TABLE(function_answer, struct address_function)
{
    FIELD(TEXT, "name", name, NULL, FOREIGN);
    FIELD(TEXT, "object", object, NULL, FOREIGN);
    FIELD(AMOUNT, "percent", permille, NULL, SCALE(0.1));
}

static const void *next_object(const struct answer_at *at, struct answer_step *step)
{
    const struct address_samples *s = at->record;
    return step->at < ADDRESS_OBJECTS && s->objects[step->at].permille ? &s->objects[step->at++] : NULL;
}

static const void *next_function(const struct answer_at *at, struct answer_step *step)
{
    const struct address_samples *s = at->record;
    return step->at < ADDRESS_OBJECTS && s->functions[step->at].permille ? &s->functions[step->at++] : NULL;
}

ANSWER_TABLE(share_answer, struct address_samples)
{
    for (size_t i = 0; i < ADDRESS_GROUPS; i++)
        FIELD(AMOUNT, address_group_name((enum address_group)i), permille[i], NULL, SCALE(0.1));
}

static bool make_words(const struct answer_at *at, union answer_value *ret)
{
    _Static_assert(sizeof ret->text >= ADDRESS_WORDS, "room");
    const char *words = address_samples_words(at->record, ret->text);
    if (words != ret->text)
        str_copy(ret->text, sizeof ret->text, str_from(words));
    return true;
}

ANSWER_MAKER(make_state, struct address_samples, word, reading_state_name(of->state));

ANSWER_TABLE(samples_answer, struct address_samples)
{
    MADE(WORD, "state", make_state, "ok, or why there is no result");
    MADE(TEXT, "words", make_words, "The answer in words, or what would permit it");
    FIELD(AMOUNT, "over_seconds", over_ms, NULL, SCALE(1e-3));
    FIELD(INT, "samples", samples, NULL);
    FIELD(INT, "threads", threads, NULL);
    FIELD(AMOUNT, "cpu_percent", cpu_permille, "Of one core, over all threads that were sampled", SCALE(0.1));
    PART("share_percent", share_answer, "Of the CPU time");
    EACH(OBJECT, "objects", next_object, "Files with the most CPU time, busiest first", FIELDS(object_answer));
    EACH(OBJECT, "functions", next_function, "Only where they were asked for", FIELDS(function_answer), PRESENT(functions_named),
         MAYBE);
}

SHARED_ANSWER_TABLE(cpu_samples_answer, struct told_samples, .name = "CpuSamples", .about = "Where a process spends its CPU time")
{
    FIELD(INT, "pid", pid, NULL);
    VIA(KEYS, NULL, s, samples_answer, NULL);
}

void json_cpu_samples(struct json_writer *j, int32_t pid, const struct address_samples *s)
{
    answer_write(j, &cpu_samples_answer, &(struct told_samples){pid, s}, NULL);
}

bool json_cpu_samples_words(struct str answer, char words[ADDRESS_WORDS])
{
    AUTO_JSON json_t *json = json_loadb(answer.at, answer.len, JSON_REJECT_DUPLICATES, NULL);
    const char *text = json_string_value(json_object_get(json, "words"));
    const char *state = json_string_value(json_object_get(json, "state"));
    bool fine = text && state && strcmp(state, "ok") == 0;
    if (fine)
        str_copy_clean(words, ADDRESS_WORDS, str_from(text));
    return fine;
}
