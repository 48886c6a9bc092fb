/* SPDX-License-Identifier: Apache-2.0
 * Processes as Prometheus series: adds up those of the same name, user and container on a GPU, because a series per PID would grow
 * the database endlessly. The series of a GPU add up to the GPU's own: "(unattributed)" is what belongs to no listed process,
 * "(others)" what exceeds the exported maximum.
 */
#include "format/prometheus/prometheus.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"

#define OTHERS "(others)"
#define UNATTRIBUTED "(unattributed)"

/* In the order of sum.value. */
static const struct {
    enum process_metric metric;
    enum metric whole; /* the GPU's metric that they add up to; METRIC_COUNT: none */
    const char *name;
    double scale;
    const char *help;
} exported[] = {
    {PROCESS_METRIC_mem_bytes, METRIC_mem_used_bytes, "gpu_process_memory_bytes", 1,
     "Memory of the GPU held by processes of this name; together what is in use"},
    {PROCESS_METRIC_util_permille, METRIC_util_permille, "gpu_process_utilization_percent", 0.1,
     "Share of the GPU's compute units; together the utilization of the GPU"},
    {PROCESS_METRIC_power_mw, METRIC_power_mw, "gpu_process_power_watts", 1e-3,
     "Part of the GPU's power attributed to these processes; together the power draw"},
    {PROCESS_METRIC_parked_mw, METRIC_COUNT, "gpu_process_parked_watts", 1e-3,
     "The part of it that open contexts cost while the GPU rests"},
};
enum { EXPORTED = ARRAY_LEN(exported) };

struct process_sum {
    struct prometheus_who who;
    struct prometheus_range labels; /* of GPU and process, in the text of all sums */
    int64_t count;
    struct reading value[EXPORTED];
    int64_t judged;               /* processes with a known limit */
    int64_t limited[LIMIT_COUNT]; /* permille of their time, added up */
};

struct sums {
    struct process_sum *list;
    size_t count;
    size_t *left_out; /* per GPU: groups that were merged into "(others)" */
    struct buf labels;
};

/* "NAMESPACE/POD/CONTAINER", "NAMESPACE/POD", or another name. */
void prometheus_who(const struct process *p, struct prometheus_who *ret)
{
    *ret = (struct prometheus_who){
        .process = str_from(p->name), .user = str_from(p->user), .container = str_from(p->container), .job = str_from(p->job)};
    if (str_is(ret->process, OTHERS) || str_is(ret->process, UNATTRIBUTED))
        ret->process = STR("?"); /* a process with that name would duplicate a series and spoil the scrape */
    struct str rest = str_from(p->container_name), first, second;
    if (!rest.len)
        return;
    ret->container = rest;
    if (!memchr(rest.at, '/', rest.len) || !str_cut(&rest, '/', &first))
        return;
    ret->space = first;
    if (str_cut(&rest, '/', &second))
        ret->pod = second;
    ret->container = rest;
}

void prometheus_who_labels(struct buf *out, const struct prometheus_who *who)
{
    prometheus_label_str(out, false, "process", who->process);
    prometheus_label_str(out, false, "user", who->user);
    prometheus_label_str(out, false, "container", who->container);
    if (who->pod.len)
        prometheus_label_str(out, false, "pod", who->pod);
    if (who->space.len)
        prometheus_label_str(out, false, "namespace", who->space);
    if (who->job.len) /* not "job", which Prometheus sets for every target; dcgm-exporter's name for it */
        prometheus_label_str(out, false, "hpc_job", who->job);
    if (who->pid) {
        char pid[16];
        snprintf(pid, sizeof pid, "%d", (int)who->pid);
        prometheus_label(out, false, "pid", pid);
    }
}

static int processes_compare(struct str a, struct str b)
{
    int order = memcmp(a.at ? a.at : "", b.at ? b.at : "", MIN_OF(a.len, b.len));
    return order ? order : (a.len > b.len) - (a.len < b.len);
}

int prometheus_who_compare(const struct prometheus_who *x, const struct prometheus_who *y)
{
    int order = processes_compare(x->process, y->process);
    order = order ? order : processes_compare(x->user, y->user);
    order = order ? order : processes_compare(x->container, y->container);
    order = order ? order : processes_compare(x->pod, y->pod);
    order = order ? order : processes_compare(x->space, y->space);
    order = order ? order : processes_compare(x->job, y->job);
    return order ? order : (x->pid > y->pid) - (x->pid < y->pid);
}

