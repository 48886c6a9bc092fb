/* SPDX-License-Identifier: Apache-2.0
 * Command lines of servers, and what they say of generated tokens, as far as it moves while a request runs:
 *
 *   vLLM       vllm:generation_tokens_total{model_name="..."} 5123.0
 *   SGLang     sglang:realtime_tokens_total{mode="decode",...} 5123    (--enable-metrics, since 0.5.7)
 *              sglang:gen_throughput{...} 81.5                         (before)
 *   llama.cpp  n_decoded of each slot
 *
 * Not used: sglang:generation_tokens_total and llamacpp:tokens_predicted_total move when a request ends, and each look at
 * llama.cpp's /metrics restarts the window over which it averages for other scrapers. trtllm-serve's /metrics is emptied by each
 * look.
 */
#include "daemon/model_server.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "host/identity.h"

enum { NCCL_RAS_PORT = 28028 }; /* of a training job's own diagnosis: a line protocol */

enum model_server model_server_of(const struct process *p)
{
    const char *title = process_title(p);
    if (strcmp(title, "vllm") == 0 || str_starts(str_from(p->name), "VLLM::"))
        return SERVER_VLLM;
    if (strcmp(p->name, "llama-server") == 0)
        return SERVER_LLAMA_CPP;
    return strcmp(title, "sglang") == 0 || str_starts(str_from(p->name), "sglang::") ? SERVER_SGLANG : SERVER_UNKNOWN;
}

/* ---- which port is asked ---- */

static struct str base_of(struct str path)
{
    const char *slash = path.len ? memrchr(path.at, '/', path.len) : NULL;
    return slash ? (struct str){slash + 1, path.len - (size_t)(slash + 1 - path.at)} : path;
}

/* The value of "--option VALUE" or "--option=VALUE", the last one given; dashes and underscores are the same. */
static bool find_option(const struct str *args, size_t count, const char *option, struct str *value)
{
    bool found = false;
    for (size_t i = 0; i < count; i++) {
        struct str rest = args[i], name;
        if (!str_starts(rest, "--") || !str_cut(&rest, '=', &name) || name.len != strlen(option))
            continue;
        bool same = true;
        for (size_t k = 0; k < name.len; k++)
            same &= (name.at[k] == '_' ? '-' : name.at[k]) == option[k];
        if (!same)
            continue;
        found = true;
        *value = name.len < args[i].len ? rest : i + 1 < count ? args[i + 1] : (struct str){0};
    }
    return found;
}

/* The program that answers, and its usual port; 0: not the front of such a server. */
static uint16_t usual_port(enum model_server kind, const struct str *args, size_t count)
{
    static const char *const vllm[] = {"vllm.entrypoints.openai.api_server", "vllm.entrypoints.api_server"};
    size_t at = command_program_at(args, count);
    if (at >= count)
        return 0;
    struct str name = base_of(args[at]);
    bool serves = at + 1 < count && str_is(args[at + 1], "serve");
    switch (kind) {
    case SERVER_VLLM:
        serves &= str_is(name, "vllm") || str_is(name, "vllm.entrypoints.cli.main");
        return serves || str_is(name, vllm[0]) || str_is(name, vllm[1]) ||
                       str_ends(args[at], "vllm/entrypoints/openai/api_server.py")
                   ? 8000
                   : 0;
    case SERVER_SGLANG: return str_is(name, "sglang.launch_server") || (serves && str_is(name, "sglang")) ? 30000 : 0;
    case SERVER_LLAMA_CPP: return str_is(name, "llama-server") ? 8080 : 0;
    case SERVER_UNKNOWN: break;
    }
    return 0;
}

static bool sleeps_when_idle(const struct str *args, size_t count)
{
    struct str text;
    int64_t seconds;
    return find_option(args, count, "--sleep-idle-seconds", &text) && (!str_to_i64(text, &seconds) || seconds >= 0); /* -1: never */
}

