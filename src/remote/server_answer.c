/* SPDX-License-Identifier: Apache-2.0
 * Parses the answers of model servers. Counters that move only when a request ends yield no rate: it would be 0, then a false peak.
 */
#include "remote/model_server.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "guard/json_path.h"

#define MOST 1e15         /* limit of plausible counts */
#define MOST_A_SECOND 1e9 /* limit of plausible rates */

enum { MEAN_KEPT_MS = 60000 };

enum quantity {
    RUNNING,
    WAITING,
    KV,        /* 0 to 1 */
    PREEMPTED, /* counters */
    GENERATED,
    GENERATED_AT_END, /* moves when a request ends */
    SPEED,            /* tokens a second */
    PROMPT,
    PROMPT_AT_END,
    FIRST_SUM, /* seconds, and their count */
    FIRST_COUNT,
    TOKEN_SUM,
    TOKEN_COUNT,
    REQUEST_SUM,
    REQUEST_COUNT,
    PREFIX_HITS,
    PREFIX_QUERIES,
    PREFIX_RATE, /* 0 to 1 */
    IN_FLIGHT,   /* running and waiting */
    QUANTITIES
};

#define TEXT(literal)                  \
    {                                  \
        (literal), sizeof(literal) - 1 \
    }

/* Names without the server's common prefix. If a quantity has two names, the first one present counts: the other is from older
 * versions. */
