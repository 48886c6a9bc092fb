/* SPDX-License-Identifier: Apache-2.0
 * Programs and their leases.
 */
#include "lease/lease_use.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "guard/claim.h"
#include "host/listens.h"
#include "lease/lease_settings.h"
#include "source/sim/sim.h"

enum { ANCESTORS_MAX = 32 };

void lease_programs_done(struct lease_programs *p)
{
    free(p->at);
    *p = (struct lease_programs){0};
}

static const struct lease_program *find_program(const struct lease_programs *list, const struct process *p)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->at[i].pid == p->pid && list->at[i].start_key == p->start_key)
            return &list->at[i];
    return NULL;
}

static bool is_begun(const struct lease *l, struct wall now)
{
    return l->state == LEASE_ACTIVE && l->kind != LEASE_SETTING && l->from.ms <= now.ms;
}

static const struct lease *lease_of_root(const struct lease_list *list, int32_t pid)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->at[i].kind == LEASE_RUN && list->at[i].state == LEASE_ACTIVE && list->at[i].pid == pid &&
            lease_process_alive(&list->at[i]))
            return &list->at[i];
    return NULL;
}

static const struct lease *lease_by_descent(const struct lease_list *list, const struct env *env, int32_t pid)
{
    const struct lease *found = NULL;
    for (int up = 0; up < ANCESTORS_MAX && pid > 1 && !found; up++, pid = process_parent(env, pid))
        found = lease_of_root(list, pid);
    return found;
}

static int add_program(struct lease_programs *programs, const struct process *p, const struct lease *lease)
{
    if (find_program(programs, p))
        return 0;
    if (!ROOM_FOR_ONE(programs->at, programs->count, programs->capacity, 16))
        return -ENOMEM;
    struct lease_program *one = &programs->at[programs->count++];
    *one = (struct lease_program){.pid = p->pid, .start_key = p->start_key};
    str_copy(one->lease, sizeof one->lease, str_from(lease ? lease->id : ""));
    return 0;
}

int lease_programs_find(struct lease_programs *programs, const struct lease_list *list, const struct env *env,
                        const struct snapshot *s)
{
    bool any = false;
    for (size_t i = 0; i < list->count; i++)
        any |= list->at[i].kind == LEASE_RUN && list->at[i].state == LEASE_ACTIVE;
    programs->count = 0;
    for (size_t g = 0; g < s->gpu_count; g++)
        for (size_t k = 0; k < s->gpus[g].process_count; k++) {
            const struct process *p = &s->gpus[g].processes[k];
            bool here = any && p->visible && !s->gpus[g].simulated && !env_is_recorded(env);
            if (add_program(programs, p, here ? lease_by_descent(list, env, p->pid) : NULL) < 0)
                return -ENOMEM;
        }
    return 0;
}

/* ---- in snapshots ---- */

/* The same for the place of the process. */
static const char *place_of(const struct gpu *gpu, const struct process *p)
{
    bool instance = p->instance >= 0 && (size_t)p->instance < gpu->instance_count;
    return gpu_id_key(instance ? &gpu->instances[p->instance].id : &gpu->id);
}

static const struct lease *lease_by_user(const struct lease_list *list, const char *place, const struct process *p, struct wall now)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->at[i].kind == LEASE_RESERVE && is_begun(&list->at[i], now) && strcmp(list->at[i].user, p->user) == 0 &&
            lease_gpu_at(&list->at[i], place) >= 0)
            return &list->at[i];
    return NULL;
}

static void show_process(const struct lease_list *list, const struct lease_programs *programs, const struct gpu *gpu,
                         struct process *p, struct wall now)
{
    const struct lease_program *program = find_program(programs, p);
    const struct lease *reserved = lease_by_user(list, place_of(gpu, p), p, now);
    const char *id = program && program->lease[0] ? program->lease : reserved ? reserved->id : "";
    str_copy(p->lease, sizeof p->lease, str_from(id));
    p->without_lease = program && !id[0];
}

static struct gpu_lease shown(const struct lease *l)
{
    struct gpu_lease to = {.reserved = l->kind == LEASE_RESERVE, .until = l->until};
    char words[LEASE_WORDS];
    str_copy(to.id, sizeof to.id, str_from(l->id));
    str_copy(to.user, sizeof to.user, str_from(l->user));
    str_copy(to.holder, sizeof to.holder, str_from(lease_holder_words(l, words)));
    return to;
}

/* Its lease is in no directory; it comes with each sample. */
static bool is_of_scenario(const struct gpu *gpu)
{
    return gpu->simulated && strcmp(gpu->lease.id, SIM_LEASE) == 0;
}

