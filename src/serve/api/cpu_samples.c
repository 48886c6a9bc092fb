/* SPDX-License-Identifier: Apache-2.0
 * Samples of a process for a request. Only of processes that have a GPU: of others nothing is asked.
 */
#include "serve/api/cpu_samples.h"

#include <errno.h>

#include "base/cleanup.h"
#include "base/json_writer.h"
#include "format/json/json.h"
#include "http/http.h"
#include "serve/api/core.h"

enum { SAMPLE_MS = 1000 };

static void *cpu_samples_run(void *argument)
{
    struct cpu_samples *s = argument;
    address_samples_take(&s->env, s->pid, SAMPLE_MS, &s->result);
    mailbox_put(s->done, s);
    return NULL;
}

/* The answer was given, or its client has gone before it could be. */
static void cpu_samples_forget(void *samples)
{
    ((struct cpu_samples *)samples)->finished = false;
}

static void cpu_samples_taken(void *argument)
{
    struct cpu_samples *s = argument;
    if (!mailbox_take(s->done, 0))
        return;
    pthread_join(s->thread, NULL);
    s->running = false;
    struct conn *c = TAKE(s->conn);
    struct http_client *client = c ? http_client_of(c) : NULL;
    if (!client)
        return;
    s->finished = true;
    client->answer = s;
    client->drop_answer = cpu_samples_forget;
    http_unpark(c);
}

int cpu_samples_init(struct cpu_samples *s, struct loop *loop)
{
    *s = (struct cpu_samples){.done = mailbox_new(1, NULL)};
    if (!s->done)
        return -ENOMEM;
    env_init_system(&s->env);
    s->watch = watch_readable(loop->base, mailbox_fd(s->done), cpu_samples_taken, s);
    return s->watch && watch_on(s->watch, WATCH_NO_TIMEOUT) ? 0 : -ENOMEM;
}

void cpu_samples_end(struct cpu_samples *s)
{
    if (s->running)
        pthread_join(s->thread, NULL);
    s->running = false;
}

void cpu_samples_done(struct cpu_samples *s)
{
    watch_free(s->watch);
    mailbox_free(s->done);
}

static void cpu_samples_reply(struct exchange *x, const struct cpu_samples *s)
{
    AUTO_BUF struct buf out = BUF(16 * 1024);
    struct json_writer j = JSON_WRITER(&out);
    json_cpu_samples(&j, s->pid, &s->result);
    buf_char(&out, '\n');
    exchange_json(x, 200, &out);
}

static void cpu_samples_gone(struct conn *c, void *owner)
{
    struct cpu_samples *s = owner;
    if (s->conn == c)
        s->conn = NULL;
}

/* Of this machine: a simulated or recorded process has a number that may be another one's here. */
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
    if (!http_query(x->request, "pid", text, sizeof text) || !str_to_i64(str_from(text), &pid) || pid <= 0 || pid > INT32_MAX) {
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
    struct http_client *h = x->conn->state;
    if (TAKE(h->answer)) {
        cpu_samples_reply(x, s);
        cpu_samples_forget(s);
        return;
    }
    int32_t pid;
    if (!read_pid(x, &pid))
        return;
    if (s->running || s->finished) {
        exchange_error(x, 409, "busy", "Another process is being sampled; ask again in a second.");
        return;
    }
    s->pid = pid;
    if (pthread_create(&s->thread, NULL, cpu_samples_run, s)) {
        exchange_error(x, 500, "internal", "No thread could be started.");
        return;
    }
    s->running = true;
    s->conn = x->conn;
    exchange_park(x);
    h->parked_gone = cpu_samples_gone;
    h->parked_owner = s;
}
