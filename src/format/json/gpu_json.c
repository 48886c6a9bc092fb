/* SPDX-License-Identifier: Apache-2.0
 * Everything known about GPUs and their processes, by walking over the metric tables.
 */
#include <stdio.h>

#include "base/cleanup.h"
#include "format/json/json.h"
#include "format/json/told.h"
#include "insight/facts/levels.h"

static void throttle_words(struct json_writer *j, int64_t bits)
{
    jw_array(j);
    for (unsigned i = 0; i < THROTTLE_COUNT; i++)
        if (bits & (1 << i))
            jw_text(j, throttle_name(i));
    jw_end(j);
}

static void metric_value(struct json_writer *j, const struct metric_info *info, struct reading r)
{
    char pstate[24];
    if (r.state != READING_OK) {
        jw_null(j);
        return;
    }
    switch (info->kind) {
    case KIND_NUMBER: jw_number(j, (double)r.value * info->json_scale); return;
    case KIND_BOOL: jw_bool(j, r.value != 0); return;
    case KIND_PSTATE:
        snprintf(pstate, sizeof pstate, "P%lld", (long long)r.value);
        jw_text(j, pstate);
        return;
    case KIND_THROTTLE: throttle_words(j, r.value); return;
    case KIND_COMPUTE_MODE: jw_text(j, compute_mode_name(r.value)); return;
    case KIND_RECOVERY: jw_text(j, recovery_action_name(r.value)); return;
    }
    jw_null(j);
}

static void absent_key(struct json_writer *j, const char *key, enum reading_state why)
{
    if (why != READING_OK)
        jw_key_text(j, key, reading_state_name(why));
}

/* Identity has no reading of its own; if it is missing, the GPU's state is the reason. */
static enum reading_state identity_state(const struct gpu *gpu, const char *text)
{
    if (text[0])
        return READING_OK;
    return gpu->state == GPU_OK ? READING_UNSUPPORTED : gpu->state == GPU_ASLEEP ? READING_ASLEEP : READING_FAILED;
}

static void gpu_absent(struct json_writer *j, const struct gpu *gpu)
{
    jw_key_object(j, "absent");
    absent_key(j, "uuid", identity_state(gpu, gpu->id.uuid));
    absent_key(j, "pci_address", identity_state(gpu, gpu->id.pci_address));
    absent_key(j, "name", identity_state(gpu, gpu->id.name));
    for (size_t i = 0; i < METRIC_COUNT; i++)
        absent_key(j, metric_table[i].json, gpu->metric[i].state);
    for (size_t i = 0; i < PROPERTY_COUNT; i++)
        absent_key(j, property_table[i].json, gpu->property[i].state);
    absent_key(j, "processes", gpu->processes_state);
    jw_end(j);
}

static void number_or_null(struct json_writer *j, const char *key, bool known, int64_t number)
{
    jw_key(j, key);
    if (known)
        jw_int(j, number);
    else
        jw_null(j);
}

void json_process_keys(struct json_writer *j, const struct process *p)
{
    char words[PROCESS_WORDS];
    jw_key_int(j, "pid", p->pid);
    json_words(j, "name", p->name);
    json_words(j, "command", p->command);
    json_words(j, "user", p->user);
    jw_key_text(j, "type", process_type_name(p->type));
    for (size_t i = 0; i < PROCESS_METRIC_COUNT; i++)
        json_scaled(j, process_metric_table[i].json, p->metric[i], process_metric_table[i].json_scale);
    jw_key_text(j, "power_basis", power_basis_name(p->power_basis));
    jw_key_text(j, "activity", p->activity == PROCESS_ACTIVITY_UNKNOWN ? NULL : process_activity_name(p->activity));
    json_limit(j, &p->limit);
    json_words(j, "container", p->container);
    json_words(j, "model", p->model);
    json_words(j, "display_name", process_title(p));
    json_words(j, "short_name", process_words(p, SHORT_NAME, words));
    json_words(j, "container_name", p->container_name);
    json_words(j, "job", p->job);
    number_or_null(j, "rank", p->rank.state == READING_OK, p->rank.value);
    number_or_null(j, "world_size", p->world_size.state == READING_OK, p->world_size.value);
    number_or_null(j, "parent_pid", p->parent > 0, p->parent);
    json_words(j, "parent_name", p->parent_name);
    json_words(j, "lease", p->lease);
    json_time(j, "started_at", p->started_at);
    number_or_null(j, "instance", p->instance >= 0, p->instance);
    jw_key_bool(j, "visible", p->visible);
    jw_key_object(j, "absent");
    for (size_t i = 0; i < PROCESS_METRIC_COUNT; i++)
        absent_key(j, process_metric_table[i].json, p->metric[i].state);
    if (p->container[0])
        absent_key(j, "container_name", p->container_name_state);
    jw_end(j);
}

void json_process(struct json_writer *j, const struct gpu *gpu, const struct process *p)
{
    jw_object(j);
    if (gpu) {
        jw_key_int(j, "gpu_index", gpu->index);
        json_words(j, "gpu_name", gpu->id.name);
        jw_key_bool(j, "simulated", gpu->simulated);
    }
    json_process_keys(j, p);
    jw_end(j);
}

