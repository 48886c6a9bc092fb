/* SPDX-License-Identifier: Apache-2.0
 * Model servers, by what they say themselves: a full KV cache while requests wait, requests that are interrupted, a queue, one that
 * has stopped answering, one without requests, and one that is slower than it usually is.
 */
#include <string.h>

#include "base/cleanup.h"
#include "insight/area/area.h"
#include "insight/baseline/serving_usual.h"
#include "insight/facts/words.h"
#include "model/finding_code.h"

enum {
    KV_FULL_PERMILLE = 950, /* the last blocks are too few for another request */
    QUEUE_LEAST = 4,        /* a few requests wait for a moment at any server */
    UNUSED_MS = 2 * 60 * 60 * 1000,
    UNUSED_PERMILLE = 250, /* of the GPU's memory: less is not missed */
};
#define UNUSED_BYTES (8LL << 30)

static void find_silent(const struct facts *f, const struct process *p, const char *who, struct collection *c)
{
    if (p->tokens_milli.state == READING_FAILED)
        collect(c, f->gpu, FINDING_SERVER_SILENT, SEVERITY_WARNING, 0.8, p->pid, ": %s has stopped answering", who);
}

static void find_full_cache(const struct facts *f, const struct process *p, const char *who, struct collection *c)
{
    int64_t kv, waiting, preempted;
    bool full = reading_get(p->kv_cache_permille, &kv) && kv >= KV_FULL_PERMILLE;
    if (full && reading_get(p->requests_waiting, &waiting) && waiting > 0)
        collect(c, f->gpu, FINDING_KV_CACHE_FULL, SEVERITY_NOTICE, 0.9, p->pid,
                ": the KV cache of %s %s full (%lld%%), and %lld request%s", who, is(f), percent(kv), (long long)waiting,
                waiting == 1 ? " waits" : "s wait");
    if (reading_get(p->preempted_milli, &preempted) && preempted > 0)
        collect(c, f->gpu, FINDING_PREEMPTIONS, SEVERITY_NOTICE, 0.9, p->pid,
                ": %s interrupts %lld requests a minute because its KV cache %s full", who,
                (long long)(preempted * 60 / 1000 > 0 ? preempted * 60 / 1000 : 1), is(f));
}

static void find_queue(const struct facts *f, const struct process *p, const char *who, struct collection *c)
{
    int64_t running, waiting;
    if (reading_get(p->requests_waiting, &waiting) && reading_get(p->requests_running, &running) && waiting >= QUEUE_LEAST &&
        waiting > running)
        collect(c, f->gpu, FINDING_REQUESTS_QUEUE, SEVERITY_NOTICE, 0.9, p->pid,
                ": %lld requests wait at %s, which %s working on %lld", (long long)waiting, who, is(f), (long long)running);
}

/* For how long it has been there and did nothing, as far as it was watched. */
static int64_t idle_ms(const struct facts *f, const struct process *p)
{
    size_t position = (size_t)(f->gpu - f->now->gpus);
    const struct recent_share *share =
        f->recent && position < f->recent->gpu_count ? recent_share_of(&f->recent->gpus[position], p) : NULL;
    return share ? f->now->taken_at.ms - MAX_OF(share->first_seen.ms, share->worked_at.ms) : 0;
}

static void find_unused(const struct facts *f, const struct process *p, const char *who, struct collection *c)
{
    int64_t requests, held, total;
    char amount[WORDS_SIZE], lasted[WORDS_SIZE];
    bool told = reading_get(p->requests_running, &requests) || reading_get(p->image_jobs, &requests);
    if (!told || requests + reading_or(p->requests_waiting, 0) > 0 || !reading_get(p->mem_bytes, &held) || held < UNUSED_BYTES ||
        !reading_get(f->gpu->mem_total_bytes, &total) || held < total / 1000 * UNUSED_PERMILLE || idle_ms(f, p) < UNUSED_MS)
        return;
    collect(c, f->gpu, FINDING_MODEL_UNUSED, SEVERITY_NOTICE, 0.9, p->pid, ": %s holds %s and had no work for %s", who,
            words_bytes(held, amount), words_duration(idle_ms(f, p), lasted));
}

/* ---- slower than usual ---- */

/* How many processes of the model there are and how many servers they make, and the energy of all of them. */
struct model_use {
    int processes, servers;
    int64_t energy_uj;
    bool powered, alike; /* all of their power is known; all of their GPUs are the same */
};

