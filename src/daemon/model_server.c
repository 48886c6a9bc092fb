/* SPDX-License-Identifier: Apache-2.0
 * Counters of generated tokens, as the servers name them:
 *
 *   vLLM       vllm:generation_tokens_total{model_name="..."} 5123.0
 *   llama.cpp  llamacpp:tokens_predicted_total 5123                    (llama-server --metrics; else its /slots)
 *   SGLang     sglang:generation_tokens_total{...} 5123                (--enable-metrics)
 */
#include "daemon/model_server.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

#include "base/cleanup.h"

static const char *const counters[] = {"vllm:generation_tokens_total", "llamacpp:tokens_predicted_total",
                                       "sglang:generation_tokens_total"};

enum model_server model_server_of(const struct process *p)
{
    const char *title = process_title(p);
    if (strcmp(title, "vllm") == 0 || str_starts(str_from(p->name), "VLLM::"))
        return SERVER_VLLM;
    if (strcmp(p->name, "llama-server") == 0)
        return SERVER_LLAMA_CPP;
    return strcmp(title, "sglang") == 0 || str_starts(str_from(p->name), "sglang::") ? SERVER_SGLANG : SERVER_UNKNOWN;
}

/* "name{labels} value [time]" of one of the counters. A label may hold blanks and braces: the value stands behind the last brace.
 */
static bool read_sample(struct str line, double *value)
{
    for (size_t i = 0; i < ARRAY_LEN(counters); i++) {
        size_t len = strlen(counters[i]);
        if (!str_starts(line, counters[i]) || line.len <= len || (line.at[len] != '{' && line.at[len] != ' '))
            continue;
        const char *brace = line.at[len] == '{' ? memrchr(line.at, '}', line.len) : line.at + len - 1;
        struct str rest = {brace ? brace + 1 : line.at, brace ? line.len - (size_t)(brace + 1 - line.at) : 0}, word;
        return str_word(&rest, &word) && str_to_double(word, value) && *value >= 0;
    }
    return false;
}

/* The counter stands at `tokens` now. */
static struct reading step(struct server_speed *s, double tokens, struct mono now)
{
    struct server_speed before = *s;
    s->seen = true;
    s->tokens = tokens;
    s->at = now;
    int64_t passed_ms = mono_since_ms(now, before.at);
    if (!before.seen || passed_ms <= 0 || tokens < before.tokens) /* it was restarted */
        return reading_absent(READING_PENDING);
    return reading_ok(llround((tokens - before.tokens) * 1000 * 1000 / (double)passed_ms));
}

struct reading model_server_speed(struct server_speed *s, struct str metrics, struct mono now)
{
    struct str line;
    double tokens = 0, one;
    bool found = false;
    while (str_cut(&metrics, '\n', &line))
        if (read_sample(line, &one)) {
            tokens += one;
            found = true;
        }
    return found ? step(s, tokens, now) : reading_absent(READING_UNSUPPORTED);
}

/* {"id_task": 7, "next_token": {"n_decoded": 12}}; newer ones have next_token as a list. */
static bool read_slot(const json_t *slot, int64_t *task, int64_t *decoded)
{
    const json_t *next = json_object_get(slot, "next_token");
    if (json_is_array(next))
        next = json_array_get(next, 0);
    const json_t *count = json_object_get(next, "n_decoded"), *id = json_object_get(slot, "id_task");
    *task = json_integer_value(id);
    *decoded = json_integer_value(count);
    return json_is_integer(count) && json_is_integer(id) && *decoded >= 0;
}

struct reading model_server_slots(struct server_speed *s, struct str slots, struct mono now)
{
    json_t *list = json_loadb(slots.at, slots.len, 0, NULL), *slot;
    double tokens = s->tokens;
    size_t i, known = 0;
    json_array_foreach(list, i, slot)
    {
        int64_t task, decoded;
        if (i >= SLOTS_MAX || !read_slot(slot, &task, &decoded))
            continue;
        known++;
        bool same = s->seen && s->slots[i].task == task && decoded >= s->slots[i].decoded;
        tokens += (double)(decoded - (same ? s->slots[i].decoded : 0));
        s->slots[i].task = task;
        s->slots[i].decoded = decoded;
    }
    /* Slots that have had no task yet tell nothing of tokens, but are slots. */
    bool idle = json_is_array(list) && json_array_size(list) > 0 && json_object_get(json_array_get(list, 0), "n_ctx");
    json_decref(list);
    return known || idle ? step(s, tokens, now) : reading_absent(READING_UNSUPPORTED);
}
