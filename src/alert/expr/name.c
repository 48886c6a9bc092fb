/* SPDX-License-Identifier: Apache-2.0
 * Joins the tables of names and suggests the nearest one for a misspelled name.
 */
#include "alert/expr/name.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/words.h"
#include "insight/facts/levels.h"
#include "model/finding.h"
#include "model/finding_code.h"
#include "model/severity.h"

_Static_assert(FINDING_CODES_MAX <= 128, "a set of findings has a bit for each");

/* Names that have no row in another table, in the order of enum other_* below. */
struct other_info {
    const char *name;
    enum value_type type;
    const char *help;
};

static const struct other_info gpu_others[] = {
    {"index", VALUE_NUMBER, "Index of the GPU"},
    {"name", VALUE_TEXT, "Name of the GPU"},
    {"uuid", VALUE_TEXT, "UUID of the GPU"},
    {"pci_address", VALUE_TEXT, "PCI address of the GPU"},
    {"vendor", VALUE_TEXT, "Maker of the GPU"},
    {"source", VALUE_TEXT, "Source that it was read from"},
    {"simulated", VALUE_BOOL, "It exists only in the simulator"},
    {"state", VALUE_TEXT, "\"ok\", \"asleep\", \"error\" or \"lost\""},
    {"process_count", VALUE_NUMBER, "Processes on the GPU"},
    {"memory_used_percent", VALUE_NUMBER, "Memory in use, of all"},
    {"slowed_down", VALUE_BOOL, "The GPU is throttling: heat, power or another limit"},
    {"findings", VALUE_WORDS, "Codes of what was found about the GPU (docs/findings.md)"},
    {"severity", VALUE_TEXT, "Of the worst finding: \"info\", \"notice\", \"warning\" or \"critical\""},
    {"health_level", VALUE_NUMBER, "Health: 0 healthy, 1 degraded, 2 failing, 3 lost; absent while asleep or unknown"},
    {"vram_full_seconds", VALUE_NUMBER, "Forecast: seconds until VRAM is full; absent without a trend"},
    {"throttle_seconds", VALUE_NUMBER, "Forecast: seconds until thermal throttling; absent if it stays below the limit"},
    {"fan_stopped", VALUE_NUMBER, "1 while a fan that should be spinning has stopped on a hot GPU, else 0"},
    {"xid", VALUE_NUMBER, "The last critical driver error (XID) of the last ten minutes; 0 for none"},
    {"activity_level", VALUE_NUMBER,
     "Activity: 0 asleep, 1 idle, 2 kept from idling, 3 lightly loaded, 4 busy, 5 saturated; absent while lost, failing or "
     "unknown"},
    {"unusual", VALUE_NUMBER, "1 while a GPU is much hotter than its power explains, else 0"},
    {"link_degraded", VALUE_NUMBER, "1 while the PCIe link is narrower or slower than it could be under load, else 0"},
};
static const struct other_info process_others[] = {
    {"pid", VALUE_NUMBER, "Number of the process"},
    {"name", VALUE_TEXT, "Name of the process"},
    {"user", VALUE_TEXT, "Whose it is"},
    {"command", VALUE_TEXT, "Its command line, secrets masked"},
    {"container", VALUE_TEXT, "Container it runs in"},
    {"model", VALUE_TEXT, "Model that its command line names"},
    {"type", VALUE_TEXT, "\"compute\", \"graphics\" or \"both\""},
    {"age_seconds", VALUE_NUMBER, "Time since it was started"},
};
static const struct other_info host_others[] = {
    {"name", VALUE_TEXT, "Name of the host"},
    {"gpu_count", VALUE_NUMBER, "GPUs of the host"},
};
static const struct other_info host_judged[] = {
    {"source_down", VALUE_NUMBER, "Sources that are failing, hanging or suspended; 0 for none"},
    {"gpus_missing", VALUE_NUMBER, "GPUs that were there and are no longer listed; 0 for none"},
    {"store_failing", VALUE_NUMBER, "1 while the history can't be written, else 0"},
    {"store_full_seconds", VALUE_NUMBER, "Forecast: seconds until the history reaches its size limit; absent without a trend"},
};