static const struct sample_name {
    enum model_server kind;
    enum quantity quantity;
    struct str name;
    const char *label, *value; /* that the sample must have; NULL: none */
} names[] = {
    {SERVER_VLLM, RUNNING, TEXT("num_requests_running"), NULL, NULL},
    {SERVER_VLLM, WAITING, TEXT("num_requests_waiting"), NULL, NULL},
    {SERVER_VLLM, KV, TEXT("kv_cache_usage_perc"), NULL, NULL},
    {SERVER_VLLM, KV, TEXT("gpu_cache_usage_perc"), NULL, NULL}, /* before 0.9.2 */
    {SERVER_VLLM, PREEMPTED, TEXT("num_preemptions_total"), NULL, NULL},
    {SERVER_VLLM, GENERATED, TEXT("generation_tokens_total"), NULL, NULL},
    {SERVER_VLLM, PROMPT, TEXT("prompt_tokens_total"), NULL, NULL},
    {SERVER_VLLM, REQUEST_SUM, TEXT("e2e_request_latency_seconds_sum"), NULL, NULL},
    {SERVER_VLLM, REQUEST_COUNT, TEXT("e2e_request_latency_seconds_count"), NULL, NULL},
    {SERVER_VLLM, FIRST_SUM, TEXT("time_to_first_token_seconds_sum"), NULL, NULL},
    {SERVER_VLLM, FIRST_COUNT, TEXT("time_to_first_token_seconds_count"), NULL, NULL},
    {SERVER_VLLM, TOKEN_SUM, TEXT("inter_token_latency_seconds_sum"), NULL, NULL},
    {SERVER_VLLM, TOKEN_COUNT, TEXT("inter_token_latency_seconds_count"), NULL, NULL},
    {SERVER_VLLM, TOKEN_SUM, TEXT("time_per_output_token_seconds_sum"), NULL, NULL}, /* before 0.15 */
    {SERVER_VLLM, TOKEN_COUNT, TEXT("time_per_output_token_seconds_count"), NULL, NULL},
    {SERVER_VLLM, PREFIX_HITS, TEXT("prefix_cache_hits_total"), NULL, NULL},
    {SERVER_VLLM, PREFIX_QUERIES, TEXT("prefix_cache_queries_total"), NULL, NULL},
    {SERVER_VLLM, PREFIX_HITS, TEXT("gpu_prefix_cache_hits_total"), NULL, NULL},
    {SERVER_VLLM, PREFIX_QUERIES, TEXT("gpu_prefix_cache_queries_total"), NULL, NULL},
    {SERVER_SGLANG, RUNNING, TEXT("num_running_reqs"), NULL, NULL},
    {SERVER_SGLANG, WAITING, TEXT("num_queue_reqs"), NULL, NULL},
    {SERVER_SGLANG, KV, TEXT("token_usage"), NULL, NULL},
    {SERVER_SGLANG, PREEMPTED, TEXT("num_retracted_requests_total"), NULL, NULL},
    {SERVER_SGLANG, GENERATED, TEXT("realtime_tokens_total"), "mode", "decode"}, /* since 0.5.7 */
    {SERVER_SGLANG, GENERATED_AT_END, TEXT("generation_tokens_total"), NULL, NULL},
    {SERVER_SGLANG, SPEED, TEXT("gen_throughput"), NULL, NULL},
    {SERVER_SGLANG, PROMPT_AT_END, TEXT("prompt_tokens_total"), NULL, NULL},
    {SERVER_SGLANG, REQUEST_SUM, TEXT("e2e_request_latency_seconds_sum"), NULL, NULL},
    {SERVER_SGLANG, REQUEST_COUNT, TEXT("e2e_request_latency_seconds_count"), NULL, NULL},
    {SERVER_SGLANG, FIRST_SUM, TEXT("time_to_first_token_seconds_sum"), NULL, NULL},
    {SERVER_SGLANG, FIRST_COUNT, TEXT("time_to_first_token_seconds_count"), NULL, NULL},
    {SERVER_SGLANG, TOKEN_SUM, TEXT("inter_token_latency_seconds_sum"), NULL, NULL},
    {SERVER_SGLANG, TOKEN_COUNT, TEXT("inter_token_latency_seconds_count"), NULL, NULL},
    {SERVER_SGLANG, PREFIX_RATE, TEXT("cache_hit_rate"), NULL, NULL},
    {SERVER_TENSORRT_LLM, RUNNING, TEXT("num_requests_running"), NULL, NULL},
    {SERVER_TENSORRT_LLM, WAITING, TEXT("num_requests_waiting"), NULL, NULL},
    {SERVER_TENSORRT_LLM, KV, TEXT("kv_cache_utilization"), NULL, NULL},
    {SERVER_TENSORRT_LLM, GENERATED_AT_END, TEXT("generation_tokens_total"), NULL, NULL},
    {SERVER_TENSORRT_LLM, PROMPT_AT_END, TEXT("prompt_tokens_total"), NULL, NULL},
    {SERVER_TENSORRT_LLM, REQUEST_SUM, TEXT("e2e_request_latency_seconds_sum"), NULL, NULL},
    {SERVER_TENSORRT_LLM, REQUEST_COUNT, TEXT("e2e_request_latency_seconds_count"), NULL, NULL},
    {SERVER_TENSORRT_LLM, FIRST_SUM, TEXT("time_to_first_token_seconds_sum"), NULL, NULL},
    {SERVER_TENSORRT_LLM, FIRST_COUNT, TEXT("time_to_first_token_seconds_count"), NULL, NULL},
    {SERVER_TENSORRT_LLM, TOKEN_SUM, TEXT("time_per_output_token_seconds_sum"), NULL, NULL},
    {SERVER_TENSORRT_LLM, TOKEN_COUNT, TEXT("time_per_output_token_seconds_count"), NULL, NULL},
    {SERVER_TENSORRT_LLM, PREFIX_RATE, TEXT("kv_cache_hit_rate"), NULL, NULL},
    {SERVER_LMDEPLOY, RUNNING, TEXT("num_requests_running"), NULL, NULL},
    {SERVER_LMDEPLOY, WAITING, TEXT("num_requests_waiting"), NULL, NULL},
    {SERVER_LMDEPLOY, KV, TEXT("gpu_cache_usage_perc"), NULL, NULL},
    {SERVER_LMDEPLOY, GENERATED, TEXT("generation_tokens_total"), NULL, NULL},
    {SERVER_LMDEPLOY, PROMPT, TEXT("prompt_tokens_total"), NULL, NULL},
    {SERVER_LMDEPLOY, REQUEST_SUM, TEXT("e2e_request_latency_seconds_sum"), NULL, NULL},
    {SERVER_LMDEPLOY, REQUEST_COUNT, TEXT("e2e_request_latency_seconds_count"), NULL, NULL},
    {SERVER_LMDEPLOY, FIRST_SUM, TEXT("time_to_first_token_seconds_sum"), NULL, NULL},
    {SERVER_LMDEPLOY, FIRST_COUNT, TEXT("time_to_first_token_seconds_count"), NULL, NULL},
    {SERVER_TGI, REQUEST_SUM, TEXT("request_duration_sum"), NULL, NULL},
    {SERVER_TGI, REQUEST_COUNT, TEXT("request_duration_count"), NULL, NULL},
    {SERVER_TGI, RUNNING, TEXT("batch_current_size"), NULL, NULL},
    {SERVER_TGI, WAITING, TEXT("queue_size"), NULL, NULL},
    {SERVER_TGI, GENERATED_AT_END, TEXT("request_generated_tokens_sum"), NULL, NULL},
    {SERVER_TGI, PROMPT_AT_END, TEXT("request_input_length_sum"), NULL, NULL},
    {SERVER_TRITON, WAITING, TEXT("inference_pending_request_count"), NULL, NULL},
    {SERVER_TRITON, KV, TEXT("trt_llm_kv_cache_block_metrics"), "kv_cache_block_type", "fraction"},
    {SERVER_DYNAMO, IN_FLIGHT, TEXT("inflight_requests"), NULL, NULL},
    {SERVER_DYNAMO, WAITING, TEXT("queued_requests"), NULL, NULL},
    {SERVER_DYNAMO, GENERATED, TEXT("output_tokens_total"), NULL, NULL},
    {SERVER_DYNAMO, PROMPT_AT_END, TEXT("input_sequence_tokens_sum"), NULL, NULL},
    {SERVER_DYNAMO, REQUEST_SUM, TEXT("request_duration_seconds_sum"), NULL, NULL},
    {SERVER_DYNAMO, REQUEST_COUNT, TEXT("request_duration_seconds_count"), NULL, NULL},
    {SERVER_DYNAMO, FIRST_SUM, TEXT("time_to_first_token_seconds_sum"), NULL, NULL},
    {SERVER_DYNAMO, FIRST_COUNT, TEXT("time_to_first_token_seconds_count"), NULL, NULL},
    {SERVER_DYNAMO, TOKEN_SUM, TEXT("inter_token_latency_seconds_sum"), NULL, NULL},
    {SERVER_DYNAMO, TOKEN_COUNT, TEXT("inter_token_latency_seconds_count"), NULL, NULL},
    {SERVER_MLC, GENERATED_AT_END, TEXT("completion_tokens_sum"), NULL, NULL},
    {SERVER_MLC, PROMPT_AT_END, TEXT("prompt_tokens_sum"), NULL, NULL},
    {SERVER_XINFERENCE, GENERATED_AT_END, TEXT("output_tokens_total_counter"), NULL, NULL},
    {SERVER_XINFERENCE, PROMPT_AT_END, TEXT("input_tokens_total_counter"), NULL, NULL},
    {SERVER_XINFERENCE, FIRST_SUM, TEXT("time_to_first_token_seconds_sum"), NULL, NULL},
    {SERVER_XINFERENCE, FIRST_COUNT, TEXT("time_to_first_token_seconds_count"), NULL, NULL},
};

