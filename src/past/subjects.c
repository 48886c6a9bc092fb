/* SPDX-License-Identifier: Apache-2.0
 * Finds the subjects of a query: GPUs, hosts, or processes on GPUs.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "past/history_answer.h"

enum { RUNS_LOOKED_AT = 10000 };

struct subject_search {
    struct store *s;
    const struct history_question *q;
    struct history_subjects *to;
    bool host_known;
    struct error *err;
};

void history_subjects_done(struct history_subjects *subjects)
{
    free(subjects->list);
    *subjects = (struct history_subjects){0};
}

static int subjects_add(struct subject_search *f, const struct history_subject *subject)
{
    for (size_t i = 0; i < f->to->count; i++) {
        struct history_subject *there = &f->to->list[i];
        if (there->of == subject->of && there->id == subject->id) {
            there->first_ms = MIN_OF(there->first_ms, subject->first_ms);
            there->last_ms = MAX_OF(there->last_ms, subject->last_ms);
            return 0;
        }
    }
    if (f->to->count == HISTORY_SUBJECTS_MAX)
        return error_set(f->err, -EINVAL, "gpu or host: more than %d are meant", HISTORY_SUBJECTS_MAX);
    f->to->list[f->to->count++] = *subject;
    return 0;
}

static int add_gpu(void *user, const struct store_gpu *gpu)
{
    struct subject_search *f = user;
    struct history_subject subject = {
        .of = OF_GPU, .id = gpu->id, .gpu = *gpu, .first_ms = gpu->first_seen.ms, .last_ms = gpu->last_seen.ms};
    memcpy(subject.host, gpu->host, sizeof subject.host);
    return subjects_add(f, &subject);
}

/* A GPU that isn't named counts if it was there at that time. */
static int add_present_gpu(void *user, const struct store_gpu *gpu)
{
    struct subject_search *f = user;
    bool there = gpu->last_seen.ms >= f->q->since_ms && gpu->first_seen.ms < f->q->until_ms;
    return there ? add_gpu(user, gpu) : 0;
}

static int add_present_host(void *user, const struct store_host *host)
{
    struct subject_search *f = user;
    if ((f->to->host[0] && strcmp(f->to->host, host->name) != 0) || host->last_seen.ms < f->q->since_ms ||
        host->first_seen.ms >= f->q->until_ms)
        return 0;
    struct history_subject subject = {
        .of = OF_HOST, .id = host->id, .first_ms = host->first_seen.ms, .last_ms = host->last_seen.ms};
    memcpy(subject.host, host->name, sizeof subject.host);
    return subjects_add(f, &subject);
}

static const char *host_meant(const struct history_subjects *subjects)
{
    return subjects->host[0] ? subjects->host : NULL;
}

static int add_named_gpus(struct subject_search *f)
{
    struct str rest = str_from(f->q->gpus), word;
    int rc = 0;
    while (rc == 0 && str_cut(&rest, ',', &word)) {
        char which[128];
        struct store_gpu gpu;
        str_copy(which, sizeof which, str_trim(word));
        rc = store_find_gpu(f->s, host_meant(f->to), which, &gpu, f->err);
        if (rc == 0)
            rc = add_gpu(f, &gpu);
    }
    return rc;
}

static int add_gpus(struct subject_search *f)
{
    return f->q->gpus[0] ? add_named_gpus(f) : store_gpus(f->s, host_meant(f->to), add_present_gpu, f, f->err);
}

/* ---- processes ---- */

static int add_run(void *user, const struct store_process_run *run)
{
    struct subject_search *f = user;
    struct history_subject subject = {
        .of = OF_PROCESS, .id = run->gpu_id, .first_ms = run->first_seen.ms, .last_ms = run->last_seen.ms};
    return subjects_add(f, &subject);
}

static int fill_gpu(void *user, const struct store_gpu *gpu)
{
    struct history_subjects *to = user;
    for (size_t i = 0; i < to->count; i++)
        if (to->list[i].of == OF_PROCESS && to->list[i].id == gpu->id) {
            to->list[i].gpu = *gpu;
            memcpy(to->list[i].host, gpu->host, sizeof to->list[i].host);
        }
    return 0;
}

