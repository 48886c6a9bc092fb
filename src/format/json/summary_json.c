/* SPDX-License-Identifier: Apache-2.0
 * The summary of all GPUs: what a dashboard shows first, and what clients get with every sample.
 */
#include "base/units.h"
#include "format/json/json.h"
#include "format/json/told.h"
#include "insight/view/why.h"
#include "model/severity.h"

#include <stdlib.h>

/* Adds a known reading; the sum stays absent without any. */
static void summary_add(struct reading *sum, struct reading r)
{
    if (r.state != READING_OK)
        return;
    *sum = reading_ok(reading_or(*sum, 0) + r.value);
}

static int by_number(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

/* A process on several GPUs counts once. */
static struct reading count_processes(const struct snapshot *s)
{
    size_t most = 0;
    bool known = s->gpu_count == 0;
    for (size_t i = 0; i < s->gpu_count; i++) {
        most += s->gpus[i].process_count;
        known |= s->gpus[i].processes_state == READING_OK;
    }
    if (!known)
        return reading_absent(READING_UNREAD);
    int32_t *pids = most ? malloc(most * sizeof *pids) : NULL;
    if (!pids)
        return most ? reading_absent(READING_FAILED) : reading_ok(0);
    size_t count = 0, distinct = 0;
    for (size_t i = 0; i < s->gpu_count; i++)
        for (size_t p = 0; p < s->gpus[i].process_count; p++)
            pids[count++] = s->gpus[i].processes[p].pid;
    qsort(pids, count, sizeof *pids, by_number);
    for (size_t i = 0; i < count; i++)
        distinct += i == 0 || pids[i] != pids[i - 1];
    free(pids);
    return reading_ok((int64_t)distinct);
}

struct told_totals told_totals(const struct snapshot *s)
{
    struct told_totals t = {.processes = count_processes(s)};
    for (size_t i = 0; i < s->gpu_count; i++) {
        summary_add(&t.used, s->gpus[i].mem_used_bytes);
        summary_add(&t.total, s->gpus[i].mem_total_bytes);
        summary_add(&t.power, s->gpus[i].power_mw);
    }
    return t;
}

SHARED_ANSWER_TABLE(totals_answer, struct told_totals, .name = "Totals", .about = "Of all GPUs, as far as they report it")
{
    FIELD(READING, "memory_used_mb", used, NULL, SCALE(PER_MIB));
    FIELD(READING, "memory_total_mb", total, NULL, SCALE(PER_MIB));
    FIELD(READING, "power_watts", power, NULL, SCALE(1e-3));
    FIELD(READING, "process_count", processes, "A process on several GPUs counts once", WHOLE);
}

ANSWER_TABLE(top_answer, struct process, .name = "TopProcess")
{
    FIELD(INT, "pid", pid, NULL);
    FIELD(TEXT, "name", name, NULL, OR_NULL);
    MADE(TEXT, "short_name", make_short_name, "As in Process");
    FIELD(TEXT, "user", user, NULL, OR_NULL);
    FIELD(READING, "memory_mb", mem_bytes, NULL, SCALE(PER_MIB));
    FIELD(READING, "utilization_percent", util_permille, NULL, SCALE(0.1));
}

struct told_summary_gpu {
    const struct gpu *gpu;
    const struct process *top;
    struct reading processes;
    struct findings_told found;
};

ANSWER_TABLE(gpu_head_answer, struct gpu)
{
    FIELD(INT, "index", index, NULL);
    FIELD(TEXT, "name", id.name, NULL, OR_NULL);
    FIELD(TEXT, "vendor", id.vendor, NULL, OR_NULL);
    FIELD(NAME, "state", state, NULL, NAMES(gpu_states));
    FIELD(TEXT, "error_message", error_message, NULL, OR_NULL);
    FIELD(BOOL, "simulated", simulated, NULL);
    FIELD(OBJECT, "activity", activity, NULL, FIELDS(activity_answer));
    FIELD(READING, "utilization_percent", util_permille, NULL, SCALE(0.1));
    FIELD(READING, "memory_used_mb", mem_used_bytes, NULL, SCALE(PER_MIB));
    FIELD(READING, "memory_total_mb", mem_total_bytes, NULL, SCALE(PER_MIB));
    FIELD(READING, "temperature_celsius", temp_mdegc, NULL, SCALE(1e-3));
    FIELD(READING, "fan_percent", fan_permille, NULL, SCALE(0.1));
    FIELD(READING, "power_watts", power_mw, NULL, SCALE(1e-3));
    FIELD(READING, "power_limit_watts", power_limit_mw, NULL, SCALE(1e-3));
}

/* Larger answers have all findings: this one is sent with every sample. */
ANSWER_TABLE(summary_gpu_answer, struct told_summary_gpu, .name = "GpuSummary")
{
    VIA(KEYS, NULL, gpu, gpu_head_answer, NULL);
    FIELD(KEYS, NULL, found, NULL, FIELDS(first_finding_answer));
    FIELD(READING, "process_count", processes, NULL, WHOLE);
    VIA(OBJECT, "top_process", top, top_answer, "The process that explains the load best", OR_NULL);
}

struct told_summary {
    const struct snapshot *s;
    const struct verdict *verdict;
    const char *answer;
    enum severity severity;
    size_t gpu_count;
    bool available, explained;
    struct findings_told found;
    struct told_totals totals;
    struct told_summary_gpu gpu; /* the one being written */
};

static const void *next_gpu(const struct answer_at *at, struct answer_step *step)
{
    struct told_summary *told = at->context;
    if (step->at == told->s->gpu_count)
        return NULL;
    const struct gpu *gpu = &told->s->gpus[step->at++];
    told->gpu = (struct told_summary_gpu){gpu, gpu_top_process(gpu), reading_absent(gpu->processes_state),
                                          told_findings(told->verdict, gpu->index)};
    if (gpu->processes_state == READING_OK)
        told->gpu.processes = reading_ok((int64_t)(gpu->process_count + gpu->processes_left_out));
    return &told->gpu;
}

SHARED_ANSWER_TABLE(summary_answer, struct told_summary, .name = "Summary")
{
    VIA(KEYS, NULL, s, snapshot_head_answer, NULL);
    FIELD(INT, "gpu_count", gpu_count, NULL);
    FIELD(BOOL, "available", available, NULL);
    FIELD(WORD, "answer", answer, "Why the fan runs, in a sentence", OR_NULL);
    FIELD(NAME, "severity", severity, "Of the answer", NAMES(severities), PRESENT(explained));
    FIELD(KEYS, NULL, found, NULL, FIELDS(first_finding_answer));
    FIELD(OBJECT, "totals", totals, NULL, FIELDS(totals_answer));
    EACH(OBJECT, "gpus", next_gpu, NULL, FIELDS(summary_gpu_answer));
}

void json_summary(struct json_writer *j, const struct snapshot *s, const struct why *why)
{
    const struct verdict *verdict = why ? why->verdict : s->verdict;
    struct told_summary told = {.s = s,
                                .verdict = verdict,
                                .answer = why ? why->answer : NULL,
                                .severity = why ? why_severity(why) : SEVERITY_INFO,
                                .explained = why,
                                .gpu_count = s->gpu_count,
                                .found = told_findings(verdict, EVERY_GPU),
                                .totals = told_totals(s)};
    for (size_t i = 0; i < s->gpu_count; i++)
        told.available |= s->gpus[i].state == GPU_OK || s->gpus[i].state == GPU_ASLEEP;
    answer_write(j, &summary_answer, &told, &told);
}
