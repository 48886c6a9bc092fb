/* SPDX-License-Identifier: Apache-2.0
 * GET /api/why and what is below it: explanations of now (those of the past are in history_api.c), where a program on a GPU spends
 * its CPU time, and in which lines.
 */
#include "serve/api/core.h"

#include <errno.h>

#include "base/json_writer.h"
#include "format/json/json.h"
#include "format/process_rows.h"

static void write_why_of(struct exchange *x, int gpu)
{
    const struct why *why = data_why(&x->server->data);
    if (!why)
        return;
    AUTO_BUF struct buf out = BUF(JSON_BODY_MAX);
    json_why(JSON_LINE(&out), x->server->data.latest, why, gpu);
    ready_json(x, &out);
}

static void write_why_of_job(struct exchange *x, const char *id)
{
    const struct why *why = data_why(&x->server->data);
    AUTO_SNAPSHOT const struct snapshot *part = NULL;
    struct why *own = NULL;
    int rc = why ? why_of_job(x->server->data.latest, why, id, &part, &own) : -ENOMEM;
    if (rc < 0) {
        if (rc == -ENOENT)
            exchange_error(x, 404, "no_such_job", "No process of job '%s' is on a GPU here.", id);
        else
            exchange_error(x, 503, "out_of_memory", "Out of memory.");
        return;
    }
    AUTO_BUF struct buf out = BUF(JSON_BODY_MAX);
    json_why(JSON_LINE(&out), part, own, ALL_GPUS);
    ready_json(x, &out);
    why_free(own);
}

static void write_why_of_process(struct exchange *x, const char *asked)
{
    AUTO_PROCESS_ROWS struct process_rows rows = {0};
    int only = ready_which_gpu(x);
    if (only < ALL_GPUS || !ready_find_process(x, asked, only, &rows))
        return;
    AUTO_BUF struct buf out = BUF(JSON_BODY_MAX);
    json_limits(JSON_LINE(&out), x->server->data.latest, &rows, &(struct limits_told){"", NULL, ""});
    ready_json(x, &out);
}

void get_why(struct exchange *x)
{
    char job[PROCESS_CONTAINER_NAME_SIZE], process[PROCESS_WORDS];
    if (past_handles(x) || !ready_recent(x, -1))
        return;
    if (http_query(x->request, "job", job, sizeof job)) {
        write_why_of_job(x, job);
        return;
    }
    if (http_query(x->request, "process", process, sizeof process)) {
        write_why_of_process(x, process);
        return;
    }
    int gpu = ready_which_gpu(x);
    if (gpu == ALL_GPUS)
        ready_reply(x, data_body(&x->server->data, BODY_WHY), "application/json");
    else if (gpu >= 0)
        write_why_of(x, gpu);
}

/* ---- CPU time ---- */

enum { SAMPLE_MS = 1000 };

static void cpu_samples_take(struct errand *e)
{
    struct cpu_samples *s = (struct cpu_samples *)e;
    address_samples_take(&e->env, s->pid, SAMPLE_MS, false, &s->result);
}

const struct errand_ops sampling_cpu = {.work = cpu_samples_take,
                                        .busy = "Another process is being sampled; ask again in a second."};

static void cpu_samples_reply(struct exchange *x, const struct cpu_samples *s)
{
    AUTO_BUF struct buf out = BUF(16 * 1024);
    json_cpu_samples(JSON_LINE(&out), s->pid, &s->result);
    exchange_json(x, 200, &out);
}

/* Skips simulated and recorded GPUs: on this host, their PIDs may belong to other processes. */
static bool has_gpu(const struct snapshot *s, int64_t pid)
{
    for (size_t g = 0; s && g < s->gpu_count; g++) {
        const struct process *p = s->gpus[g].simulated ? NULL : gpu_find_process(&s->gpus[g], (int32_t)pid);
        if (p && p->visible)
            return true;
    }
    return false;
}