static enum value_type type_of(enum metric_kind kind)
{
    switch (kind) {
    case KIND_NUMBER: return VALUE_NUMBER;
    case KIND_BOOL: return VALUE_BOOL;
    case KIND_THROTTLE: return VALUE_WORDS;
    case KIND_PSTATE:
    case KIND_COMPUTE_MODE:
    case KIND_POWER_MIZER:
    case KIND_RECOVERY: return VALUE_TEXT;
    }
    return VALUE_NUMBER;
}

static size_t count_of(enum name_kind kind)
{
    static const size_t counts[NAME_KINDS] = {
        [NAME_GPU_METRIC] = METRIC_COUNT,
        [NAME_GPU_PROPERTY] = PROPERTY_COUNT,
        [NAME_GPU_OTHER] = ARRAY_LEN(gpu_others),
        [NAME_PROCESS_METRIC] = PROCESS_METRIC_COUNT,
        [NAME_PROCESS_OTHER] = ARRAY_LEN(process_others),
        [NAME_HOST_METRIC] = HOST_METRIC_COUNT,
        [NAME_HOST_OTHER] = ARRAY_LEN(host_others),
        [NAME_HOST_JUDGED] = ARRAY_LEN(host_judged),
    };
    return counts[kind];
}

static struct alert_name make(enum name_kind kind, size_t i)
{
    struct alert_name n = {.kind = kind, .index = i, .scope = SCOPE_GPU, .type = VALUE_NUMBER};
    const char *prefix = "", *name = "";
    const struct other_info *other = NULL;
    switch (kind) {
    case NAME_GPU_METRIC: name = metric_table[i].json, n.help = metric_table[i].help, n.type = type_of(metric_table[i].kind); break;
    case NAME_GPU_PROPERTY: name = property_table[i].json, n.help = property_table[i].help, n.type = VALUE_TEXT; break;
    case NAME_GPU_OTHER: other = &gpu_others[i]; break;
    case NAME_PROCESS_METRIC: name = process_metric_table[i].json, n.help = process_metric_table[i].help; break;
    case NAME_PROCESS_OTHER: other = &process_others[i]; break;
    case NAME_HOST_METRIC: name = host_metric_table[i].json, n.help = host_metric_table[i].help; break;
    case NAME_HOST_OTHER: other = &host_others[i]; break;
    case NAME_HOST_JUDGED: other = &host_judged[i]; break;
    case NAME_KINDS: break;
    }
    if (other)
        name = other->name, n.help = other->help, n.type = other->type;
    if (kind == NAME_PROCESS_METRIC || kind == NAME_PROCESS_OTHER)
        prefix = "process.", n.scope = SCOPE_PROCESS;
    else if (kind == NAME_HOST_METRIC || kind == NAME_HOST_OTHER)
        prefix = "host.", n.scope = SCOPE_HOST;
    else if (kind == NAME_HOST_JUDGED)
        n.scope = SCOPE_HOST;
    n.unit = n.type == VALUE_NUMBER ? unit_of_name(name) : UNIT_COUNT;
    snprintf(n.text, sizeof n.text, "%s%s", prefix, name);
    return n;
}

bool name_at(size_t position, struct alert_name *ret)
{
    for (int kind = 0; kind < NAME_KINDS; kind++) {
        if (position < count_of((enum name_kind)kind)) {
            *ret = make((enum name_kind)kind, position);
            return true;
        }
        position -= count_of((enum name_kind)kind);
    }
    return false;
}

