/* SPDX-License-Identifier: Apache-2.0
 * Walks /proc once per look.
 */
#include "host/tree.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "host/procfs.h"

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

/* Other users' counters are unreadable: 0 then. */
static void read_io(int proc, struct tree_member *m)
{
    char name[64], text[1024];
    snprintf(name, sizeof name, "%d/io", m->pid);
    ssize_t n = file_read_at(proc, name, text, sizeof text);
    proc_io_parse((struct str){text, n > 0 ? (size_t)n : 0}, &m->read_bytes, &m->write_bytes);
}

/* An unreadable process keeps its old values: the next look counts what it used meanwhile. */
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
    return count;
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
    size_t count = list_processes(dir, proc, t, list);
    tree_mark(list, count, t->root);
    for (size_t i = 0; i < count; i++)
        if (list[i].in_tree)
            read_io(proc, &list[i]);
    tree_take(t, TAKE(list), count, now, MAX_OF(sysconf(_SC_CLK_TCK), 1), ret);
}