static int by_who(const void *a, const void *b)
{
    return prometheus_who_compare(&((const struct process_sum *)a)->who, &((const struct process_sum *)b)->who);
}

/* Most memory first, then utilization: what deserves a series of its own. */
static int by_weight(const void *a, const void *b)
{
    const struct process_sum *x = a, *y = b;
    for (size_t i = 0; i < EXPORTED; i++) {
        int64_t v = reading_or(x->value[i], 0), w = reading_or(y->value[i], 0);
        if (v != w)
            return v < w ? 1 : -1;
    }
    return by_who(a, b);
}

static void processes_add(struct process_sum *to, const struct process_sum *from)
{
    to->count += from->count;
    to->judged += from->judged;
    for (size_t i = 0; i < LIMIT_COUNT; i++)
        to->limited[i] += from->limited[i];
    for (size_t i = 0; i < EXPORTED; i++)
        if (from->value[i].state == READING_OK)
            to->value[i] = reading_ok(reading_or(to->value[i], 0) + from->value[i].value);
}

/* Merges equal neighbors; returns how many are left. */
static size_t merge(struct process_sum *sums, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (kept && by_who(&sums[kept - 1], &sums[i]) == 0)
            processes_add(&sums[kept - 1], &sums[i]);
        else
            sums[kept++] = sums[i];
    }
    return kept;
}

/* The driver measures processes and the GPU in different windows: scale down shares whose sum exceeds the whole. */
static void scale_to_whole(struct process_sum *sums, size_t count, size_t which, int64_t whole)
{
    int64_t sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += reading_or(sums[i].value[which], 0);
    for (size_t i = 0; sum > whole && i < count; i++)
        if (sums[i].value[which].state == READING_OK)
            sums[i].value[which].value = sums[i].value[which].value * whole / sum;
}

/* The rest of the GPU's own figures. */
static bool rest_of(const struct gpu *gpu, const struct process_sum *sums, size_t count, struct process_sum *ret)
{
    bool any = false;
    *ret = (struct process_sum){.who = {.process = STR(UNATTRIBUTED)}};
    for (size_t k = 0; k < EXPORTED; k++) {
        int64_t whole, sum = 0;
        if (exported[k].whole == METRIC_COUNT || !reading_get(gpu->metric[exported[k].whole], &whole))
            continue;
        for (size_t i = 0; i < count; i++)
            sum += reading_or(sums[i].value[k], 0);
        if (whole > sum)
            ret->value[k] = reading_ok(whole - sum);
        any |= whole > sum;
    }
    return any;
}

/* Returns how many sums were written to `sums`, which has room for two more than there are processes. */
static size_t sum_up(const struct gpu *gpu, const struct prometheus_options *o, struct process_sum *sums, size_t *left_out)
{
    size_t count = 0, most = o->no_process_groups ? 0 : o->process_groups ? o->process_groups : PROMETHEUS_GROUPS;
    for (size_t i = 0; i < gpu->process_count; i++) {
        const struct process *p = &gpu->processes[i];
        struct process_sum *sum = &sums[count++];
        *sum = (struct process_sum){.count = 1};
        prometheus_who(p, &sum->who);
        sum->who.pid = o->pids ? p->pid : 0;
        for (size_t k = 0; k < EXPORTED; k++)
            sum->value[k] = p->metric[exported[k].metric];
        sum->judged = p->limit.code != LIMIT_UNJUDGED;
        sum->limited[p->limit.code] = p->limit.share_permille;
        if (p->limit.second != LIMIT_UNJUDGED)
            sum->limited[p->limit.second] += p->limit.second_permille;
    }
    qsort(sums, count, sizeof *sums, by_who);
    count = merge(sums, count);
    *left_out = count > most ? count - most : 0;
    if (*left_out) {
        qsort(sums, count, sizeof *sums, by_weight);
        struct process_sum others = {.who = {.process = STR(OTHERS)}};
        for (size_t i = most; i < count; i++)
            processes_add(&others, &sums[i]);
        count = most;
        qsort(sums, count, sizeof *sums, by_who);
        sums[count++] = others;
    }
    int64_t whole;
    if (reading_get(gpu->util_permille, &whole))
        scale_to_whole(sums, count, 1, whole);
    count += rest_of(gpu, sums, count, &sums[count]);
    return count;
}

