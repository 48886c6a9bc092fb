/* SPDX-License-Identifier: Apache-2.0
 * Model servers as Prometheus series, with the model as a label. Servers on a GPU that have all labels in common are one: tokens
 * and requests are added up, of times and shares the largest is theirs.
 *
 * What OpenTelemetry has names for is there under these, too: histograms of which only the sum and the count are known, that is
 * with the one bucket that has all.
 */
#include <string.h>

#include "base/cleanup.h"
#include "format/prometheus/prometheus.h"

static const struct {
    enum process_metric metric;
    const char *name, *type;
    double scale;
    bool added;
} exported[] = {
    {PROCESS_METRIC_generated_tokens, "gpu_model_server_generated_tokens_total", "counter", 1, true},
    {PROCESS_METRIC_prompt_tokens, "gpu_model_server_prompt_tokens_total", "counter", 1, true},
    {PROCESS_METRIC_tokens_milli, "gpu_model_server_tokens_per_second", "gauge", 1e-3, true},
    {PROCESS_METRIC_first_token_us, "gpu_model_server_time_to_first_token_seconds", "gauge", 1e-6, false},
    {PROCESS_METRIC_token_time_us, "gpu_model_server_time_per_token_seconds", "gauge", 1e-6, false},
    {PROCESS_METRIC_requests_running, "gpu_model_server_requests_running", "gauge", 1, true},
    {PROCESS_METRIC_requests_waiting, "gpu_model_server_requests_waiting", "gauge", 1, true},
    {PROCESS_METRIC_kv_cache_permille, "gpu_model_server_kv_cache_percent", "gauge", 0.1, false},
    {PROCESS_METRIC_prefix_permille, "gpu_model_server_prefix_cache_hit_percent", "gauge", 0.1, false},
    {PROCESS_METRIC_preempted_milli, "gpu_model_server_preemptions_per_second", "gauge", 1e-3, true},
    {PROCESS_METRIC_image_jobs, "gpu_model_server_image_jobs", "gauge", 1, true},
};

static bool is_same(const struct process *a, const struct process *b, bool pids)
{
    struct prometheus_who x, y;
    prometheus_who(a, &x);
    prometheus_who(b, &y);
    return prometheus_who_compare(&x, &y) == 0 && strcmp(a->model, b->model) == 0 && (!pids || a->pid == b->pid);
}

/* Of this one and those behind it that are the same; false: it was with one before it. */
static bool sum_of_same(const struct gpu *gpu, size_t at, size_t which, bool pids, int64_t *sum)
{
    enum process_metric metric = exported[which].metric;
    int64_t value;
    *sum = 0;
    for (size_t i = 0; i < gpu->process_count; i++) {
        if (!reading_get(gpu->processes[i].metric[metric], &value) || !is_same(&gpu->processes[i], &gpu->processes[at], pids))
            continue;
        if (i < at)
            return false;
        *sum = exported[which].added ? *sum + value : MAX_OF(*sum, value);
    }
    return true;
}

static void write_series(struct buf *out, const struct process *p, struct str labels, size_t which, bool pids, int64_t value)
{
    struct prometheus_who who;
    prometheus_who(p, &who);
    who.pid = pids ? p->pid : 0;
    buf_text(out, exported[which].name);
    buf_char(out, '{');
    buf_str(out, labels);
    prometheus_who_labels(out, &who);
    prometheus_label(out, false, "model", p->model);
    buf_char(out, '}');
    prometheus_value(out, (double)value * exported[which].scale);
}

/* ---- OpenTelemetry's conventions for generative AI ---- */

static const struct {
    const char *name, *help;
} histograms[SERVING_TIMES] = {
    [SERVING_FIRST_TOKEN] = {"gen_ai_server_time_to_first_token_seconds", "Time from a request to its first token"},
    [SERVING_PER_TOKEN] = {"gen_ai_server_time_per_output_token_seconds", "Time from one token of an answer to the next"},
    [SERVING_REQUEST] = {"gen_ai_server_request_duration_seconds", "Time from a request to the end of its answer"},
};

/* Of this one and those behind it that are the same; false: it was with one before it. */
static bool served_by_same(const struct gpu *gpu, size_t at, size_t which, bool pids, struct serving_sum *ret)
{
    const struct process *p = &gpu->processes[at];
    *ret = (struct serving_sum){0};
    for (size_t i = 0; i < gpu->process_count; i++) {
        const struct process *other = &gpu->processes[i];
        if (!other->served[which].known || strcmp(other->server_kind, p->server_kind) != 0 || !is_same(other, p, pids))
            continue;
        if (i < at)
            return false;
        ret->seconds += other->served[which].seconds;
        ret->count += other->served[which].count;
    }
    return true;
}

static void write_part(struct buf *out, const struct process *p, struct str labels, size_t which, bool pids, const char *part,
                       double value)
{
    struct prometheus_who who;
    prometheus_who(p, &who);
    who.pid = pids ? p->pid : 0;
    buf_printf(out, "%s_%s{", histograms[which].name, part);
    buf_str(out, labels);
    prometheus_who_labels(out, &who);
    /* Its histograms are of chats and completions together: none of the operations that have a name. */
    prometheus_label(out, false, "gen_ai_operation_name", "inference");
    prometheus_label(out, false, "gen_ai_provider_name", p->server_kind);
    if (p->model[0])
        prometheus_label(out, false, "gen_ai_request_model", p->model);
    if (strcmp(part, "bucket") == 0)
        prometheus_label(out, false, "le", "+Inf");
    buf_char(out, '}');
    prometheus_value(out, value);
}

static void write_histograms(struct buf *out, const struct snapshot *s, bool pids, const struct prometheus_labels *labels)
{
    struct serving_sum sum;
    for (size_t which = 0; which < SERVING_TIMES; which++) {
        bool headed = false;
        for (size_t g = 0; g < s->gpu_count; g++)
            for (size_t i = 0; i < s->gpus[g].process_count; i++) {
                const struct process *p = &s->gpus[g].processes[i];
                if (!p->served[which].known || !served_by_same(&s->gpus[g], i, which, pids, &sum))
                    continue;
                prometheus_head_once(out, &headed, histograms[which].name, "histogram", histograms[which].help);
                write_part(out, p, prometheus_labels_of(labels, g), which, pids, "bucket", sum.count);
                write_part(out, p, prometheus_labels_of(labels, g), which, pids, "sum", sum.seconds);
                write_part(out, p, prometheus_labels_of(labels, g), which, pids, "count", sum.count);
            }
    }
}

void prometheus_serving(struct buf *out, const struct snapshot *s, const struct prometheus_options *o,
                        const struct prometheus_labels *labels)
{
    for (size_t which = 0; which < ARRAY_LEN(exported); which++) {
        bool headed = false;
        for (size_t g = 0; g < s->gpu_count; g++)
            for (size_t i = 0; i < s->gpus[g].process_count; i++) {
                const struct process *p = &s->gpus[g].processes[i];
                int64_t value;
                if (p->metric[exported[which].metric].state != READING_OK || !sum_of_same(&s->gpus[g], i, which, o->pids, &value))
                    continue;
                prometheus_head_once(out, &headed, exported[which].name, exported[which].type,
                                     process_metric_table[exported[which].metric].help);
                write_series(out, p, prometheus_labels_of(labels, g), which, o->pids, value);
            }
    }
    write_histograms(out, s, o->pids, labels);
}