static const char *const prefixes[SERVER_COUNT] = {
    [SERVER_VLLM] = "vllm:",
    [SERVER_APHRODITE] = "aphrodite:",
    [SERVER_SGLANG] = "sglang:",
    [SERVER_TENSORRT_LLM] = "trtllm_",
    [SERVER_LMDEPLOY] = "lmdeploy:",
    [SERVER_TGI] = "tgi_",
    [SERVER_TRITON] = "nv_",
    [SERVER_NIM] = "",
    [SERVER_DYNAMO] = "dynamo_frontend_",
    [SERVER_MLC] = "",
    [SERVER_XINFERENCE] = "xinference:",
};

/* ---- the samples of a text ---- */

struct seen {
    bool found, spoiled;
    double sum, most;
    double *of_rank; /* per SGLang replica; NULL: engines are added up */
};

/* Parses "{labels} value [time]" after a name. Labels may contain blanks and braces, so the value follows the last brace. */
static bool read_sample(struct str rest, struct str *labels, double *value)
{
    struct str word;
    const char *brace = rest.at[0] == '{' ? memrchr(rest.at, '}', rest.len) : rest.at - 1;
    if (!brace)
        return false;
    *labels = (struct str){rest.at, (size_t)(brace + 1 - rest.at)};
    rest = (struct str){brace + 1, rest.len - labels->len};
    return str_word(&rest, &word) && str_to_double(word, value) && *value >= 0 && *value <= MOST;
}

