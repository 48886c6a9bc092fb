/* SPDX-License-Identifier: Apache-2.0
 * Groups the processes of a snapshot into jobs.
 */
#include "model/job.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"

/* A container that holds a whole system or a desktop application isn't a job to people. */
static bool is_no_job(const char *container)
{
    static const char *const kinds[] = {"lxc:", "nspawn:", "machine:", "flatpak:", "snap:", "buildkit:"};
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (str_starts(str_from(container), kinds[i]))
            return true;
    return false;
}

void process_job_id(const struct process *p, char *to, size_t size)
{
    char pod[PROCESS_CONTAINER_NAME_SIZE];
    process_pod(p, pod, sizeof pod);
    const char *container = is_no_job(p->container) || p->type == PROCESS_GRAPHICS ? "" : process_container(p);
    str_copy(to, size, str_from(p->job[0] ? p->job : pod[0] ? pod : container));
}

/* ---- processes of one launcher ---- */

static bool has_sister(const struct snapshot *s, const struct process *p)
{
    for (size_t g = 0; g < s->gpu_count; g++)
        for (size_t i = 0; i < s->gpus[g].process_count; i++) {
            const struct process *other = &s->gpus[g].processes[i];
            if (other->pid != p->pid && strcmp(other->launcher, p->launcher) == 0)
                return true;
        }
    return false;
}

void jobs_assign(struct snapshot *s)
{
    for (size_t g = 0; g < s->gpu_count; g++)
        for (size_t i = 0; i < s->gpus[g].process_count; i++) {
            struct process *p = &s->gpus[g].processes[i];
            if (p->launcher[0] && !p->job[0] && has_sister(s, p))
                str_copy(p->job, sizeof p->job, str_from(p->launcher));
        }
}

/* ---- the list ---- */

struct job_entry {
    char id[PROCESS_CONTAINER_NAME_SIZE];
    struct job_member member;
};

static int by_job(const void *a, const void *b)
{
    const struct job_entry *x = a, *y = b;
    const struct process *p = x->member.process, *q = y->member.process;
    int order = strverscmp(x->id, y->id);
    if (order)
        return order;
    int64_t r = reading_or(p->rank, INT64_MAX), t = reading_or(q->rank, INT64_MAX);
    if (r != t)
        return r < t ? -1 : 1;
    if (x->member.gpu != y->member.gpu)
        return x->member.gpu->index < y->member.gpu->index ? -1 : 1;
    return p->pid < q->pid ? -1 : p->pid > q->pid;
}

static size_t list_entries(const struct snapshot *s, struct job_entry *list)
{
    size_t count = 0;
    for (size_t g = 0; g < s->gpu_count; g++)
        for (size_t i = 0; i < s->gpus[g].process_count; i++) {
            const struct process *p = &s->gpus[g].processes[i];
            process_job_id(p, list[count].id, sizeof list[count].id);
            list[count].member = (struct job_member){&s->gpus[g], p};
            count += list[count].id[0] != '\0';
        }
    return count;
}

static void job_measure(struct job *job)
{
    for (size_t i = 0; i < job->count; i++) {
        const struct process *p = job->members[i].process;
        bool seen = false;
        for (size_t k = 0; k < i && !seen; k++)
            seen = job->members[k].process->pid == p->pid;
        job->processes += !seen;
        if (reading_or(p->world_size, 0) > reading_or(job->world_size, 0))
            job->world_size = p->world_size;
    }
}

int jobs_find(struct jobs *ret, const struct snapshot *s)
{
    size_t most = 0, members = 0;
    *ret = (struct jobs){0};
    for (size_t g = 0; g < s->gpu_count; g++)
        most += s->gpus[g].process_count;
    AUTO_FREE struct job_entry *list = calloc(most + 1, sizeof *list);
    ret->list = calloc(most + 1, sizeof *ret->list);
    ret->members = calloc(most + 1, sizeof *ret->members);
    if (!list || !ret->list || !ret->members) {
        jobs_done(ret);
        return -ENOMEM;
    }
    size_t count = list_entries(s, list);
    qsort(list, count, sizeof *list, by_job);
    for (size_t i = 0, end; i < count; i = end) {
        struct job *job = &ret->list[ret->count];
        *job = (struct job){.members = &ret->members[members]};
        str_copy(job->id, sizeof job->id, str_from(list[i].id));
        for (end = i; end < count && strcmp(list[i].id, list[end].id) == 0; end++)
            job->members[job->count++] = list[end].member;
        job_measure(job);
        if (job->processes < 2 && reading_or(job->world_size, 0) < 2)
            continue;
        members += job->count;
        ret->count++;
    }
    return 0;
}

void jobs_done(struct jobs *jobs)
{
    free(jobs->list);
    free(jobs->members);
    *jobs = (struct jobs){0};
}