bool model_server_port(enum model_server kind, const struct str *args, size_t count, uint16_t *port)
{
    static const char *const elsewhere[] = {"--uds", "--headless", "--ssl-keyfile", "--ssl-key-file"};
    struct str text;
    int64_t number = usual_port(kind, args, count);
    if (number == 0 || sleeps_when_idle(args, count))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(elsewhere); i++)
        if (find_option(args, count, elsewhere[i], &text))
            return false;
    if (find_option(args, count, "--port", &text) && !str_to_i64(text, &number))
        return false;
    *port = (uint16_t)number;
    return number > 0 && number <= UINT16_MAX && number != NCCL_RAS_PORT;
}

/* ---- what it answers ---- */

/* "name{labels} value [time]" of this name. A label may hold blanks and braces: the value stands behind the last brace. */
static bool read_sample(struct str line, const char *name, struct str *labels, double *value)
{
    size_t len = strlen(name);
    if (!str_starts(line, name) || line.len <= len || (line.at[len] != '{' && line.at[len] != ' '))
        return false;
    const char *brace = line.at[len] == '{' ? memrchr(line.at, '}', line.len) : line.at + len - 1;
    if (!brace)
        return false;
    struct str rest = {brace + 1, line.len - (size_t)(brace + 1 - line.at)}, word;
    *labels = (struct str){line.at + len, (size_t)(brace + 1 - line.at) - len};
    return str_word(&rest, &word) && str_to_double(word, value) && *value >= 0;
}

/* Behind a brace or a comma: moe_dp_rank is not dp_rank. */
static bool find_label(struct str labels, const char *name, struct str *value)
{
    char mark[32];
    for (const char *before = "{,"; *before; before++) {
        int len = snprintf(mark, sizeof mark, "%c%s=\"", *before, name);
        const char *at = labels.len ? memmem(labels.at, labels.len, mark, (size_t)len) : NULL;
        if (!at)
            continue;
        struct str rest = {at + len, labels.len - (size_t)(at + len - labels.at)};
        return str_cut(&rest, '"', value);
    }
    return false;
}

/* All engines of vLLM together. */
static bool sum_engines(struct str metrics, const char *name, double *sum)
{
    struct str line, labels;
    bool found = false;
    double one;
    for (*sum = 0; str_cut(&metrics, '\n', &line);)
        if (read_sample(line, name, &labels, &one)) {
            *sum += one;
            found = true;
        }
    return found;
}

/* All replicas of SGLang together. Its tensor and pipeline ranks repeat the figures of their replica. */
static bool sum_replicas(struct str metrics, const char *name, const char *mode, double *sum)
{
    double of[RANKS_MAX] = {0}, one;
    struct str line, labels, text;
    bool found = false;
    while (str_cut(&metrics, '\n', &line)) {
        int64_t rank = 0;
        if (!read_sample(line, name, &labels, &one) || (mode && !(find_label(labels, "mode", &text) && str_is(text, mode))))
            continue;
        if (find_label(labels, "dp_rank", &text) && (!str_to_i64(text, &rank) || rank < 0 || rank >= RANKS_MAX))
            return false;
        of[rank] = MAX_OF(of[rank], one);
        found = true;
    }
    *sum = 0;
    for (size_t i = 0; i < RANKS_MAX; i++)
        *sum += of[i];
    return found;
}

/* The counter stands at `value` now: by how much it moved a second, in 1/1000. */
static struct reading model_server_step(struct server_counter *c, double value, struct mono now)
{
    struct server_counter before = *c;
    *c = (struct server_counter){true, value, now};
    int64_t passed_ms = mono_since_ms(now, before.at);
    if (!before.seen || passed_ms <= 0 || value < before.value) /* it was restarted */
        return reading_absent(READING_PENDING);
    return reading_ok(llround((value - before.value) * 1000 * 1000 / (double)passed_ms));
}