/* Matches only after a brace or comma: moe_dp_rank is not dp_rank. */
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

/* Adds up engines. SGLang's tensor and pipeline ranks repeat the figures of their replica. */
static void add_sample(struct seen *seen, struct str labels, double value)
{
    struct str text;
    int64_t rank = 0;
    if (seen->of_rank && find_label(labels, "dp_rank", &text) && (!str_to_i64(text, &rank) || rank < 0 || rank >= RANKS_MAX)) {
        seen->spoiled = true;
        return;
    }
    seen->most = MAX_OF(seen->most, value);
    seen->found = true;
    if (!seen->of_rank) {
        seen->sum += value;
    } else if (value > seen->of_rank[rank]) {
        seen->sum += value - seen->of_rank[rank];
        seen->of_rank[rank] = value;
    }
}

/* False if the name is not among those. */
static bool take_line(struct str line, size_t len, const struct sample_name *name, size_t count, struct seen *seen)
{
    struct str labels, text;
    double value;
    bool known = false;
    for (size_t i = 0; i < count; i++) {
        if (name[i].name.len != len || memcmp(line.at, name[i].name.at, len) != 0)
            continue;
        known = true;
        if (read_sample((struct str){line.at + len, line.len - len}, &labels, &value) &&
            (!name[i].label || (find_label(labels, name[i].label, &text) && str_is(text, name[i].value))))
            add_sample(&seen[i], labels, value);
    }
    return known;
}

static bool ends_name(char c)
{
    return c == '{' || c == ' ' || c == '\t';
}

/* Most lines are histogram buckets, many in a row with the same name: skip repeated unknown names. */
static void take_lines(struct str metrics, struct str prefix, const struct sample_name *name, size_t count, struct seen *seen)
{
    struct str line, unwanted = {0};
    while (str_cut(&metrics, '\n', &line)) {
        if (line.len <= prefix.len || line.at[0] == '#' || memcmp(line.at, prefix.at, prefix.len) != 0)
            continue;
        line = (struct str){line.at + prefix.len, line.len - prefix.len};
        if (unwanted.len && line.len > unwanted.len && ends_name(line.at[unwanted.len]) &&
            memcmp(line.at, unwanted.at, unwanted.len) == 0)
            continue;
        size_t len = 0;
        while (len < line.len && !ends_name(line.at[len]))
            len++;
        if (len < line.len && !take_line(line, len, name, count, seen))
            unwanted = (struct str){line.at, len};
    }
}

/* The names of one server, which are adjacent. */
static const struct sample_name *names_of(enum model_server kind, size_t *count)
{
    enum model_server family = kind == SERVER_APHRODITE || kind == SERVER_NIM ? SERVER_VLLM : kind;
    size_t first = 0, end;
    while (first < ARRAY_LEN(names) && names[first].kind != family)
        first++;
    for (end = first; end < ARRAY_LEN(names) && names[end].kind == family;)
        end++;
    *count = end - first;
    return &names[first];
}

/* One number per quantity, negative if absent. Returns how many are present. */
static size_t read_quantities(struct str metrics, enum model_server kind, double quantities[QUANTITIES])
{
    struct seen seen[ARRAY_LEN(names)] = {0};
    struct str prefix = str_from(prefixes[kind]);
    size_t found = 0, count;
    const struct sample_name *own = names_of(kind, &count);
    AUTO_FREE double *ranks = kind == SERVER_SGLANG ? calloc(count * RANKS_MAX, sizeof *ranks) : NULL;
    for (size_t i = 0; ranks && i < count; i++)
        seen[i].of_rank = ranks + i * RANKS_MAX;
    if (count)
        take_lines(metrics, prefix, own, count, seen);
    for (size_t q = 0; q < QUANTITIES; q++)
        quantities[q] = -1;
    for (size_t i = 0; i < count; i++) {
        enum quantity q = own[i].quantity;
        bool share = q == KV || q == PREFIX_RATE;
        if (!seen[i].found || seen[i].spoiled || quantities[q] >= 0 || (share && seen[i].most > 1))
            continue;
        quantities[q] = share ? seen[i].most : seen[i].sum;
        found++;
    }
    return found;
}

/* ---- figures ---- */