static void show_gpu(const struct lease_list *list, struct gpu *gpu, struct wall now)
{
    const char *key = gpu_id_key(&gpu->id);
    gpu->settings = (struct gpu_lease){0};
    if (!is_of_scenario(gpu))
        gpu->lease = (struct gpu_lease){0};
    for (size_t i = 0; i < list->count && key[0]; i++) {
        const struct lease *l = &list->at[i];
        if (lease_gpu_at(l, key) < 0)
            continue;
        if (l->kind == LEASE_SETTING && l->state == LEASE_ACTIVE) {
            if (!gpu->settings.id[0])
                gpu->settings = shown(l);
            lease_set_add_words(l, key, gpu->settings.changes, sizeof gpu->settings.changes);
        } else if (is_begun(l, now) && l->exclusive && (!gpu->lease.id[0] || l->kind == LEASE_RESERVE))
            gpu->lease = shown(l);
    }
}

void lease_show(const struct lease_list *list, const struct lease_programs *programs, struct snapshot *s)
{
    for (size_t g = 0; list->count && g < s->gpu_count; g++) {
        struct gpu *gpu = &s->gpus[g];
        show_gpu(list, gpu, s->taken_at);
        for (size_t k = 0; k < gpu->instance_count; k++)
            show_gpu(list, &gpu->instances[k], s->taken_at);
        for (size_t k = 0; k < gpu->process_count; k++)
            show_process(list, programs, gpu, &gpu->processes[k], s->taken_at);
    }
}

int lease_add_simulated(struct lease_list *list, const struct snapshot *s)
{
    enum { LENGTH_MS = 6 * 3600 * MS_PER_S, NOBODY = 65534 };
    for (size_t g = 0; g < s->gpu_count; g++) {
        const struct gpu *gpu = &s->gpus[g];
        struct lease *l = lease_list_find(list, SIM_LEASE);
        if (!is_of_scenario(gpu) || (l && (l->gpu_count == LEASE_GPUS_MAX || lease_gpu_at(l, gpu_id_key(&gpu->id)) >= 0)))
            continue;
        if (!l && !ROOM_FOR_ONE(list->at, list->count, list->capacity, 16))
            return -ENOMEM;
        if (!l) {
            l = &list->at[list->count++];
            *l = (struct lease){.kind = LEASE_RESERVE, .state = LEASE_ACTIVE, .exclusive = true, .simulated = true, .uid = NOBODY};
            l->until = gpu->lease.until;
            l->made.ms = l->from.ms = l->until.ms - LENGTH_MS;
            str_copy(l->id, sizeof l->id, str_from(gpu->lease.id));
            str_copy(l->user, sizeof l->user, str_from(gpu->lease.user));
        }
        l->gpus_wanted++;
        l->gpus[l->gpu_count].index = gpu->index;
        str_copy(l->gpus[l->gpu_count].uuid, sizeof l->gpus[0].uuid, str_from(gpu_id_key(&gpu->id)));
        l->gpu_count++;
    }
    return 0;
}

/* ---- usage ---- */

static void count_process(struct lease_list *list, const struct gpu *gpu, const struct process *p)
{
    struct lease *l = p->lease[0] ? lease_list_find(list, p->lease) : NULL;
    int at = l ? lease_gpu_at(l, place_of(gpu, p)) : -1;
    int64_t bytes;
    if (at >= 0 && reading_get(p->mem_bytes, &bytes))
        l->gpus[at].used_bytes = reading_ok(reading_or(l->gpus[at].used_bytes, 0) + bytes);
}

void lease_count_use(struct lease_list *list, const struct snapshot *s)
{
    for (size_t i = 0; i < list->count; i++)
        for (size_t k = 0; k < list->at[i].gpu_count; k++)
            list->at[i].gpus[k].used_bytes = (struct reading){0};
    for (size_t g = 0; g < s->gpu_count; g++)
        for (size_t k = 0; k < s->gpus[g].process_count; k++)
            count_process(list, &s->gpus[g], &s->gpus[g].processes[k]);
}

/* The program without a lease that holds the most; workers that the guard could evict don't count. */
static void find_user(const struct capacity_gpu *card, const struct gpu *gpu, char out[CAPACITY_WORDS])
{
    const struct process *largest = NULL;
    char words[PROCESS_WORDS];
    int64_t sum = 0;
    for (size_t i = 0; i < gpu->process_count; i++) {
        const struct process *p = &gpu->processes[i];
        if (p->lease[0] || p->instance != card->instance || !claim_process_needs(p))
            continue;
        sum += reading_or(p->mem_bytes, 0);
        if (!largest || reading_or(p->mem_bytes, 0) > reading_or(largest->mem_bytes, 0))
            largest = p;
    }
    if (largest && sum > reading_or(card->reclaimable_bytes, 0))
        snprintf(out, CAPACITY_WORDS, "%.150s", process_words(largest, EXACT_NAME, words));
}

void lease_rooms(const struct capacity *c, const struct snapshot *s, struct room_gpu *rooms)
{
    for (size_t i = 0; i < c->gpu_count; i++) {
        rooms[i] = (struct room_gpu){.card = &c->gpus[i]};
        for (size_t g = 0; g < s->gpu_count; g++)
            if (s->gpus[g].index == c->gpus[i].index)
                find_user(&c->gpus[i], &s->gpus[g], rooms[i].in_use_by);
    }
}
