/* SPDX-License-Identifier: Apache-2.0
 * One sample of a card: the newest query, plus what only the less frequent -q -x has.
 */
#include <stdio.h>

#include "base/file.h"
#include "source/nvidia_smi/internal.h"

/* Values that change with every sample never come from an older output; temperature limits may. */
static bool may_be_older(const struct smi *s, enum metric metric)
{
    return s->xml_only || s->xml_fresh || metric == METRIC_temp_limit_mdegc ||
           !(metric_table[metric].group & (GROUP_FAST | GROUP_PROCESS));
}

static void merge_metrics(const struct smi *s, const struct smi_known_card *card, unsigned groups, struct gpu *out)
{
    for (size_t i = 0; i < METRIC_COUNT; i++) {
        if (!(metric_table[i].group & groups))
            continue;
        struct reading now = card->now.metric[i], slow = card->slow.metric[i];
        if (!may_be_older(s, (enum metric)i))
            slow = reading_absent(READING_UNREAD);
        bool take_slow = now.state != READING_OK && (slow.state == READING_OK || now.state == READING_UNREAD);
        out->metric[i] = take_slow ? slow : now;
    }
    for (size_t i = 0; (groups & GROUP_STATIC) && i < PROPERTY_COUNT; i++)
        out->property[i] = card->now.property[i].state == READING_OK || card->slow.property[i].state == READING_UNREAD
                               ? card->now.property[i]
                               : card->slow.property[i];
    if (groups & GROUP_STATIC) {
        gpu_set_property(out, PROPERTY_driver, "nvidia");
        if (s->driver.driver_version[0])
            gpu_set_property(out, PROPERTY_driver_version, s->driver.driver_version);
        if (card->now.mem_total_bytes.state == READING_OK)
            gpu_set_property(out, PROPERTY_memory_kind, "dedicated");
    }
}

/* nvidia-smi reads names from the same /proc as we do, where a host PID may be another process: leave visible ones to the
 * engine, which checks more closely. */
static void copy_process(const struct smi *s, const struct process *from, struct process *to)
{
    char path[64];
    int32_t pid = to->pid;
    *to = *from;
    to->pid = pid;
    snprintf(path, sizeof path, "/proc/%d", (int)pid);
    if (file_exists(s->env, path))
        to->name[0] = '\0';
}

static void merge_add_process(const struct smi *s, const struct process *from, struct gpu *out)
{
    struct process *p = gpu_add_process(out, from->pid);
    if (p)
        copy_process(s, from, p);
}

/* The list of -q -x is complete; the more frequent query has only compute processes: keep the graphics ones. */
static void merge_processes(const struct smi *s, const struct smi_known_card *card, struct gpu *out)
{
    out->processes_state = s->processes_state;
    for (size_t i = 0; i < card->now.process_count && !s->xml_fresh; i++)
        merge_add_process(s, &card->now.processes[i], out);
    for (size_t i = 0; i < card->slow.process_count; i++) {
        const struct process *slow = &card->slow.processes[i];
        struct process *p = gpu_find_process(out, slow->pid);
        if (!p) {
            if (s->xml_fresh || (slow->type & PROCESS_GRAPHICS))
                merge_add_process(s, slow, out);
            continue;
        }
        p->type |= slow->type;
        p->instance = p->instance < 0 ? slow->instance : p->instance;
        if (p->mem_bytes.state != READING_OK)
            p->mem_bytes = slow->mem_bytes;
        else if (s->xml_fresh && slow->mem_bytes.state == READING_OK)
            p->mem_bytes.value += slow->mem_bytes.value; /* in two instances at once */
    }
}

static void merge_instances(const struct smi_known_card *card, unsigned groups, struct gpu *out)
{
    for (size_t i = 0; i < card->slow.instance_count; i++) {
        struct gpu *instance = gpu_add_instance(out);
        if (!instance)
            return;
        *instance = card->slow.instances[i]; /* instances own no lists */
        gpu_mark_absent(instance, groups, READING_UNSUPPORTED);
    }
}

static bool all_failed(const struct gpu *gpu)
{
    size_t failed = 0;
    for (size_t i = 0; i < METRIC_COUNT; i++) {
        if (gpu->metric[i].state == READING_OK)
            return false;
        failed += gpu->metric[i].state == READING_FAILED;
    }
    return failed > 0;
}

void smi_merge_sample(const struct smi *s, const struct smi_known_card *card, unsigned groups, struct gpu *out)
{
    out->id = card->id;
    if (card->asleep) {
        gpu_mark_state(out, GPU_ASLEEP, "");
        return;
    }
    const struct gpu *told = s->xml_only ? &card->slow : &card->now;
    if (told->state == GPU_LOST) {
        gpu_mark_state(out, GPU_LOST, told->error_message);
        return;
    }
    merge_metrics(s, card, groups, out);
    if (groups & GROUP_PROCESS)
        merge_processes(s, card, out);
    merge_instances(card, groups, out);
    if (all_failed(out)) {
        gpu_done(out);
        gpu_mark_state(out, GPU_ERROR,
                       told->error_message[0] ? told->error_message : "nvidia-smi reports an error for every value of this GPU");
        return;
    }
    out->state = told->state;
    str_copy(out->error_message, sizeof out->error_message, str_from(told->error_message));
    gpu_mark_absent(out, groups, s->more_late ? READING_PENDING : READING_UNSUPPORTED);
}