/* The bare name, without building the whole entry: the parser looks up every word of every rule. */
static const char *bare_name(enum name_kind kind, size_t i)
{
    switch (kind) {
    case NAME_GPU_METRIC: return metric_table[i].json;
    case NAME_GPU_PROPERTY: return property_table[i].json;
    case NAME_GPU_OTHER: return gpu_others[i].name;
    case NAME_PROCESS_METRIC: return process_metric_table[i].json;
    case NAME_PROCESS_OTHER: return process_others[i].name;
    case NAME_HOST_METRIC: return host_metric_table[i].json;
    case NAME_HOST_OTHER: return host_others[i].name;
    case NAME_HOST_JUDGED: return host_judged[i].name;
    case NAME_KINDS: break;
    }
    return "";
}

static bool find_whole(struct str text, struct alert_name *ret)
{
    struct str rest = text;
    bool gpu = str_starts(text, "gpu."), host = str_starts(text, "host."), process = str_starts(text, "process.");
    size_t prefix = gpu ? 4 : host ? 5 : process ? 8 : 0;
    rest = (struct str){text.at + prefix, text.len - prefix};
    for (int kind = 0; kind < NAME_KINDS; kind++) {
        bool of_process = kind == NAME_PROCESS_METRIC || kind == NAME_PROCESS_OTHER;
        bool of_host = kind == NAME_HOST_METRIC || kind == NAME_HOST_OTHER, judged = kind == NAME_HOST_JUDGED;
        if (of_process != process || (of_host && !host) || (host && !of_host && !judged) || (gpu && judged))
            continue;
        for (size_t i = 0; i < count_of((enum name_kind)kind); i++)
            if (str_is(rest, bare_name((enum name_kind)kind, i))) {
                *ret = make((enum name_kind)kind, i);
                return true;
            }
    }
    return false;
}

/* The unit may be left out of a name: "utilization < 5%". */
bool name_find(struct str text, struct alert_name *ret)
{
    static const char *const units[] = {"_percent", "_celsius", "_watts", "_mb"};
    char whole[NAME_SIZE];
    if (find_whole(text, ret))
        return true;
    for (size_t i = 0; i < ARRAY_LEN(units); i++) {
        int len = snprintf(whole, sizeof whole, STR_FMT "%s", STR_ARG(text), units[i]);
        if (len > 0 && (size_t)len < sizeof whole && find_whole(str_from(whole), ret))
            return true;
    }
    return false;
}

bool name_nearest(struct str text, char ret[NAME_SIZE])
{
    char typed[NAME_SIZE];
    struct alert_name n;
    struct nearest numbers, texts; /* prefer numbers: rules use them more often */
    if (text.len == 0 || text.len >= sizeof typed)
        return false;
    str_copy(typed, sizeof typed, text);
    nearest_init(&numbers, typed);
    nearest_init(&texts, typed);
    for (size_t i = 0; name_at(i, &n); i++)
        nearest_try(n.type == VALUE_TEXT ? &texts : &numbers, n.text);
    const char *found = nearest_found(&numbers);
    found = found ? found : nearest_found(&texts);
    str_copy(ret, NAME_SIZE, str_from(found ? found : ""));
    return found != NULL;
}

const char *scope_name(enum alert_scope scope)
{
    static const char *const names[] = {"host", "gpu", "process"};
    return names[scope];
}

/* ---- values of names ---- */

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
    GPU_FINDINGS,
    GPU_SEVERITY,
    GPU_HEALTH_LEVEL,
    GPU_VRAM_FULL,
    GPU_THROTTLE,
    GPU_FAN_STOPPED,
    GPU_XID,
    GPU_ACTIVITY,
    GPU_UNUSUAL,
    GPU_LINK,
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
enum judged_host { HOST_SOURCE_DOWN, HOST_MISSING, HOST_STORE_FAILING, HOST_STORE_FULL };

static const struct value unknown = {.type = VALUE_UNKNOWN};

