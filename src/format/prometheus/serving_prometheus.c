/* SPDX-License-Identifier: Apache-2.0
 * Model servers as Prometheus series, with the model as a label. Servers on a GPU with identical labels are merged: tokens and
 * requests are added up, times and shares become their maximum.
 *
 * Also uses OpenTelemetry's names, where they exist: histograms whose sum and count alone are known, with one bucket for all.
 */
#include <errno.h>
#include <stdlib.h>
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

/* A process that is a model server, or a part of one. */
struct served_here {
    const struct process *p;
    size_t gpu;
    struct prometheus_who who;
    struct prometheus_range place, series; /* labels of GPU and process; these with the model */
};

/* Sorted by labels: servers with identical ones are neighbors. */
struct servers {
    struct served_here *list;
    size_t count;
    struct buf labels; /* of all servers, written once */
};

static int by_labels(const struct served_here *x, const struct served_here *y)
{
    int order = (x->gpu > y->gpu) - (x->gpu < y->gpu);
    order = order ? order : prometheus_who_compare(&x->who, &y->who);
    return order ? order : strcmp(x->p->model, y->p->model);
}

static int by_labels_and_kind(const void *a, const void *b)
{
    const struct served_here *x = a, *y = b;
    int order = by_labels(x, y);
    return order ? order : strcmp(x->p->server_kind, y->p->server_kind);
}

static bool is_server(const struct process *p)
{
    for (size_t i = 0; i < ARRAY_LEN(exported); i++)
        if (p->metric[exported[i].metric].state == READING_OK)
            return true;
    for (size_t i = 0; i < SERVING_TIMES; i++)
        if (p->served[i].known)
            return true;
    return false;
}

static void write_labels(struct servers *all, const struct prometheus_labels *labels)
{
    for (size_t i = 0; i < all->count; i++) {
        struct served_here *s = &all->list[i];
        size_t start = all->labels.len;
        if (i && by_labels(s - 1, s) == 0) {
            s->place = s[-1].place;
            s->series = s[-1].series;
            continue;
        }
        buf_str(&all->labels, prometheus_labels_of(labels, s->gpu));
        prometheus_who_labels(&all->labels, &s->who);
        s->place = (struct prometheus_range){start, all->labels.len};
        prometheus_label(&all->labels, false, "model", s->p->model);
        s->series = (struct prometheus_range){start, all->labels.len};
    }
}

/* 0 or -ENOMEM; free `ret` either way. */
static int list_servers(const struct snapshot *s, bool pids, const struct prometheus_labels *labels, struct servers *ret)
{
    size_t count = 0;
    for (size_t g = 0; g < s->gpu_count; g++)
        for (size_t i = 0; i < s->gpus[g].process_count; i++)
            count += is_server(&s->gpus[g].processes[i]);
    *ret = (struct servers){.list = count ? calloc(count, sizeof *ret->list) : NULL, .labels = BUF(PROMETHEUS_MAX)};
    if (count && !ret->list)
        return -ENOMEM;
    for (size_t g = 0; count && g < s->gpu_count; g++)
        for (size_t i = 0; i < s->gpus[g].process_count; i++) {
            const struct process *p = &s->gpus[g].processes[i];
            if (!is_server(p))
                continue;
            struct served_here *one = &ret->list[ret->count++];
            *one = (struct served_here){.p = p, .gpu = g};
            prometheus_who(p, &one->who);
            one->who.pid = pids ? p->pid : 0;
        }
    if (count)
        qsort(ret->list, ret->count, sizeof *ret->list, by_labels_and_kind);
    write_labels(ret, labels);
    return 0;
}

/* How many from here on have identical labels and, with `kind`, the same kind. */
static size_t run_of(const struct servers *all, size_t at, bool kind)
{
    size_t end = at + 1;
    while (end < all->count && all->list[end].series.from == all->list[at].series.from &&
           (!kind || strcmp(all->list[end].p->server_kind, all->list[at].p->server_kind) == 0))
        end++;
    return end - at;
}

static void write_metric(struct buf *out, const struct servers *all, size_t which)
{
    bool headed = false;
    for (size_t i = 0, run; i < all->count; i += run) {
        int64_t sum = 0, value;
        bool any = false;
        run = run_of(all, i, false);
        for (size_t k = i; k < i + run; k++) {
            if (!reading_get(all->list[k].p->metric[exported[which].metric], &value))
                continue;
            sum = exported[which].added ? sum + value : MAX_OF(sum, value);
            any = true;
        }
        if (!any)
            continue;
        prometheus_head_once(out, &headed, exported[which].name, exported[which].type,
                             process_metric_table[exported[which].metric].help);
        prometheus_series(out, str_from(exported[which].name), prometheus_text_of(&all->labels, all->list[i].series),
                          (double)sum * exported[which].scale);
    }
}

/* ---- OpenTelemetry's conventions for generative AI ---- */

static const struct {
    const char *name, *help;
} histograms[SERVING_TIMES] = {
    [SERVING_FIRST_TOKEN] = {"gen_ai_server_time_to_first_token_seconds", "Time from a request to its first token"},
    [SERVING_PER_TOKEN] = {"gen_ai_server_time_per_output_token_seconds", "Time from one token of an answer to the next"},
    [SERVING_REQUEST] = {"gen_ai_server_request_duration_seconds", "Time from a request to the end of its answer"},
};

static void write_part(struct buf *out, const struct servers *all, const struct served_here *s, size_t which, const char *part,
                       double value)
{
    buf_printf(out, "%s_%s{", histograms[which].name, part);
    buf_str(out, prometheus_text_of(&all->labels, s->place));
    /* Its histograms combine chats and completions, so none of the named operations fits. */
    prometheus_label(out, false, "gen_ai_operation_name", "inference");
    prometheus_label(out, false, "gen_ai_provider_name", s->p->server_kind);
    if (s->p->model[0])
        prometheus_label(out, false, "gen_ai_request_model", s->p->model);
    if (strcmp(part, "bucket") == 0)
        prometheus_label(out, false, "le", "+Inf");
    prometheus_end(out, value);
}

static void write_histogram(struct buf *out, const struct servers *all, size_t which)
{
    bool headed = false;
    for (size_t i = 0, run; i < all->count; i += run) {
        struct serving_sum sum = {0};
        run = run_of(all, i, true);
        for (size_t k = i; k < i + run; k++) {
            const struct serving_sum *one = &all->list[k].p->served[which];
            if (!one->known)
                continue;
            sum = (struct serving_sum){.known = true, .seconds = sum.seconds + one->seconds, .count = sum.count + one->count};
        }
        if (!sum.known)
            continue;
        prometheus_head_once(out, &headed, histograms[which].name, "histogram", histograms[which].help);
        write_part(out, all, &all->list[i], which, "bucket", sum.count);
        write_part(out, all, &all->list[i], which, "sum", sum.seconds);
        write_part(out, all, &all->list[i], which, "count", sum.count);
    }
}

void prometheus_serving(struct buf *out, const struct snapshot *s, const struct prometheus_options *o,
                        const struct prometheus_labels *labels)
{
    struct servers all;
    if (list_servers(s, o->pids, labels, &all) < 0)
        out->failed = out->no_memory = true;
    for (size_t which = 0; which < ARRAY_LEN(exported); which++)
        write_metric(out, &all, which);
    for (size_t which = 0; which < SERVING_TIMES; which++)
        write_histogram(out, &all, which);
    out->failed |= all.labels.failed;
    buf_done(&all.labels);
    free(all.list);
}
