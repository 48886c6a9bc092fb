/* SPDX-License-Identifier: Apache-2.0
 * Values of names, read off a subject. What is absent stays unknown: it is never taken for 0.
 */
#include "alert/expr/name.h"
#include "base/cleanup.h"

/* In the order of the tables in name.c. */
enum other_gpu {
    GPU_INDEX,
    GPU_NAME,
    GPU_UUID,
    GPU_PCI,
    GPU_VENDOR,
    GPU_SOURCE,
    GPU_SIMULATED,
    GPU_STATE,
    GPU_PROCESSES,
    GPU_USED_PERCENT,
    GPU_SLOWED,
};
enum other_process {
    PROCESS_PID,
    PROCESS_NAME,
    PROCESS_USER,
    PROCESS_COMMAND,
    PROCESS_CONTAINER,
    PROCESS_MODEL,
    PROCESS_TYPE,
    PROCESS_AGE,
};
enum other_host { HOST_NAME, HOST_GPUS };

static const struct value unknown = {.type = VALUE_UNKNOWN};

static struct value number(double n)
{
    return (struct value){.type = VALUE_NUMBER, .number = n};
}

static struct value truth(bool t)
{
    return (struct value){.type = VALUE_BOOL, .truth = t};
}

static struct value text(const char *t)
{
    return t && t[0] ? (struct value){.type = VALUE_TEXT, .text = str_from(t)} : unknown;
}

static struct value scaled(struct reading r, double scale)
{
    return r.state == READING_OK ? number((double)r.value * scale) : unknown;
}

static const char *pstate_name(int64_t pstate)
{
    static const char *const names[] = {"P0", "P1", "P2",  "P3",  "P4",  "P5",  "P6",  "P7",
                                        "P8", "P9", "P10", "P11", "P12", "P13", "P14", "P15"};
    return pstate >= 0 && (size_t)pstate < ARRAY_LEN(names) ? names[pstate] : NULL;
}

static struct value gpu_metric(const struct gpu *g, size_t i)
{
    struct reading r = g->metric[i];
    if (r.state != READING_OK)
        return unknown;
    switch (metric_table[i].kind) {
    case KIND_NUMBER: return number((double)r.value * metric_table[i].json_scale);
    case KIND_BOOL: return truth(r.value != 0);
    case KIND_PSTATE: return text(pstate_name(r.value));
    case KIND_THROTTLE: return (struct value){.type = VALUE_WORDS, .words = (unsigned)r.value};
    case KIND_COMPUTE_MODE: return text(compute_mode_name(r.value));
    case KIND_RECOVERY: return text(recovery_action_name(r.value));
    }
    return unknown;
}

static struct value gpu_fact(const struct subject *s, size_t i)
{
    int index = s->gpu->index;
    if (!s->facts || index < 0 || index >= GPU_MAX)
        return unknown;
    const struct alert_gpu_facts *f = &s->facts->gpus[index];
    const struct reading facts[] = {
#define GPU_FACT(field, help) f->field,
#include "alert/facts.def"
    };
    return scaled(facts[i], 1);
}

static struct value host_fact(const struct subject *s, size_t i)
{
    if (!s->facts)
        return unknown;
    const struct reading facts[] = {
#define HOST_FACT(field, help) s->facts->field,
#include "alert/facts.def"
    };
    return scaled(facts[i], 1);
}

static struct value used_percent(const struct gpu *g)
{
    int64_t used, total;
    if (!reading_get(g->mem_used_bytes, &used) || !reading_get(g->mem_total_bytes, &total) || total <= 0)
        return unknown;
    return number(100.0 * (double)used / (double)total);
}

