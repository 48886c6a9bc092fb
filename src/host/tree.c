/* SPDX-License-Identifier: Apache-2.0
 * Walks /proc once a look. What a process used before it was first seen is not counted, nor what it used after it was last seen.
 */
#include "host/tree.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "host/procfs.h"

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

static const struct tree_member *tree_find(const struct tree_member *list, size_t count, int32_t pid)
{
    const struct tree_member wanted = {.pid = pid};
    return count ? bsearch(&wanted, list, count, sizeof *list, by_pid) : NULL;
}

bool tree_has(const struct process_tree *t, int32_t pid)
{
    const struct tree_member *m = tree_find(t->members, t->count, pid);
    return m && m->in_tree;
}

static int read_stat(int proc, const char *pid, struct tree_member *m)
{
    char name[64], text[2048];
    struct proc_stat stat;
    snprintf(name, sizeof name, "%s/stat", pid);
    ssize_t n = file_read_at(proc, name, text, sizeof text);
    if (n < 0 || !proc_stat_parse((struct str){text, (size_t)n}, &stat))
        return n < 0 ? (int)n : -ESRCH;
    m->parent = (int32_t)stat.parent;
    m->cpu_ticks = stat.cpu_ticks;
    m->start_ticks = stat.start_ticks;
    return 0;
}

/* Others' may not be read: then it is 0. */
static void read_io(int proc, struct tree_member *m)
{
    char name[64], text[1024];
    snprintf(name, sizeof name, "%d/io", m->pid);
    ssize_t n = file_read_at(proc, name, text, sizeof text);
    proc_io_parse((struct str){text, n > 0 ? (size_t)n : 0}, &m->read_bytes, &m->write_bytes);
}

/* One that could not be read is as it was: what it used meanwhile is counted at the next look. */
static size_t list_processes(DIR *dir, int proc, const struct process_tree *before, struct tree_member *list)
{
    size_t count = 0;
    for (const struct dirent *e; count < TREE_MAX && (e = readdir(dir));) {
        int64_t pid;
        if (e->d_name[0] < '1' || e->d_name[0] > '9' || !str_to_i64(str_from(e->d_name), &pid))
            continue;
        list[count] = (struct tree_member){.pid = (int32_t)pid};
        int rc = read_stat(proc, e->d_name, &list[count]);
        const struct tree_member *known = rc < 0 && !is_gone(rc) ? tree_find(before->members, before->count, (int32_t)pid) : NULL;
        if (known)
            list[count] = *known;
        count += rc == 0 || known;
    }
    qsort(list, count, sizeof *list, by_pid);
    return count;
}

/* The member that has the root above it. Parents have mostly smaller numbers, so that one or two rounds are enough; numbers that
 * wrapped around need more. */
static void mark(struct tree_member *list, size_t count, int32_t root)
{
    for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < count; i++) {
            const struct tree_member *parent = list[i].in_tree ? NULL : tree_find(list, count, list[i].parent);
            if (!list[i].in_tree && (list[i].parent == root || (parent && parent->in_tree)))
                more = list[i].in_tree = true;
        }
    }
}

static void add_use(struct tree_use *use, const struct tree_member *now, const struct tree_member *before, int64_t passed_ms)
{
    static int64_t ticks_per_s;
    if (!ticks_per_s)
        ticks_per_s = MAX_OF(sysconf(_SC_CLK_TCK), 1);
    use->processes++;
    bool same = before && before->start_ticks == now->start_ticks;
    const struct tree_member zero = {0};
    if (passed_ms <= 0)
        return;
    if (!same)
        before = &zero; /* it began since the last look */
    int64_t cpu = (now->cpu_ticks - before->cpu_ticks) * 1000 * 1000 / ticks_per_s / passed_ms;
    use->cpu_permille += cpu;
    use->cpu_busiest_permille = MAX_OF(use->cpu_busiest_permille, cpu);
    use->read_bytes_per_s += MAX_OF(now->read_bytes - before->read_bytes, 0) * 1000 / passed_ms;
    use->write_bytes_per_s += MAX_OF(now->write_bytes - before->write_bytes, 0) * 1000 / passed_ms;
}

void tree_look(struct process_tree *t, const struct env *env, struct tree_use *ret)
{
    *ret = (struct tree_use){0};
    AUTO_CLOSE int proc = dir_fd_open(env, "/proc");
    AUTO_DIR DIR *dir = dir_open(env, "/proc");
    AUTO_FREE struct tree_member *list = calloc(TREE_MAX, sizeof *list);
    if (proc < 0 || !dir || !list)
        return;
    struct mono now = clock_mono(env->clock);
    int64_t passed_ms = t->looked_at.ns ? mono_since_ms(now, t->looked_at) : 0;
    size_t count = list_processes(dir, proc, t, list);
    mark(list, count, t->root);
    for (size_t i = 0; i < count; i++) {
        if (!list[i].in_tree)
            continue;
        read_io(proc, &list[i]);
        add_use(ret, &list[i], tree_find(t->members, t->count, list[i].pid), passed_ms);
    }
    free(t->members);
    t->members = TAKE(list);
    t->count = count;
    t->looked_at = now;
}