static struct model_use use_of_model(const struct facts *f, const struct process *p)
{
    struct model_use u = {.powered = true, .alike = true};
    for (size_t g = 0; g < f->now->gpu_count && g < f->recent->gpu_count; g++)
        for (size_t i = 0; i < f->now->gpus[g].process_count; i++) {
            const struct process *other = &f->now->gpus[g].processes[i];
            struct recent_serving s;
            if (strcmp(other->model, p->model) != 0)
                continue;
            const struct recent_share *share = recent_share_of(&f->recent->gpus[g], other);
            u.processes++;
            u.servers += other->requests_running.state == READING_OK;
            u.powered &= share && recent_serving_of(share, &s) && s.powered_ms >= s.ms / 10 * 9;
            u.alike &= strcmp(f->now->gpus[g].id.name, f->gpu->id.name) == 0;
            u.energy_uj += u.powered ? s.energy_uj : 0;
        }
    return u;
}

/* The last minutes of this server, as the history has them. */
static bool recent_row(const struct facts *f, const struct process *p, struct serving_row *ret)
{
    size_t position = (size_t)(f->gpu - f->now->gpus);
    const struct recent_share *share =
        f->recent && position < f->recent->gpu_count ? recent_share_of(&f->recent->gpus[position], p) : NULL;
    struct recent_serving s;
    if (!p->model[0] || !share || !recent_serving_of(share, &s) || !s.counted)
        return false;
    const struct model_use u = use_of_model(f, p);
    if (!u.alike || !u.servers)
        return false;
    *ret = (struct serving_row){.at = f->now->taken_at,
                                .model = p->model,
                                .gpu_name = f->gpu->id.name,
                                .gpus = u.processes / u.servers,
                                .ms = s.ms,
                                .busy_ms = s.busy_ms,
                                .request_ms = s.request_ms,
                                .generated_milli = s.generated * 1000,
                                .prompt_milli = s.prompted ? reading_ok(s.prompt * 1000) : reading_absent(READING_UNSUPPORTED),
                                .energy_uj = u.powered ? reading_ok(u.energy_uj / u.servers) : reading_absent(READING_UNSUPPORTED)};
    return true;
}

static void find_slow(const struct facts *f, const struct process *p, const char *who, struct collection *c)
{
    struct serving_row row;
    if (!f->serving || !f->serving->count || p->requests_running.state != READING_OK || !recent_row(f, p, &row))
        return;
    const struct serving_verdict v = serving_judge(f->serving, &row);
    long long requests = words_whole(v.running_milli, 1000);
    bool crawls = v.tokens_milli < v.usual_tokens_milli / 1000 * SERVING_CRAWLS_PERMILLE;
    if (v.slow)
        collect(c, f->gpu, FINDING_MODEL_SLOW, crawls ? SEVERITY_WARNING : SEVERITY_NOTICE, baseline_confidence(v.days), p->pid,
                ": %s generates %lld tokens/s for %lld request%s; %lld %s usual for this model here (%d days)", who,
                words_whole(v.tokens_milli, 1000), requests, requests == 1 ? "" : "s", words_whole(v.usual_tokens_milli, 1000),
                is(f), v.days);
    else if (v.hungry)
        collect(c, f->gpu, FINDING_MODEL_SLOW, SEVERITY_NOTICE, baseline_confidence(v.days), p->pid,
                ": %s generates %.2f tokens per joule for %lld request%s; %.2f %s usual for this model here (%d days)", who,
                (double)v.per_kilojoule_milli.value / 1e6, requests, requests == 1 ? "" : "s",
                (double)v.usual_per_kilojoule_milli.value / 1e6, is(f), v.days);
}

/* Whether one of the questions below can have an answer; most processes are no servers, and their words cost more than all of it.
 */
static bool is_server(const struct process *p)
{
    const struct reading told[] = {p->kv_cache_permille, p->preempted_milli, p->requests_running, p->requests_waiting,
                                   p->image_jobs};
    bool any = p->tokens_milli.state == READING_FAILED;
    for (size_t i = 0; i < ARRAY_LEN(told); i++)
        any |= told[i].state == READING_OK;
    return any;
}

static void detect_serving(const struct facts *f, struct collection *c)
{
    char who[PROCESS_WORDS];
    for (size_t i = 0; i < f->gpu->process_count; i++) {
        const struct process *p = &f->gpu->processes[i];
        if (!is_server(p))
            continue;
        process_words(p, LONG_NAME, who);
        find_silent(f, p, who, c);
        find_full_cache(f, p, who, c);
        find_queue(f, p, who, c);
        find_unused(f, p, who, c);
        find_slow(f, p, who, c);
    }
}

const struct area area_servers = {.find = detect_serving};
