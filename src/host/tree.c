/* SPDX-License-Identifier: Apache-2.0
 * Finds descendants in a list of processes, and what they used between two lists. Usage before a process was first seen and after
 * it was last seen doesn't count. Reads nothing.
 */
#include "host/tree.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"

int tree_init(struct process_tree *t, int32_t root)
{
    *t = (struct process_tree){.root = root, .members = calloc(TREE_MAX, sizeof *t->members)};
    return t->members ? 0 : -ENOMEM;
}

void tree_done(struct process_tree *t)
{
    free(t->members);
    t->members = NULL;
}

static int by_pid(const void *a, const void *b)
{
    int32_t x = ((const struct tree_member *)a)->pid, y = ((const struct tree_member *)b)->pid;
    return x < y ? -1 : x > y;
}

const struct tree_member *tree_find(const struct tree_member *list, size_t count, int32_t pid)
{
    const struct tree_member wanted = {.pid = pid};
    return count ? bsearch(&wanted, list, count, sizeof *list, by_pid) : NULL;
}

bool tree_has(const struct process_tree *t, int32_t pid)
{
    const struct tree_member *m = tree_find(t->members, t->count, pid);
    return m && m->in_tree;
}

/* Marks the descendants of root. Parents mostly have smaller PIDs, so one or two passes suffice; PIDs that wrapped around need
 * more. */
void tree_mark(struct tree_member *list, size_t count, int32_t root)
{
    qsort(list, count, sizeof *list, by_pid);
    for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < count; i++) {
            const struct tree_member *parent = list[i].in_tree ? NULL : tree_find(list, count, list[i].parent);
            if (!list[i].in_tree && (list[i].parent == root || (parent && parent->in_tree)))
                more = list[i].in_tree = true;
        }
    }
}

static void add_rate(struct reading *sum, int64_t now, int64_t before, int64_t passed_ms)
{
    if (now >= 0 && before >= 0)
        *sum = reading_ok(reading_or(*sum, 0) + MAX_OF(now - before, (int64_t)0) * 1000 / passed_ms);
    else if (sum->state == READING_UNREAD)
        sum->state = READING_UNSUPPORTED;
}

static void add_use(struct tree_use *use, const struct tree_member *now, const struct tree_member *before, int64_t ticks_per_s,
                    int64_t passed_ms)
{
    use->processes++;
    bool same = before && before->start_ticks == now->start_ticks;
    const struct tree_member zero = {0};
    if (passed_ms <= 0)
        return;
    if (!same)
        before = &zero; /* it started since the last look */
    int64_t cpu = (now->cpu_ticks - before->cpu_ticks) * 1000 * 1000 / ticks_per_s / passed_ms;
    use->cpu_permille += cpu;
    use->cpu_busiest_permille = MAX_OF(use->cpu_busiest_permille, cpu);
    add_rate(&use->read_bytes_per_s, now->read_bytes, before->read_bytes, passed_ms);
    add_rate(&use->write_bytes_per_s, now->write_bytes, before->write_bytes, passed_ms);
}

void tree_take(struct process_tree *t, struct tree_member *list, size_t count, struct mono now, int64_t ticks_per_s,
               struct tree_use *ret)
{
    int64_t passed_ms = t->looked_at.ns ? mono_since_ms(now, t->looked_at) : 0;
    for (size_t i = 0; i < count; i++)
        if (list[i].in_tree)
            add_use(ret, &list[i], tree_find(t->members, t->count, list[i].pid), ticks_per_s, passed_ms);
    free(t->members);
    t->members = list;
    t->count = count;
    t->looked_at = now;
}
