/* SPDX-License-Identifier: Apache-2.0
 * Where a process spends its CPU time, as JSON, written and parsed.
 */
#include <jansson.h>
#include <string.h>

#include "format/json/json.h"

static void write_functions(struct json_writer *j, const struct address_samples *s)
{
    jw_key_array(j, "functions");
    for (size_t i = 0; i < ADDRESS_OBJECTS && s->functions[i].permille; i++) {
        jw_object(j);
        jw_key_text(j, "name", s->functions[i].name);
        jw_key_text(j, "object", s->functions[i].object);
        jw_key_number(j, "percent", (double)s->functions[i].permille / 10);
        jw_end(j);
    }
    jw_end(j);
}

void json_cpu_samples(struct json_writer *j, int32_t pid, const struct address_samples *s)
{
    char words[ADDRESS_WORDS];
    jw_object(j);
    jw_key_number(j, "pid", pid);
    jw_key_text(j, "state", reading_state_name(s->state));
    jw_key_text(j, "words", address_samples_words(s, words));
    jw_key_number(j, "over_seconds", (double)s->over_ms / MS_PER_S);
    jw_key_number(j, "samples", (double)s->samples);
    jw_key_number(j, "threads", (double)s->threads);
    jw_key_number(j, "cpu_percent", (double)s->cpu_permille / 10);
    jw_key(j, "share_percent");
    jw_object(j);
    for (int g = 0; g < ADDRESS_GROUPS; g++)
        jw_key_number(j, address_group_name((enum address_group)g), (double)s->permille[g] / 10);
    jw_end(j);
    jw_key(j, "objects");
    jw_array(j);
    for (size_t i = 0; i < ADDRESS_OBJECTS && s->objects[i].permille; i++) {
        jw_object(j);
        jw_key_text(j, "name", s->objects[i].name);
        jw_key_number(j, "percent", (double)s->objects[i].permille / 10);
        jw_end(j);
    }
    jw_end(j);
    if (s->functions_named)
        write_functions(j, s);
    jw_end(j);
}

bool json_cpu_samples_words(struct str answer, char words[ADDRESS_WORDS])
{
    json_t *json = json_loadb(answer.at, answer.len, JSON_REJECT_DUPLICATES, NULL);
    const char *text = json_string_value(json_object_get(json, "words"));
    const char *state = json_string_value(json_object_get(json, "state"));
    bool fine = text && state && strcmp(state, "ok") == 0;
    if (fine)
        str_copy_clean(words, ADDRESS_WORDS, str_from(text));
    json_decref(json);
    return fine;
}
