/* SPDX-License-Identifier: Apache-2.0
 * NCCL's RAS as a part of the daemon: while a job seems to wait, asks one of its processes that listens on NCCL's port which ranks
 * don't respond. Never connects to another port, and leaves computing jobs alone.
 */
#include <string.h>

#include "daemon/poller.h"
#include "host/identity.h"
#include "host/listens.h"
#include "insight/area/ranks.h"
#include "remote/ras.h"

enum { JOBS_ASKED = 8, EVERY_MS = 10000, ASK_WITHIN_MS = 6000, ENVIRON_MAX = 128 * 1024, LISTENERS_TRIED = 4 };

struct asked_job {
    char id[PROCESS_CONTAINER_NAME_SIZE];
    int64_t rank;
};

struct ras_part {
    struct poller poller;
    struct asked_job shown[JOBS_ASKED]; /* under the poller's lock */
    size_t shown_count;
};

/* NCCL's default port, or the one in the process's environment. */
static uint16_t port_of(const struct ras_part *r, int32_t pid)
{
    static const char name[] = "NCCL_RAS_ADDR=";
    AUTO_BUF struct buf text = BUF(ENVIRON_MAX);
    uint16_t port = RAS_PORT;
    struct str rest = process_environment(r->poller.env, pid, &text) >= 0 ? buf_view(&text) : (struct str){0}, one;
    while (str_cut(&rest, '\0', &one))
        if (str_starts(one, name))
            ras_port((struct str){one.at + strlen(name), one.len - strlen(name)}, &port);
    return port;
}

/* The first rank that doesn't respond; false: all do, or no process could be asked. */
static bool ask_job(struct ras_part *r, const struct job *job, int64_t *rank)
{
    for (size_t i = 0, tried = 0; i < job->count && tried < LISTENERS_TRIED && !r->poller.stop; i++) {
        const struct process *p = job->members[i].process;
        struct listening socket;
        struct ras_report report;
        struct error err = {0};
        uint16_t port = p->visible && !job->members[i].gpu->simulated ? port_of(r, p->pid) : 0;
        if (!port || !process_listens(r->poller.env, p->pid, port, &socket))
            continue;
        tried++;
        if (ras_ask(socket.address, port, ASK_WITHIN_MS, &r->poller.stop, &report, &err) < 0)
            continue;
        if (report.missing_count)
            *rank = report.missing[0].rank;
        return report.missing_count > 0;
    }
    return false;
}

static int64_t ras_part_poll(void *part)
{
    struct ras_part *r = part;
    struct asked_job found[JOBS_ASKED];
    size_t count = 0;
    AUTO_SNAPSHOT const struct snapshot *s = r->poller.wanted ? engine_latest(r->poller.engine) : NULL;
    AUTO_JOB_WAITS struct job_waits waits = {0};
    if (s && job_waits_find(&waits, s) == 0)
        for (size_t i = 0; i < waits.count && count < JOBS_ASKED; i++)
            if (ask_job(r, waits.list[i].job, &found[count].rank)) {
                str_copy(found[count].id, sizeof found[count].id, str_from(waits.list[i].job->id));
                count++;
            }
    pthread_mutex_lock(&r->poller.lock);
    memcpy(r->shown, found, count * sizeof found[0]);
    r->shown_count = count;
    pthread_mutex_unlock(&r->poller.lock);
    return EVERY_MS;
}

static void ras_part_annotate(void *part, struct snapshot *s)
{
    const struct ras_part *r = part;
    char id[PROCESS_CONTAINER_NAME_SIZE];
    for (size_t g = 0; r->shown_count && g < s->gpu_count; g++)
        for (size_t k = 0; k < s->gpus[g].process_count; k++) {
            struct process *p = &s->gpus[g].processes[k];
            process_job_id(p, id, sizeof id);
            for (size_t i = 0; i < r->shown_count; i++)
                if (strcmp(id, r->shown[i].id) == 0)
                    p->silent_rank = reading_ok(r->shown[i].rank);
        }
}

static bool ras_part_wanted(const struct config *config)
{
    return config->sampling.model_servers;
}

static const struct poller_ops ask_ranks = {"ranks of jobs are not asked for each other", ras_part_wanted, ras_part_poll,
                                            ras_part_annotate};

static void *open_ras(const struct part_host *host, struct error *err)
{
    (void)err;
    return poller_open(&ask_ranks, sizeof(struct ras_part), host);
}

const struct part_ops ras_part_ops = {
    .name = "nccl_ras",
    .open = open_ras,
    .start = poller_start,
    .reload = poller_reload,
    .stop = poller_stop,
    .close = poller_close,
};