static int lives_on(struct subject_search *f, int64_t gpu_id)
{
    struct store_span span = history_runs_of(f->q, host_meant(f->to), gpu_id);
    span.in_order = true;
    span.limit = RUNS_LOOKED_AT;
    return store_process_runs(f->s, &span, add_run, f, f->err);
}

static int add_processes(struct subject_search *f)
{
    const struct history_question *q = f->q;
    int rc = 0;
    if (q->gpus[0]) {
        rc = add_named_gpus(f);
        size_t gpus = f->to->count;
        for (size_t i = 0; rc == 0 && i < gpus; i++)
            rc = lives_on(f, f->to->list[i].id);
        /* The GPUs only narrowed the search for processes. */
        if (rc == 0) {
            memmove(f->to->list, f->to->list + gpus, (f->to->count - gpus) * sizeof *f->to->list);
            f->to->count -= gpus;
        }
    } else {
        rc = lives_on(f, 0);
    }
    if (rc < 0)
        return rc;
    char number[32];
    snprintf(number, sizeof number, "%lld", (long long)(q->run ? q->run : q->pid));
    if (f->to->count == 0)
        return error_set(f->err, -ENODEV, "at that time, the history knows no %s '%s'",
                         q->process[0] ? "process"
                         : q->run      ? "life"
                                       : "process with the number",
                         q->process[0] ? q->process : number);
    return store_gpus(f->s, NULL, fill_gpu, f->to, f->err);
}

int history_subject_plot(struct store *s, const struct history_question *q, const struct history_subjects *subjects,
                         const struct history_subject *subject, struct store_plot plot, store_point_fn *each, void *user,
                         struct error *err)
{
    plot.series = subject->of == OF_HOST ? SERIES_HOST : SERIES_GPU;
    plot.subject = subject->id;
    if (subject->of != OF_PROCESS)
        return store_series(s, &plot, each, user, err);
    const struct store_process_plot runs = {.runs = history_runs_of(q, host_meant(subjects), subject->id),
                                            .since_ms = plot.since_ms,
                                            .until_ms = plot.until_ms,
                                            .step_ms = plot.step_ms};
    return store_process_series(s, &runs, each, user, err);
}

/* ---- choosing a host ---- */

static int look_for_host(void *user, const struct store_host *host)
{
    struct subject_search *f = user;
    const char *wanted = f->q->host[0] ? f->q->host : f->q->own_host;
    f->host_known |= strcmp(host->name, wanted) == 0;
    return 0;
}

static int choose_host(struct subject_search *f)
{
    const char *wanted = f->q->host[0] ? f->q->host : f->q->own_host;
    if (strcmp(wanted, "*") == 0 || !wanted[0])
        return 0;
    int rc = store_hosts(f->s, look_for_host, f, f->err);
    if (rc < 0)
        return rc;
    if (!f->host_known && f->q->host[0])
        return error_set(f->err, -ENODEV, "the history knows no host '%s'", f->q->host);
    if (f->host_known)
        str_copy(f->to->host, sizeof f->to->host, str_from(wanted));
    return 0;
}

int history_subjects_find(struct store *s, const struct history_question *q, struct history_subjects *ret, struct error *err)
{
    *ret = (struct history_subjects){.list = calloc(HISTORY_SUBJECTS_MAX, sizeof *ret->list)};
    if (!ret->list)
        return error_set(err, -ENOMEM, "out of memory");
    struct subject_search f = {.s = s, .q = q, .to = ret, .err = err};
    bool gpus = q->all_metrics && q->metrics[0].of == OF_GPU, hosts = q->all_metrics && q->metrics[0].of == OF_HOST;
    for (size_t i = 0; i < q->metric_count; i++) {
        gpus |= q->metrics[i].of == OF_GPU;
        hosts |= q->metrics[i].of == OF_HOST;
    }
    int rc = choose_host(&f);
    if (rc == 0 && q->kind == HISTORY_SERIES && history_of_process(q))
        rc = add_processes(&f);
    else if (rc == 0 && q->kind != HISTORY_SERIES)
        rc = q->gpus[0] ? add_named_gpus(&f) : 0;
    else if (rc == 0 && gpus)
        rc = add_gpus(&f);
    if (rc == 0 && hosts)
        rc = store_hosts(s, add_present_host, &f, err);
    if (rc < 0)
        history_subjects_done(ret);
    return rc;
}
