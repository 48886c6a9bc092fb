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

void json_totals(struct json_writer *j, const struct snapshot *s)
{
    struct reading used = {0}, total = {0}, power = {0};
    for (size_t i = 0; i < s->gpu_count; i++) {
        summary_add(&used, s->gpus[i].mem_used_bytes);
        summary_add(&total, s->gpus[i].mem_total_bytes);
        summary_add(&power, s->gpus[i].power_mw);
    }
    jw_key_object(j, "totals");
    json_scaled(j, "memory_used_mb", used, PER_MIB);
    json_scaled(j, "memory_total_mb", total, PER_MIB);
    json_scaled(j, "power_watts", power, 1e-3);
    json_scaled(j, "process_count", count_processes(s), 1);
    jw_end(j);
}

static void top_process(struct json_writer *j, const struct gpu *gpu)
{
    const struct process *p = gpu_top_process(gpu);
    char words[PROCESS_WORDS];
    jw_key(j, "top_process");
    if (!p) {
        jw_null(j);
        return;
    }
    jw_object(j);
    jw_key_int(j, "pid", p->pid);
    json_words(j, "name", p->name);
    json_words(j, "short_name", process_words(p, SHORT_NAME, words));
    json_words(j, "user", p->user);
    json_scaled(j, "memory_mb", p->mem_bytes, PER_MIB);
    json_scaled(j, "utilization_percent", p->util_permille, 0.1);
    jw_end(j);
}

static void summary_gpu(struct json_writer *j, const struct gpu *gpu, const struct verdict *verdict)
{
    struct reading processes = gpu->processes_state == READING_OK
                                   ? reading_ok((int64_t)(gpu->process_count + gpu->processes_left_out))
                                   : reading_absent(gpu->processes_state);
    struct findings_told found = told_findings(verdict, gpu->index);
    jw_object(j);
    jw_key_int(j, "index", gpu->index);
    json_words(j, "name", gpu->id.name);
    json_words(j, "vendor", gpu->id.vendor);
    jw_key_text(j, "state", gpu_state_name(gpu->state));
    json_words(j, "error_message", gpu->error_message);
    jw_key_bool(j, "simulated", gpu->simulated);
    json_activity(j, &gpu->activity);
    answer_write_keys(j, &first_finding_answer, &found,
                      NULL); /* larger answers have all findings: this one is sent with every sample */
    json_scaled(j, "utilization_percent", gpu->util_permille, 0.1);
    json_scaled(j, "memory_used_mb", gpu->mem_used_bytes, PER_MIB);
    json_scaled(j, "memory_total_mb", gpu->mem_total_bytes, PER_MIB);
    json_scaled(j, "temperature_celsius", gpu->temp_mdegc, 1e-3);
    json_scaled(j, "fan_percent", gpu->fan_permille, 0.1);
    json_scaled(j, "power_watts", gpu->power_mw, 1e-3);
    json_scaled(j, "power_limit_watts", gpu->power_limit_mw, 1e-3);
    json_scaled(j, "process_count", processes, 1);
    top_process(j, gpu);
    jw_end(j);
}

void json_summary(struct json_writer *j, const struct snapshot *s, const struct why *why)
{
    const struct verdict *verdict = why ? why->verdict : s->verdict;
    struct findings_told found = told_findings(verdict, EVERY_GPU);
    bool available = false;
    for (size_t i = 0; i < s->gpu_count; i++)
        available |= s->gpus[i].state == GPU_OK || s->gpus[i].state == GPU_ASLEEP;
    jw_object(j);
    json_time(j, "timestamp", s->taken_at);
    json_words(j, "host", s->host.name);
    jw_key_int(j, "gpu_count", (int64_t)s->gpu_count);
    jw_key_bool(j, "available", available);
    jw_key(j, "sources");
    json_source_names(j, s);
    jw_key_text(j, "answer", why ? why->answer : NULL);
    jw_key_text(j, "severity", why ? severity_text(why_severity(why)) : NULL);
    answer_write_keys(j, &first_finding_answer, &found, NULL);
    json_totals(j, s);
    jw_key_array(j, "gpus");
    for (size_t i = 0; i < s->gpu_count; i++)
        summary_gpu(j, &s->gpus[i], verdict);
    jw_end(j);
    jw_end(j);
}