static bool read_pid(struct exchange *x, int32_t *ret)
{
    char text[24];
    int64_t pid;
    if (!http_query(x->request, "pid", text, sizeof text) || !str_to_i64(str_from(text), &pid)) {
        exchange_error(x, 400, "bad_parameter", "pid: the number of a process is needed.");
        return false;
    }
    if (!has_gpu(x->server->data.latest, pid)) {
        exchange_error(x, 404, "not_found", "No process %d is on a GPU of this host.", (int)pid);
        return false;
    }
    *ret = (int32_t)pid;
    return true;
}

void get_why_cpu(struct exchange *x)
{
    struct cpu_samples *s = &x->server->cpu_samples;
    int32_t pid;
    if (errand_is_over(&s->errand, x)) {
        cpu_samples_reply(x, s);
        return;
    }
    if (!read_pid(x, &pid) || !errand_is_free(&s->errand, x))
        return;
    s->pid = pid;
    errand_begin(&s->errand, x);
}

/* ---- lines: only people who control the daemon may ask, since the names of files and functions are their own ---- */

static void look(struct errand *e)
{
    struct lines_errand *l = (struct lines_errand *)e;
    const struct lines_request request = {
        .pid = l->pid, .ms = LINES_MS, .looks_per_s = LINES_LOOKS_PER_S, .cancel = &l->cancel, .for_others = true};
    l->rc = lines_take(&e->env, &request, &l->looks, &l->err);
}

const struct errand_ops looking_at_lines = {.work = look,
                                            .busy = "Another program is being looked into; ask again in two seconds."};

/* Frees the previous result, sent or not. */
static void forget(struct lines_errand *l)
{
    if (l->pid && l->rc == 0)
        looks_done(&l->looks);
    l->pid = 0;
}

void lines_errand_end(struct lines_errand *l)
{
    l->cancel = true;
    errand_end(&l->errand);
    forget(l);
}

static void lines_reply(struct exchange *x, const struct lines_errand *l)
{
    AUTO_PROCESS_ROWS struct process_rows rows = {0};
    struct program_lines lines;
    if (!ready_find_process(x, l->asked, l->only, &rows))
        return;
    if (l->rc == 0)
        looks_judge(&l->looks, &lines);
    AUTO_BUF struct buf out = BUF(JSON_BODY_MAX);
    json_limits(JSON_LINE(&out), x->server->data.latest, &rows, &(struct limits_told){"", l->rc == 0 ? &lines : NULL, l->err.text});
    exchange_json(x, 200, &out);
}

void get_why_lines(struct exchange *x)
{
    struct lines_errand *l = &x->server->lines;
    if (errand_is_over(&l->errand, x)) {
        lines_reply(x, l);
        return;
    }
    AUTO_PROCESS_ROWS struct process_rows rows = {0};
    char asked[PROCESS_WORDS];
    if (!ready_recent(x, -1))
        return;
    if (!http_query(x->request, "process", asked, sizeof asked)) {
        exchange_error(x, 400, "bad_parameter", "process: a PID or a part of a program's name is needed.");
        return;
    }
    int only = ready_which_gpu(x);
    if (only < ALL_GPUS || !ready_find_process(x, asked, only, &rows) || !errand_is_free(&l->errand, x))
        return;
    forget(l);
    const struct process *first = rows.rows[0].process;
    if (rows.rows[0].gpu->simulated || !first->visible) {
        /* Its PID may be another program's here. */
        exchange_error(x, 404, "not_found", "%s.",
                       rows.rows[0].gpu->simulated ? "A simulated program has no lines" : "That program can't be seen from here");
        return;
    }
    l->err = (struct error){0};
    l->rc = -ECANCELED; /* until the look is over: without a thread there is no result to free */
    l->only = only;
    l->pid = first->pid;
    str_copy(l->asked, sizeof l->asked, str_from(asked));
    errand_begin(&l->errand, x);
}
