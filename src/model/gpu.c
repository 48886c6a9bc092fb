/* SPDX-License-Identifier: Apache-2.0
 * Lists inside a GPU, and marking a whole GPU absent.
 */
#include "model/gpu.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/moment.h"
#include "base/str.h"

void gpu_done(struct gpu *gpu)
{
    for (size_t i = 0; i < gpu->instance_count; i++)
        gpu_done(&gpu->instances[i]);
    free(gpu->instances);
    gpu_cut_processes(gpu, 0);
    free(gpu->processes);
    free(gpu->before);
    gpu->instances = NULL;
    gpu->before = NULL;
    gpu->before_count = 0;
    gpu->processes = NULL;
    gpu->instance_count = gpu->process_count = gpu->process_capacity = 0;
}

struct process *gpu_add_process(struct gpu *gpu, int32_t pid)
{
    if (gpu->process_count >= GPU_PROCESSES_MAX) {
        gpu->processes_left_out++;
        return NULL;
    }
    if (!ROOM_FOR_ONE(gpu->processes, gpu->process_count, gpu->process_capacity, 4)) {
        gpu->processes_left_out++;
        return NULL;
    }
    struct process *p = &gpu->processes[gpu->process_count++];
    *p = (struct process){.pid = pid, .instance = -1, .visible = true};
    return p;
}

void gpu_cut_processes(struct gpu *gpu, size_t count)
{
    while (gpu->process_count > count)
        process_done(&gpu->processes[--gpu->process_count]);
}

struct process *gpu_find_process(const struct gpu *gpu, int32_t pid)
{
    for (size_t i = 0; i < gpu->process_count; i++)
        if (gpu->processes[i].pid == pid)
            return &gpu->processes[i];
    return NULL;
}

struct gpu *gpu_add_instance(struct gpu *gpu)
{
    if (gpu->instance_count >= GPU_INSTANCES_MAX)
        return NULL;
    struct gpu *more = realloc(gpu->instances, (gpu->instance_count + 1) * sizeof *more);
    if (!more)
        return NULL;
    gpu->instances = more;
    struct gpu *instance = &more[gpu->instance_count++];
    *instance = (struct gpu){.index = (int)gpu->instance_count - 1};
    return instance;
}

int gpu_copy(struct gpu *to, const struct gpu *from)
{
    *to = *from;
    to->processes = NULL;
    to->process_capacity = to->process_count = 0;
    to->instances = NULL;
    to->instance_count = 0;
    to->before = NULL;
    to->before_count = 0;
    if (from->process_count) {
        to->processes = malloc(from->process_count * sizeof *to->processes);
        if (!to->processes)
            return -ENOMEM;
        to->process_capacity = from->process_count;
        for (; to->process_count < from->process_count; to->process_count++)
            process_copy(&to->processes[to->process_count], &from->processes[to->process_count]);
    }
    if (from->instance_count) {
        to->instances = calloc(from->instance_count, sizeof *to->instances);
        if (!to->instances)
            goto out_of_memory;
        for (; to->instance_count < from->instance_count; to->instance_count++)
            if (gpu_copy(&to->instances[to->instance_count], &from->instances[to->instance_count]) < 0)
                goto out_of_memory;
    }
    return 0;

out_of_memory:
    gpu_done(to);
    return -ENOMEM;
}

int64_t gpu_metric_age_ms(const struct gpu *gpu, const struct metric_info *metric, struct mono sample)
{
    struct mono read = gpu->group_read[__builtin_ctz(metric->group)];
    return read.ns ? MAX_OF(mono_since_ms(sample, read), (int64_t)0) : 0;
}

void gpu_mark_absent(struct gpu *gpu, unsigned groups, enum reading_state why)
{
    for (size_t i = 0; i < METRIC_COUNT; i++)
        if ((metric_table[i].group & groups) && gpu->metric[i].state == READING_UNREAD)
            gpu->metric[i].state = why;
    if (groups & GROUP_STATIC)
        for (size_t i = 0; i < PROPERTY_COUNT; i++)
            if (gpu->property[i].state == READING_UNREAD)
                gpu->property[i].state = why;
    if ((groups & GROUP_PROCESS) && gpu->processes_state == READING_UNREAD)
        gpu->processes_state = why;
}

void gpu_mark_shares_absent(struct gpu *gpu, enum reading_state why)
{
    for (size_t i = 0; i < gpu->process_count; i++)
        for (size_t k = 0; k < PROCESS_METRIC_COUNT; k++)
            if (gpu->processes[i].metric[k].state == READING_UNREAD)
                gpu->processes[i].metric[k].state = why;
}

void gpu_mark_state(struct gpu *gpu, enum gpu_state state, const char *message)
{
    enum reading_state why = state == GPU_ASLEEP ? READING_ASLEEP : READING_FAILED;
    gpu->state = state;
    str_copy_clean(gpu->error_message, sizeof gpu->error_message, str_from(message ? message : ""));
    for (size_t i = 0; i < METRIC_COUNT; i++)
        gpu->metric[i] = reading_absent(why);
    gpu->processes_state = why;
    gpu_mark_absent(gpu, GROUP_ALL, why);
}

bool gpu_is_unread(const struct gpu *gpu)
{
    bool fails = gpu->state == GPU_ERROR || gpu->state == GPU_LOST;
    for (size_t i = 0; fails && i < METRIC_COUNT; i++)
        fails = gpu->metric[i].state != READING_OK;
    return fails;
}