static struct value gpu_other(const struct gpu *g, size_t i)
{
    switch ((enum other_gpu)i) {
    case GPU_INDEX: return number(g->index);
    case GPU_NAME: return text(g->id.name);
    case GPU_UUID: return text(g->id.uuid);
    case GPU_PCI: return text(g->id.pci_address);
    case GPU_VENDOR: return text(g->id.vendor);
    case GPU_SOURCE: return text(g->source);
    case GPU_SIMULATED: return truth(g->simulated);
    case GPU_STATE: return text(g->released ? "released" : gpu_state_name(g->state));
    case GPU_PROCESSES: return g->processes_state == READING_OK ? number((double)g->process_count) : unknown;
    case GPU_USED_PERCENT: return used_percent(g);
    case GPU_SLOWED: return g->throttle_bits.state == READING_OK ? truth((g->throttle_bits.value & THROTTLE_SLOWED) != 0) : unknown;
    }
    return unknown;
}

static struct value process_other(const struct subject *s, size_t i)
{
    const struct process *p = s->process;
    switch ((enum other_process)i) {
    case PROCESS_PID: return number(p->pid);
    case PROCESS_NAME: return text(p->name);
    case PROCESS_USER: return text(p->user);
    case PROCESS_COMMAND: return text(p->command);
    case PROCESS_CONTAINER: return text(p->container);
    case PROCESS_MODEL: return text(p->model);
    case PROCESS_TYPE: return text(process_type_name(p->type));
    case PROCESS_AGE:
        if (p->started_at.ms <= 0 || s->snapshot->taken_at.ms < p->started_at.ms)
            return unknown;
        return number((double)(s->snapshot->taken_at.ms - p->started_at.ms) / MS_PER_S);
    }
    return unknown;
}

struct value name_read(const struct alert_name *name, const struct subject *s)
{
    if ((name->scope >= SCOPE_GPU && !s->gpu) || (name->scope == SCOPE_PROCESS && !s->process))
        return unknown;
    size_t i = name->index;
    switch (name->kind) {
    case NAME_GPU_METRIC: return gpu_metric(s->gpu, i);
    case NAME_GPU_FACT: return gpu_fact(s, i);
    case NAME_GPU_PROPERTY: return s->gpu->property[i].state == READING_OK ? text(s->gpu->property[i].value) : unknown;
    case NAME_GPU_OTHER: return gpu_other(s->gpu, i);
    case NAME_PROCESS_METRIC: return scaled(s->process->metric[i], process_metric_table[i].json_scale);
    case NAME_PROCESS_OTHER: return process_other(s, i);
    case NAME_HOST_METRIC: return scaled(s->snapshot->host.metric[i], host_metric_table[i].json_scale);
    case NAME_HOST_FACT: return host_fact(s, i);
    case NAME_HOST_OTHER: return i == HOST_NAME ? text(s->snapshot->host.name) : number((double)s->snapshot->gpu_count);
    case NAME_KINDS: break;
    }
    return unknown;
}

const char *name_word(const struct alert_name *name, size_t position)
{
    static const char *const types[] = {"compute", "graphics", "both"};
    int64_t at = (int64_t)position;
    if (name->kind == NAME_GPU_OTHER && name->index == GPU_STATE)
        return position <= GPU_LOST ? gpu_state_name((enum gpu_state)position) : NULL;
    if (name->kind == NAME_PROCESS_OTHER && name->index == PROCESS_TYPE)
        return position < ARRAY_LEN(types) ? types[position] : NULL;
    if (name->kind != NAME_GPU_METRIC)
        return NULL;
    switch (metric_table[name->index].kind) {
    case KIND_PSTATE: return pstate_name(at);
    case KIND_THROTTLE: return position < THROTTLE_COUNT ? throttle_name((unsigned)position) : NULL;
    case KIND_COMPUTE_MODE: return strcmp(compute_mode_name(at), "unknown") ? compute_mode_name(at) : NULL;
    case KIND_RECOVERY: return strcmp(recovery_action_name(at), "unknown") ? recovery_action_name(at) : NULL;
    case KIND_NUMBER:
    case KIND_BOOL: break;
    }
    return NULL;
}