static void gpu_processes(struct json_writer *j, const struct gpu *gpu)
{
    jw_key(j, "processes");
    if (gpu->processes_state != READING_OK) {
        jw_null(j); /* an empty list would mean that there are no processes */
    } else {
        jw_array(j);
        for (size_t i = 0; i < gpu->process_count; i++)
            json_process(j, NULL, &gpu->processes[i]);
        jw_end(j);
    }
    jw_key_int(j, "processes_left_out", (int64_t)gpu->processes_left_out);
    jw_key_int(j, "processes_hidden", (int64_t)gpu->processes_hidden);
}

void json_activity(struct json_writer *j, const struct activity *a)
{
    jw_key(j, "activity");
    answer_write(j, &activity_answer, a, NULL);
}

/* An array: null would mean unknown. */
static void gpu_leases(struct json_writer *j, const struct gpu *gpu)
{
    const struct gpu_lease *both[] = {&gpu->lease, &gpu->settings};
    jw_key_array(j, "leases");
    for (size_t i = 0; i < ARRAY_LEN(both); i++) {
        const struct gpu_lease *l = both[i];
        if (!l->id[0])
            continue;
        jw_object(j);
        jw_key_text(j, "id", l->id);
        jw_key_text(j, "user", l->user);
        jw_key_bool(j, "reserved", l->reserved);
        json_words(j, "changes", l->changes);
        json_time(j, "until", l->until);
        jw_end(j);
    }
    jw_end(j);
}

static void gpu_object(struct json_writer *j, const struct gpu *gpu, bool is_instance)
{
    jw_object(j);
    jw_key_int(j, "index", gpu->index);
    if (gpu->id.kind != DEVICE_GPU)
        jw_key_text(j, "kind", device_kind_name(gpu->id.kind));
    json_words(j, "uuid", gpu->id.uuid);
    if (is_instance)
        json_words(j, "profile", gpu->profile);
    json_words(j, "pci_address", gpu->id.pci_address);
    json_words(j, "vendor", gpu->id.vendor);
    json_words(j, "name", gpu->id.name);
    json_words(j, "source", gpu->source);
    jw_key_bool(j, "simulated", gpu->simulated);
    jw_key_text(j, "state", gpu_state_name(gpu->state));
    json_words(j, "error_message", gpu->error_message);
    jw_key_text(j, "fan_state", fan_state_name(fan_judge(gpu).state));
    json_activity(j, &gpu->activity);
    gpu_leases(j, gpu);
    for (size_t i = 0; i < METRIC_COUNT; i++) {
        jw_key(j, metric_table[i].json);
        metric_value(j, &metric_table[i], gpu->metric[i]);
    }
    for (size_t i = 0; i < PROPERTY_COUNT; i++)
        jw_key_text(j, property_table[i].json, gpu->property[i].state == READING_OK ? gpu->property[i].value : NULL);
    gpu_processes(j, gpu);
    jw_key_array(j, "instances");
    for (size_t i = 0; !is_instance && i < gpu->instance_count; i++)
        gpu_object(j, &gpu->instances[i], true);
    jw_end(j);
    gpu_absent(j, gpu);
    jw_end(j);
}

/* One GPU, with instances and processes. */
static void json_gpu(struct json_writer *j, const struct gpu *gpu)
{
    gpu_object(j, gpu, false);
}

static void events(struct json_writer *j, const struct snapshot *s)
{
    jw_key_array(j, "events");
    for (size_t i = 0; i < s->event_count; i++) {
        const struct event *e = &s->events[i];
        jw_object(j);
        jw_key_text(j, "kind", event_kind_name(e->kind));
        jw_key(j, "gpu_index");
        if (e->gpu_index >= 0)
            jw_int(j, e->gpu_index);
        else
            jw_null(j);
        jw_key_int(j, "code", e->code);
        jw_key_text(j, "text", e->text);
        json_time(j, "timestamp", e->at);
        jw_end(j);
    }
    jw_end(j);
}

void json_metrics(struct json_writer *j, const struct snapshot *s, int only)
{
    jw_object(j);
    json_time(j, "timestamp", s->taken_at);
    json_words(j, "host", s->host.name);
    jw_key(j, "sources");
    json_source_names(j, s);
    jw_key_array(j, "gpus");
    for (size_t i = 0; i < s->gpu_count; i++)
        if (only == ALL_GPUS || only == (int)i)
            json_gpu(j, &s->gpus[i]);
    jw_end(j);
    jw_key_array(j, "accelerators");
    for (size_t i = 0; only == ALL_GPUS && i < s->accelerator_count; i++)
        json_gpu(j, &s->accelerators[i]);
    jw_end(j);
    json_totals(j, s);
    jw_key(j, "driver");
    json_driver(j, s);
    jw_key(j, "source_status");
    json_sources(j, s);
    events(j, s);
    struct findings_told found = told_findings(s->verdict, only == ALL_GPUS ? EVERY_GPU : s->gpus[only].index);
    answer_write_keys(j, &verdict_answer, &found, NULL);
    jw_key(j, "resources");
    json_resources(j, s, &s->host);
    jw_key(j, "machine");
    json_machine(j, &s->host);
    jw_end(j);
}