static struct value name_number(double n)
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
    return r.state == READING_OK ? name_number((double)r.value * scale) : unknown;
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
    case KIND_NUMBER: return name_number((double)r.value * metric_table[i].json_scale);
    case KIND_BOOL: return truth(r.value != 0);
    case KIND_PSTATE: return text(pstate_name(r.value));
    case KIND_THROTTLE: return (struct value){.type = VALUE_WORDS, .words = (word_set)(uint64_t)r.value};
    case KIND_COMPUTE_MODE: return text(compute_mode_name(r.value));
    case KIND_POWER_MIZER: return text(power_mizer_name(r.value));
    case KIND_RECOVERY: return text(recovery_action_name(r.value));
    }
    return unknown;
}

static struct value sources_down(const struct snapshot *s)
{
    double down = 0;
    for (size_t i = 0; i < s->source_count; i++) {
        enum source_state state = s->sources[i].state;
        down += state == SOURCE_FAILING || state == SOURCE_SET_ASIDE || state == SOURCE_HUNG;
    }
    return name_number(down);
}

static struct value host_judgement(const struct subject *s, size_t i)
{
    const struct verdict *v = s->snapshot->verdict;
    switch ((enum judged_host)i) {
    case HOST_SOURCE_DOWN: return sources_down(s->snapshot);
    case HOST_MISSING: return v ? name_number((double)v->missing_count) : unknown;
    case HOST_STORE_FAILING: return s->store ? scaled(s->store->failing, 1) : unknown;
    case HOST_STORE_FULL: return s->store ? scaled(s->store->full_seconds, 1) : unknown;
    }
    return unknown;
}

static struct value codes_of(const struct verdict *v, int gpu_index)
{
    struct value codes = {.type = VALUE_WORDS};
    for (size_t i = 0; i < v->count; i++)
        if (v->findings[i].gpu_index == gpu_index)
            codes.words |= WORD_BIT(v->findings[i].code);
    return codes;
}

/* The verdict about a GPU; unknown without a verdict. */
static struct value gpu_judgement(const struct subject *s, size_t i)
{
    const struct gpu *g = s->gpu;
    const struct verdict *v = s->snapshot->verdict;
    const struct gpu_looked *l = verdict_looked(v, g->index);
    if (!l)
        return unknown;
    switch ((enum other_gpu)i) {
    case GPU_FINDINGS: return codes_of(v, g->index);
    case GPU_SEVERITY: return text(severity_text(verdict_severity(v, g->index)));
    case GPU_HEALTH_LEVEL: return scaled(l->health_level, 1);
    case GPU_VRAM_FULL: return scaled(l->vram_full_seconds, 1);
    case GPU_THROTTLE: return scaled(l->throttle_seconds, 1);
    case GPU_XID: return scaled(l->xid, 1);
    case GPU_FAN_STOPPED: {
        enum fan_state fan = fan_judge(g).state;
        bool known = fan != FAN_STATE_UNKNOWN && fan != FAN_STATE_NONE;
        return known ? name_number(verdict_find(v, g->index, FINDING_FAN_STOPPED) != NULL) : unknown;
    }
    case GPU_LINK: return name_number(verdict_find(v, g->index, FINDING_PCIE_LINK) != NULL);
    case GPU_ACTIVITY: return g->activity.code >= ACTIVITY_ASLEEP ? name_number(g->activity.code - ACTIVITY_ASLEEP) : unknown;
    case GPU_UNUSUAL: return g->state == GPU_OK ? name_number((g->activity.symptoms & 1u << SYMPTOM_UNUSUAL) != 0) : unknown;
    default: return unknown;
    }
}

static struct value used_percent(const struct gpu *g)
{
    int64_t used, total;
    if (!reading_get(g->mem_used_bytes, &used) || !reading_get(g->mem_total_bytes, &total) || total <= 0)
        return unknown;
    return name_number(100.0 * (double)used / (double)total);
}