bool gpu_shares_memory(const struct gpu *gpu)
{
    return gpu->memory_kind.state == READING_OK && strcmp(gpu->memory_kind.value, "shared") == 0;
}

void gpu_set_property(struct gpu *gpu, enum property property, const char *text)
{
    struct property_text *p = &gpu->property[property];
    str_copy_clean(p->value, sizeof p->value, str_trim(str_from(text)));
    p->state = p->value[0] ? READING_OK : READING_UNSUPPORTED;
}

/* Ignores shares below a tenth of the GPU: a desktop that draws a little matters less than a program with most of the memory. An
 * unknown share counts as none. */
static int64_t share_that_counts(const struct process *p)
{
    enum { SHARE_COUNTS = 100 };
    int64_t share = reading_or(p->util_permille, 0);
    return share >= SHARE_COUNTS ? share : 0;
}

int gpu_process_order(const struct process *a, const struct process *b)
{
    const int64_t left[] = {share_that_counts(a), reading_or(a->mem_bytes, -1), reading_or(a->util_permille, 0), -(int64_t)a->pid};
    const int64_t right[] = {share_that_counts(b), reading_or(b->mem_bytes, -1), reading_or(b->util_permille, 0), -(int64_t)b->pid};
    for (size_t i = 0; i < ARRAY_LEN(left); i++)
        if (left[i] != right[i])
            return left[i] > right[i] ? -1 : 1;
    return 0;
}

const struct process *gpu_top_process(const struct gpu *gpu)
{
    const struct process *top = NULL;
    for (size_t i = 0; i < gpu->process_count; i++)
        if (!top || gpu_process_order(&gpu->processes[i], top) < 0)
            top = &gpu->processes[i];
    return top;
}

const char *gpu_state_name(enum gpu_state state)
{
    static const char *const names[] = {"ok", "asleep", "error", "lost"};
    return names[state];
}

const char *gpu_lease_words(const struct gpu_lease *l, struct wall now, char out[GPU_LEASE_WORDS])
{
    char until[MOMENT_TEXT_SIZE];
    out[0] = '\0';
    if (!l->id[0])
        return out;
    if (l->until.ms)
        moment_format(l->until, now, until);
    snprintf(out, GPU_LEASE_WORDS, "%s%s%s%s",
             l->changes[0] ? ""
             : l->reserved ? "reserved for "
                           : "leased to ",
             l->changes[0] ? l->changes : l->user, l->until.ms ? " until " : "", l->until.ms ? until : "");
    return out;
}

const char *device_kind_name(enum device_kind kind)
{
    static const char *const names[] = {"gpu", "npu", "accelerator", "infiniband_port"};
    return names[kind];
}

const char *gpu_id_key(const struct gpu_id *id)
{
    return id->uuid[0] ? id->uuid : id->pci_address;
}

bool gpu_same(const struct gpu_id *a, const struct gpu_id *b)
{
    if (a->uuid[0] && b->uuid[0])
        return strcmp(a->uuid, b->uuid) == 0;
    if (a->pci_address[0] && b->pci_address[0])
        return strcmp(a->pci_address, b->pci_address) == 0;
    return a->name[0] && strcmp(a->name, b->name) == 0;
}

static bool has_lower(const char *word)
{
    for (; *word && *word != ' '; word++)
        if (*word >= 'a' && *word <= 'z')
            return true;
    return false;
}

const char *gpu_short_name(const struct gpu *gpu)
{
    enum { FAMILY_LEAST = 4 }; /* minimum length of a family name to omit: keeps "Arc" */
    const char *name = gpu->id.name;
    size_t maker = strlen(gpu->id.vendor);
    if (!name[0])
        return "unknown GPU";
    if (maker && strncasecmp(name, gpu->id.vendor, maker) == 0) {
        const char *rest = name + maker;
        rest += strncmp(rest, "(R)", 3) == 0 ? 3 : 0;
        if (rest[0] == ' ' && rest[1])
            name = rest + 1;
    }
    /* Drop the family only before a model in capitals whose first word has a letter: "RTX 4090", "780M", not the "31" of "Navi
     * 31". */
    const char *space = strchr(name, ' ');
    if (!space || space - name < FAMILY_LEAST || !has_lower(name) || has_lower(space + 1))
        return name;
    size_t word = strcspn(space + 1, " "), digits = strspn(space + 1, "0123456789");
    return word && digits < word && strpbrk(space + 1, "0123456789") ? space + 1 : name;
}

struct reading gpu_effective_load(const struct gpu *gpu)
{
    int64_t util, power, limit;
    if (gpu->sm_active_permille.state == READING_OK || gpu->sm_active_permille.state == READING_PENDING)
        return reading_absent(READING_UNSUPPORTED);
    if (!reading_get(gpu->util_permille, &util))
        return reading_absent(gpu->util_permille.state);
    if (!reading_get(gpu->power_mw, &power))
        return reading_absent(gpu->power_mw.state);
    if (!reading_get(gpu->power_limit_mw, &limit) || limit <= 0)
        return reading_absent(gpu->power_limit_mw.state == READING_OK ? READING_UNSUPPORTED : gpu->power_limit_mw.state);
    int64_t load = (util * power + limit / 2) / limit;
    return reading_ok(load < util ? load : util); /* power briefly above the limit: cap at the utilization */
}