/* Updates the counter with `value`; returns the rate per second, in 1/1000. */
static struct reading step(struct server_counter *c, double value, struct mono now)
{
    struct server_counter before = *c;
    if (value < 0)
        return reading_absent(READING_UNSUPPORTED);
    *c = (struct server_counter){true, value, now};
    int64_t passed_ms = mono_since_ms(now, before.at);
    double rate = (value - before.value) * 1000 / (double)passed_ms;
    if (!before.seen || passed_ms <= 0 || rate < 0 || rate > MOST_A_SECOND) /* negative: it was restarted */
        return reading_absent(READING_PENDING);
    return reading_ok(llround(rate * 1000));
}

static struct reading mean_since(struct server_mean *m, double sum, double count, double scale, struct mono now)
{
    if (sum < 0 || count < 0)
        return reading_absent(READING_UNSUPPORTED);
    double more = sum - m->sum, of = count - m->count;
    if (m->seen && of > 0 && more >= 0) {
        m->value = reading_ok(llround(MIN_OF(more / of * scale, MOST)));
        m->at = now;
    } else if (!m->seen || of < 0 || more < 0 || mono_since_ms(now, m->at) > MEAN_KEPT_MS) {
        m->value = reading_absent(READING_PENDING);
    }
    m->seen = true;
    m->sum = sum;
    m->count = count;
    return m->value;
}

static struct reading count_of(double value, double scale)
{
    return value >= 0 ? reading_ok(llround(value * scale)) : reading_absent(READING_UNSUPPORTED);
}

static void forget_figures(struct server_answers *a)
{
    for (size_t i = 0; i < FIGURES; i++)
        a->figure[i] = reading_absent(READING_UNSUPPORTED);
    memset(a->served, 0, sizeof a->served);
}

/* The server's own totals. */
static struct serving_sum served_so_far(double seconds, double count)
{
    bool known = seconds >= 0 && seconds < MOST && count >= 0 && count < MOST;
    return known ? (struct serving_sum){true, seconds, count} : (struct serving_sum){0};
}

/* Servers may report anything. */
static void drop_implausible(struct server_answers *a)
{
    for (size_t i = 0; i < FIGURES; i++)
        if (a->figure[i].state == READING_OK && !metric_is_plausible(&process_metric_table[FIGURES_FROM + i], a->figure[i].value))
            a->figure[i] = reading_absent(READING_IMPLAUSIBLE);
}

bool server_answer_metrics(struct server_answers *a, enum model_server kind, struct str metrics, struct mono now)
{
    double q[QUANTITIES];
    struct reading *figure = a->figure;
    forget_figures(a);
    if (!read_quantities(metrics, kind, q))
        return false;
    figure[FIGURE(tokens_milli)] = step(&a->generated, q[GENERATED], now);
    /* SGLang's counter appears with the first token; the gauge exists before. */
    if (figure[FIGURE(tokens_milli)].state != READING_OK && q[SPEED] >= 0 && q[SPEED] < MOST_A_SECOND)
        figure[FIGURE(tokens_milli)] = count_of(q[SPEED], 1000);
    figure[FIGURE(prompt_milli)] = step(&a->prompt, q[PROMPT], now);
    figure[FIGURE(generated_tokens)] = count_of(q[GENERATED] >= 0 ? q[GENERATED] : q[GENERATED_AT_END], 1);
    figure[FIGURE(prompt_tokens)] = count_of(q[PROMPT] >= 0 ? q[PROMPT] : q[PROMPT_AT_END], 1);
    a->served[SERVING_FIRST_TOKEN] = served_so_far(q[FIRST_SUM], q[FIRST_COUNT]);
    a->served[SERVING_PER_TOKEN] = served_so_far(q[TOKEN_SUM], q[TOKEN_COUNT]);
    a->served[SERVING_REQUEST] = served_so_far(q[REQUEST_SUM], q[REQUEST_COUNT]);
    figure[FIGURE(first_token_us)] = mean_since(&a->first_token, q[FIRST_SUM], q[FIRST_COUNT], 1e6, now);
    figure[FIGURE(token_time_us)] = mean_since(&a->token_time, q[TOKEN_SUM], q[TOKEN_COUNT], 1e6, now);
    if (q[RUNNING] < 0 && q[IN_FLIGHT] >= 0 && q[WAITING] >= 0)
        q[RUNNING] = MAX_OF(q[IN_FLIGHT] - q[WAITING], 0);
    figure[FIGURE(requests_running)] = count_of(q[RUNNING], 1);
    figure[FIGURE(requests_waiting)] = count_of(q[WAITING], 1);
    figure[FIGURE(kv_cache_permille)] = count_of(q[KV], 1000);
    figure[FIGURE(prefix_permille)] =
        q[PREFIX_RATE] >= 0 ? count_of(q[PREFIX_RATE], 1000) : mean_since(&a->prefix, q[PREFIX_HITS], q[PREFIX_QUERIES], 1000, now);
    figure[FIGURE(preempted_milli)] = step(&a->preempted, q[PREEMPTED], now);
    drop_implausible(a);
    return true;
}

