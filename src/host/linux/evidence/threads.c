/* SPDX-License-Identifier: Apache-2.0
 * The threads of a process: which is busiest. The kernel counts each thread's time in nanoseconds, so two looks give it exactly.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "host/linux/evidence/internal.h"

static int by_tid(const void *a, const void *b)
{
    int32_t x = ((const struct thread_count *)a)->tid, y = ((const struct thread_count *)b)->tid;
    return x < y ? -1 : x > y;
}

static const struct thread_count *thread_find(const struct thread_memory *m, int32_t tid)
{
    const struct thread_count wanted = {.tid = tid};
    return m->count ? bsearch(&wanted, m->list, m->count, sizeof m->list[0], by_tid) : NULL;
}

static bool read_thread(struct evidence_reader *r, int tasks, struct thread_count *t)
{
    char name[32], text[128];
    struct proc_schedstat sched;
    snprintf(name, sizeof name, "%d/schedstat", (int)t->tid);
    ssize_t n = budget_read(r, tasks, name, text, sizeof text);
    if (n <= 0 || !proc_schedstat_parse((struct str){text, (size_t)n}, &sched))
        return false;
    t->run_ns = t->used_ns = sched.run_ns;
    return true;
}

/* False: the directory can't be opened. */
static bool list_threads(struct evidence_reader *r, int tasks, struct thread_count *list, size_t *count)
{
    int copy = budget_take(r) ? dir_fd_open_at(tasks, ".") : -1;
    AUTO_DIR DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
    *count = 0;
    if (!dir) {
        if (copy >= 0)
            close(copy);
        return false;
    }
    for (const struct dirent *e; *count < THREADS_MAX && (e = readdir(dir));) {
        int64_t tid;
        if (e->d_name[0] < '1' || e->d_name[0] > '9' || !str_to_i64(str_from(e->d_name), &tid) || tid > INT32_MAX)
            continue;
        list[*count].tid = (int32_t)tid;
        *count += read_thread(r, tasks, &list[*count]);
    }
    qsort(list, *count, sizeof list[0], by_tid);
    return true;
}

static void compare(struct thread_memory *m, struct thread_count *list, size_t count, int64_t elapsed_ns, int32_t *busiest)
{
    int64_t most_ns = 0, sum_ns = 0, busy = 0;
    *busiest = 0;
    for (size_t i = 0; i < count; i++) {
        /* A thread that started since the last look spent all its time in between. */
        const struct thread_count *before = thread_find(m, list[i].tid);
        list[i].used_ns = 0;
        if (!before && !m->is_whole)
            continue;
        int64_t used_ns = list[i].run_ns - (before && before->run_ns <= list[i].run_ns ? before->run_ns : 0);
        used_ns = MIN_OF(used_ns, elapsed_ns);
        list[i].used_ns = used_ns;
        sum_ns += used_ns;
        busy += used_ns * 2 >= elapsed_ns;
        if (used_ns > most_ns) {
            most_ns = used_ns;
            *busiest = list[i].tid;
        }
    }
    m->busiest = reading_ok(core_permille(most_ns, elapsed_ns));
    m->all = reading_ok(core_permille(sum_ns, elapsed_ns));
    m->busy = reading_ok(busy);
}

static void name_busiest(struct evidence_reader *r, struct thread_memory *m, int tasks, int32_t tid)
{
    char name[32], text[64];
    m->busiest_name[0] = '\0';
    if (!tid)
        return;
    snprintf(name, sizeof name, "%d/comm", (int)tid);
    ssize_t n = budget_read(r, tasks, name, text, sizeof text);
    if (n > 0)
        str_copy_clean(m->busiest_name, sizeof m->busiest_name, str_trim((struct str){text, (size_t)n}));
}

void threads_look(struct evidence_reader *r, struct thread_memory *m, int process)
{
    struct thread_count list[THREADS_MAX];
    size_t count;
    int32_t busiest;
    AUTO_CLOSE int tasks = dir_fd_open_at(process, "task");
    if (tasks < 0 || !list_threads(r, tasks, list, &count) || count == 0) {
        m->busiest = m->all = m->busy = reading_absent(tasks == -EACCES ? READING_DENIED : READING_UNSUPPORTED);
        return;
    }
    if (m->count) {
        compare(m, list, count, r->now.ns - m->at.ns, &busiest);
        name_busiest(r, m, tasks, busiest);
    } else {
        m->busiest = m->all = m->busy = reading_absent(READING_PENDING);
    }
    memcpy(m->list, list, count * sizeof list[0]);
    m->count = count;
    m->is_whole = r->share_left > 0 && count < THREADS_MAX;
    m->at = r->now;
}

void threads_by_main(struct thread_memory *m, const char *name, int64_t main_permille, int64_t all_permille)
{
    m->busiest = reading_ok(main_permille);
    m->all = reading_ok(all_permille);
    m->busy = reading_ok(main_permille >= 500);
    str_copy(m->busiest_name, sizeof m->busiest_name, str_from(name));
}

size_t threads_hottest(const struct thread_memory *m, int32_t pid, int32_t *tids, size_t max)
{
    size_t count = 0;
    tids[count++] = pid;
    while (count < max) {
        const struct thread_count *best = NULL;
        for (size_t i = 0; i < m->count; i++) {
            bool taken = false;
            for (size_t k = 0; k < count; k++)
                taken |= tids[k] == m->list[i].tid;
            if (!taken && m->list[i].used_ns > 0 && (!best || m->list[i].used_ns > best->used_ns))
                best = &m->list[i];
        }
        if (!best)
            break;
        tids[count++] = best->tid;
    }
    return count;
}

size_t threads_parents(struct thread_memory *m, int32_t *tids, size_t max)
{
    size_t count = 0;
    for (; count < max && count < m->count; count++)
        tids[count] = m->list[(m->next_parent + count) % m->count].tid;
    m->next_parent = m->count ? (m->next_parent + count) % m->count : 0;
    return count;
}

void threads_write(const struct thread_memory *m, struct host_evidence *ret)
{
    ret->busiest_thread_permille = m->busiest;
    ret->busy_threads = m->busy;
    str_copy(ret->busiest_thread, sizeof ret->busiest_thread, str_from(m->busiest_name));
}