/* The first of these that is there: of engines or replicas together. */
static struct reading count_of(struct str metrics, const char *vllm, const char *sglang)
{
    double sum;
    if (sum_engines(metrics, vllm, &sum) || sum_replicas(metrics, sglang, NULL, &sum))
        return reading_ok(llround(sum));
    return reading_absent(READING_UNSUPPORTED);
}

/* A share of 0 to 1; vLLM's had another name before 0.9.2. */
static struct reading fullest(struct str metrics)
{
    static const char *const names[] = {"vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc", "sglang:token_usage"};
    struct str line, labels;
    double most = -1, one;
    while (str_cut(&metrics, '\n', &line))
        for (size_t i = 0; i < ARRAY_LEN(names); i++)
            if (read_sample(line, names[i], &labels, &one) && one <= 1)
                most = MAX_OF(most, one);
    return most >= 0 ? reading_ok(llround(most * 1000)) : reading_absent(READING_UNSUPPORTED);
}

static void read_load(struct server_speed *s, struct str metrics, struct mono now)
{
    struct reading preempted = count_of(metrics, "vllm:num_preemptions_total", "sglang:num_retracted_requests_total");
    s->load = (struct server_load){.running = count_of(metrics, "vllm:num_requests_running", "sglang:num_running_reqs"),
                                   .waiting = count_of(metrics, "vllm:num_requests_waiting", "sglang:num_queue_reqs"),
                                   .kv_permille = fullest(metrics),
                                   .preempted_milli = preempted.state == READING_OK
                                                          ? model_server_step(&s->preempted, (double)preempted.value, now)
                                                          : preempted};
}

struct reading model_server_speed(struct server_speed *s, struct str metrics, struct mono now)
{
    double tokens, per_second;
    read_load(s, metrics, now);
    bool counted = sum_engines(metrics, "vllm:generation_tokens_total", &tokens) ||
                   sum_replicas(metrics, "sglang:realtime_tokens_total", "decode", &tokens);
    struct reading r = counted ? model_server_step(&s->tokens, tokens, now) : reading_absent(READING_UNSUPPORTED);
    /* The counter appears with the first token; the gauge is there before. */
    if (r.state != READING_OK && sum_replicas(metrics, "sglang:gen_throughput", NULL, &per_second))
        return reading_ok(llround(per_second * 1000));
    return r;
}

enum reading_state model_server_awake(struct str props)
{
    json_t *root = json_loadb(props.at, props.len, 0, NULL);
    const char *role = json_string_value(json_object_get(root, "role"));
    bool router = !json_is_object(root) || (role && strcmp(role, "router") == 0);
    bool sleeping = json_is_true(json_object_get(root, "is_sleeping"));
    json_decref(root);
    return router ? READING_UNSUPPORTED : sleeping ? READING_ASLEEP : READING_OK;
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
    double tokens = s->tokens.value;
    size_t i, known = 0, working = 0;
    json_array_foreach(list, i, slot)
    {
        int64_t task, decoded;
        if (i >= SLOTS_MAX || !read_slot(slot, &task, &decoded))
            continue;
        known++;
        working += json_is_true(json_object_get(slot, "is_processing"));
        bool same = s->tokens.seen && s->slots[i].task == task && decoded >= s->slots[i].decoded;
        tokens += (double)(decoded - (same ? s->slots[i].decoded : 0));
        s->slots[i].task = task;
        s->slots[i].decoded = decoded;
    }
    /* Slots that have had no task yet tell nothing of tokens, but are slots. */
    bool idle = json_is_array(list) && json_array_size(list) > 0 && json_object_get(json_array_get(list, 0), "n_ctx");
    json_decref(list);
    const struct reading untold = reading_absent(READING_UNSUPPORTED);
    s->load = (struct server_load){.running = known || idle ? reading_ok((int64_t)working) : untold,
                                   .waiting = untold,
                                   .kv_permille = untold,
                                   .preempted_milli = untold};
    return known || idle ? model_server_step(&s->tokens, tokens, now) : untold;
}