/* ---- JSON ---- */

enum reading_state server_answer_awake(struct str props)
{
    AUTO_JSON json_t *root = json_loadb(props.at, props.len, 0, NULL);
    const char *role = json_string_value(json_object_get(root, "role"));
    bool router = !json_is_object(root) || (role && strcmp(role, "router") == 0);
    bool sleeping = json_is_true(json_object_get(root, "is_sleeping"));
    return router ? READING_UNSUPPORTED : sleeping ? READING_ASLEEP : READING_OK;
}

/* {"id_task": 7, "next_token": {"n_decoded": 12}}; in newer versions next_token is a list. */
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

bool server_answer_slots(struct server_answers *a, struct str slots, struct mono now)
{
    json_t *list = json_loadb(slots.at, slots.len, 0, NULL), *slot;
    double tokens = a->generated.value;
    size_t i, known = 0, working = 0;
    forget_figures(a);
    json_array_foreach(list, i, slot)
    {
        int64_t task, decoded;
        if (i >= SLOTS_MAX || !read_slot(slot, &task, &decoded))
            continue;
        known++;
        working += json_is_true(json_object_get(slot, "is_processing"));
        bool same = a->generated.seen && a->slots[i].task == task && decoded >= a->slots[i].decoded;
        tokens += (double)(decoded - (same ? a->slots[i].decoded : 0));
        a->slots[i].task = task;
        a->slots[i].decoded = decoded;
    }
    /* Slots without a task so far have no tokens, but still count as slots. */
    known += json_is_array(list) && json_array_size(list) > 0 && json_object_get(json_array_get(list, 0), "n_ctx");
    json_decref(list);
    if (!known)
        return false;
    a->figure[FIGURE(tokens_milli)] = step(&a->generated, tokens, now);
    a->figure[FIGURE(requests_running)] = reading_ok((int64_t)working);
    return true;
}

/* {"exec_info": {"queue_remaining": 2}} includes the running one; {"size": 1, "tasks": [...]} are those waiting; {"queue": 0,
 * "idle": 1}. */
static const struct {
    enum model_server kind;
    size_t figure;
    const char *path;
    bool is_idle; /* 0 means that one request is running */
} json_figures[] = {
    {SERVER_COMFYUI, FIGURE(image_jobs), "exec_info.queue_remaining", false},
    {SERVER_AUTOMATIC1111, FIGURE(requests_waiting), "size", false},
    {SERVER_KOBOLDCPP, FIGURE(requests_waiting), "queue", false},
    {SERVER_KOBOLDCPP, FIGURE(requests_running), "idle", true},
};

bool server_answers_json(enum model_server kind)
{
    for (size_t i = 0; i < ARRAY_LEN(json_figures); i++)
        if (json_figures[i].kind == kind)
            return true;
    return false;
}

bool server_answer_json(struct server_answers *a, enum model_server kind, struct str text)
{
    AUTO_JSON json_t *root = json_loadb(text.at, text.len, 0, NULL);
    bool told = false;
    forget_figures(a);
    for (size_t i = 0; i < ARRAY_LEN(json_figures); i++) {
        const json_t *value = json_figures[i].kind == kind ? json_path_first(root, json_figures[i].path) : NULL;
        if (!json_is_integer(value))
            continue;
        told = true;
        a->figure[json_figures[i].figure] =
            reading_ok(json_figures[i].is_idle ? json_integer_value(value) == 0 : json_integer_value(value));
    }
    drop_implausible(a);
    return told;
}