static struct str sum_labels(const struct sums *sums, size_t i)
{
    return prometheus_text_of(&sums->labels, sums->list[i].labels);
}

static void counts(struct buf *out, const struct sums *sums, const char *name, const char *help)
{
    bool headed = false;
    for (size_t i = 0; i < sums->count; i++) {
        if (!sums->list[i].count)
            continue;
        prometheus_head_once(out, &headed, name, "gauge", help);
        prometheus_series(out, str_from(name), sum_labels(sums, i), (double)sums->list[i].count);
    }
}

static void values(struct buf *out, const struct sums *sums, size_t k)
{
    bool headed = false;
    for (size_t i = 0; i < sums->count; i++) {
        struct reading r = sums->list[i].value[k];
        if (r.state != READING_OK)
            continue;
        prometheus_head_once(out, &headed, exported[k].name, "gauge", exported[k].help);
        prometheus_series(out, str_from(exported[k].name), sum_labels(sums, i), (double)r.value * exported[k].scale);
    }
}

/* The mean over processes of the same name. */
static void limits(struct buf *out, const struct sums *sums)
{
    static const char name[] = "gpu_process_limit";
    bool headed = false;
    for (size_t i = 0; i < sums->count; i++)
        for (size_t k = LIMIT_UNJUDGED + 1; k < LIMIT_COUNT; k++) {
            const struct process_sum *sum = &sums->list[i];
            if (!sum->judged || !sum->limited[k])
                continue;
            prometheus_head_once(out, &headed, name, "gauge",
                                 "Share of the time, 0 to 1, in which this limited the processes of this name, over the last 10 s");
            buf_text(out, "gpu_process_limit{");
            buf_str(out, sum_labels(sums, i));
            prometheus_label(out, false, "limit", limit_name((enum limit)k));
            prometheus_end(out, (double)sum->limited[k] / (double)sum->judged * 1e-3);
        }
}

static void left_out(struct buf *out, const struct snapshot *s, const struct prometheus_labels *labels, const size_t *folded)
{
    static const char name[] = "gpu_process_groups_left_out";
    prometheus_head(out, name, "gauge", "Groups of processes that have no series of their own: they are in \"(others)\"");
    for (size_t i = 0; i < s->gpu_count; i++)
        prometheus_series(out, str_from(name), prometheus_labels_of(labels, i),
                          (double)(folded[i] + s->gpus[i].processes_left_out));
}

void prometheus_processes(struct buf *out, const struct snapshot *s, const struct prometheus_options *o,
                          const struct prometheus_labels *labels)
{
    size_t most = 0;
    for (size_t i = 0; i < s->gpu_count; i++)
        most += s->gpus[i].process_count + 2;
    AUTO_FREE struct process_sum *list = calloc(most, sizeof *list);
    AUTO_FREE size_t *folded = calloc(s->gpu_count, sizeof *folded);
    struct sums sums = {.list = list, .labels = BUF(PROMETHEUS_MAX)};
    if (!list || !folded)
        return;
    for (size_t i = 0; i < s->gpu_count; i++) {
        size_t end = sums.count + sum_up(&s->gpus[i], o, list + sums.count, &folded[i]);
        for (; sums.count < end; sums.count++) {
            struct process_sum *sum = &list[sums.count];
            sum->labels.from = sums.labels.len;
            buf_str(&sums.labels, prometheus_labels_of(labels, i));
            prometheus_who_labels(&sums.labels, &sum->who);
            sum->labels.to = sums.labels.len;
        }
    }
    counts(out, &sums, "gpu_processes", "Processes of this name on the GPU");
    if (o->sets & PROMETHEUS_OLD_NAMES)
        counts(out, &sums, "gpu_process_count", "Old name of gpu_processes, until 0.4");
    for (size_t k = 0; k < EXPORTED; k++)
        values(out, &sums, k);
    limits(out, &sums);
    left_out(out, s, labels, folded);
    out->failed |= sums.labels.failed;
    buf_done(&sums.labels);
}
