/* SPDX-License-Identifier: Apache-2.0
 * ROCm processes. fdinfo doesn't count their queues as engine time; KFD reports their memory and compute units, for processes of
 * all users.
 */
#include <stdio.h>

#include "base/cleanup.h"
#include "source/amdgpu/kfd.h"

struct usage {
    int64_t vram_bytes;
    int64_t units_busy;
    bool vram_known, units_known;
    int used_parts, last_part;
};

static void add_node(struct attrs *process, const struct kfd_node *node, int part, struct usage *u)
{
    char name[ATTR_NAME_SIZE];
    int64_t value;
    bool used = false;
    snprintf(name, sizeof name, "vram_%u", node->gpu_id);
    if (attrs_number(process, name, &value) == 0 && value >= 0) {
        u->vram_known = true;
        u->vram_bytes += value;
        used = value > 0;
    }
    snprintf(name, sizeof name, "stats_%u/cu_occupancy", node->gpu_id);
    if (attrs_number(process, name, &value) == 0 && value >= 0) {
        u->units_known = true;
        u->units_busy += MIN_OF(value, node->compute_units);
        used = used || value > 0;
    }
    if (used) {
        u->used_parts++;
        u->last_part = part;
    }
}

static void kfd_processes_add_process(struct gpu *out, int32_t pid, const struct usage *u, int64_t units, size_t parts)
{
    struct process *p = gpu_find_process(out, pid);
    if (!p)
        p = gpu_add_process(out, pid);
    if (!p)
        return;
    p->type |= PROCESS_COMPUTE;
    /* fdinfo of the render node counts the same buffers: take the larger, not the sum. */
    if (u->vram_known)
        p->mem_bytes = reading_ok(MAX_OF(reading_or(p->mem_bytes, 0), u->vram_bytes));
    if (u->units_known && units > 0) {
        int64_t permille = u->units_busy * 1000 / units;
        p->util_permille = reading_ok(MAX_OF(reading_or(p->util_permille, 0), permille));
    }
    if (parts > 1 && u->used_parts == 1)
        p->instance = u->last_part;
}

void kfd_fill_processes(const struct kfd *k, const struct env *env, const char *card, struct gpu *out)
{
    size_t parts = kfd_count_of(k, card), seen = 0;
    AUTO_DIR DIR *dir = parts ? dir_open(env, "/sys/class/kfd/kfd/proc") : NULL;
    if (parts && !dir && !is_gone(-errno))
        out->processes_state = READING_FAILED; /* the processes are unknown: "none" would be a guess */
    struct dirent *entry;
    while (dir && (entry = readdir(dir)) && seen < KFD_PROCESSES_MAX) {
        int64_t pid, units = 0;
        struct attrs process;
        struct usage u = {0};
        if (!str_to_i64(str_from(entry->d_name), &pid) || pid <= 0 || pid > INT32_MAX)
            continue;
        seen++;
        attrs_init(&process, env, "/sys/class/kfd/kfd/proc/%d", (int)pid);
        for (size_t i = 0; i < parts; i++) {
            const struct kfd_node *node = kfd_node_of(k, card, i);
            units += node->compute_units;
            if (node->gpu_id)
                add_node(&process, node, (int)i, &u);
        }
        /* ROCm opens every card: count only those the process uses. */
        if (u.used_parts)
            kfd_processes_add_process(out, (int32_t)pid, &u, units, parts);
        if (out->processes_state == READING_UNREAD || out->processes_state == READING_UNSUPPORTED)
            out->processes_state = READING_OK;
    }
}
