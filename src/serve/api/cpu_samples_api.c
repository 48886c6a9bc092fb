/* SPDX-License-Identifier: Apache-2.0
 * Samples the stack of a process on a GPU for a request.
 */
#include "serve/api/core.h"

#include "base/json_writer.h"
#include "format/json/json.h"

enum { SAMPLE_MS = 1000 };

static void cpu_samples_take(void *samples)
{
    struct cpu_samples *s = samples;
    address_samples_take(&s->env, s->pid, SAMPLE_MS, false, &s->result);
}

static const struct errand_ops taking = {.work = cpu_samples_take,
                                         .busy = "Another process is being sampled; ask again in a second."};

int cpu_samples_init(struct cpu_samples *s, struct loop *loop)
{
    env_init_system(&s->env);
    return errand_init(&s->errand, &taking, s, loop);
}

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