static struct value gpu_other(const struct subject *s, size_t i)
{
    const struct gpu *g = s->gpu;
    switch ((enum other_gpu)i) {
    case GPU_INDEX: return name_number(g->index);
    case GPU_NAME: return text(g->id.name);
    case GPU_UUID: return text(g->id.uuid);
    case GPU_PCI: return text(g->id.pci_address);
    case GPU_VENDOR: return text(g->id.vendor);
    case GPU_SOURCE: return text(g->source);
    case GPU_SIMULATED: return truth(g->simulated);
    case GPU_STATE: return text(g->released ? "released" : gpu_state_name(g->state));
    case GPU_PROCESSES: return g->processes_state == READING_OK ? name_number((double)g->process_count) : unknown;
    case GPU_USED_PERCENT: return used_percent(g);
    case GPU_SLOWED: return g->throttle_bits.state == READING_OK ? truth((g->throttle_bits.value & THROTTLE_SLOWED) != 0) : unknown;
    default: return gpu_judgement(s, i);
    }
}

static struct value process_other(const struct subject *s, size_t i)
{
    const struct process *p = s->process;
    switch ((enum other_process)i) {
    case PROCESS_PID: return name_number(p->pid);
    case PROCESS_NAME: return text(p->name);
    case PROCESS_USER: return text(p->user);
    case PROCESS_COMMAND: return text(p->command);
    case PROCESS_CONTAINER: return text(p->container);
    case PROCESS_MODEL: return text(p->model);
    case PROCESS_TYPE: return text(process_type_name(p->type));
    case PROCESS_AGE:
        if (p->started_at.ms <= 0 || s->snapshot->taken_at.ms < p->started_at.ms)
            return unknown;
        return name_number((double)(s->snapshot->taken_at.ms - p->started_at.ms) / MS_PER_S);
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
    case NAME_GPU_PROPERTY: return s->gpu->property[i].state == READING_OK ? text(s->gpu->property[i].value) : unknown;
    case NAME_GPU_OTHER: return gpu_other(s, i);
    case NAME_PROCESS_METRIC: return scaled(s->process->metric[i], process_metric_table[i].json_scale);
    case NAME_PROCESS_OTHER: return process_other(s, i);
    case NAME_HOST_METRIC: return scaled(s->snapshot->host.metric[i], host_metric_table[i].json_scale);
    case NAME_HOST_OTHER: return i == HOST_NAME ? text(s->snapshot->host.name) : name_number((double)s->snapshot->gpu_count);
    case NAME_HOST_JUDGED: return host_judgement(s, i);
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
    if (name->kind == NAME_GPU_OTHER && name->index == GPU_SEVERITY)
        return position <= SEVERITY_CRITICAL ? severity_text((enum severity)position) : NULL;
    if (name->kind == NAME_GPU_OTHER && name->index == GPU_FINDINGS)
        return position < FINDING_CODE_COUNT ? finding_code_name((finding_code)position) : NULL;
    if (name->kind == NAME_PROCESS_OTHER && name->index == PROCESS_TYPE)
        return position < ARRAY_LEN(types) ? types[position] : NULL;
    if (name->kind != NAME_GPU_METRIC)
        return NULL;
    switch (metric_table[name->index].kind) {
    case KIND_PSTATE: return pstate_name(at);
    case KIND_THROTTLE: return position < THROTTLE_COUNT ? throttle_name((unsigned)position) : NULL;
    case KIND_COMPUTE_MODE: return strcmp(compute_mode_name(at), "unknown") ? compute_mode_name(at) : NULL;
    case KIND_POWER_MIZER: return strcmp(power_mizer_name(at), "unknown") ? power_mizer_name(at) : NULL;
    case KIND_RECOVERY: return strcmp(recovery_action_name(at), "unknown") ? recovery_action_name(at) : NULL;
    case KIND_NUMBER:
    case KIND_BOOL: break;
    }
    return NULL;
}
