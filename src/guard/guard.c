/* SPDX-License-Identifier: Apache-2.0
 * The guard: its keepers, and what people and programs tell them.
 */
#include "guard/guard.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "guard/guard_target.h"
#include "guard/keeper.h"

struct guard {
    struct guard_shared shared;
    pthread_mutex_t lock; /* guards the two lists */
    struct keeper *keepers[GUARD_WORKERS_MAX];
    size_t count;
    struct keeper *leaving[GUARD_WORKERS_MAX]; /* no longer configured: they end on their own */
    size_t leaving_count;
};

struct guard *guard_new(const struct guard_options *options, struct error *err)
{
    struct guard *g = calloc(1, sizeof *g);
    if (!g) {
        error_set(err, -ENOMEM, "out of memory");
        return NULL;
    }
    g->shared.options = *options;
    pthread_mutex_init(&g->lock, NULL);
    pthread_mutex_init(&g->shared.lock, NULL);
    return g;
}

void guard_free(struct guard *g)
{
    if (!g)
        return;
    for (size_t i = 0; i < g->count; i++)
        keeper_end(g->keepers[i]); /* all at once: each may have something in progress */
    for (size_t i = 0; i < g->count; i++)
        keeper_free(g->keepers[i]);
    for (size_t i = 0; i < g->leaving_count; i++)
        keeper_free(g->leaving[i]);
    pthread_mutex_destroy(&g->lock);
    pthread_mutex_destroy(&g->shared.lock);
    free(g);
}

/* Removes the ending keeper of that name from the list, or NULL. */
static struct keeper *take_leaving(struct guard *g, const char *name)
{
    struct keeper *found = NULL;
    size_t kept = 0;
    for (size_t i = 0; i < g->leaving_count; i++)
        if (!found && strcmp(g->leaving[i]->status.name, name) == 0)
            found = g->leaving[i];
        else
            g->leaving[kept++] = g->leaving[i];
    g->leaving_count = kept;
    return found;
}

/* Puts it back. */
static void give_leaving_back(struct guard *g, struct keeper *k)
{
    pthread_mutex_lock(&g->lock);
    if (k)
        g->leaving[g->leaving_count++] = k;
    pthread_mutex_unlock(&g->lock);
}

int guard_add(struct guard *g, struct guard_spec *spec, const char *const *command, struct error *err)
{
    pthread_mutex_lock(&g->lock);
    bool full = g->count == GUARD_WORKERS_MAX;
    struct keeper *before = full ? NULL : take_leaving(g, spec->name);
    pthread_mutex_unlock(&g->lock);
    if (full) {
        spec_done(spec);
        free(spec);
        return error_set(err, -ENOSPC, "more than %d workers", GUARD_WORKERS_MAX);
    }
    struct keeper *k = keeper_new(&g->shared, spec, command, before, err);
    if (!k) {
        give_leaving_back(g, before);
        return err && err->code ? err->code : -EIO;
    }
    int rc = keeper_start(k, err);
    if (rc < 0) {
        give_leaving_back(g, TAKE(k->before));
        keeper_free(k);
        return rc;
    }
    pthread_mutex_lock(&g->lock);
    g->keepers[g->count++] = k;
    pthread_mutex_unlock(&g->lock);
    return 0;
}

/* ---- changing settings at run time ---- */

static void let_go_of_ended(struct guard *g)
{
    size_t kept = 0;
    for (size_t i = 0; i < g->leaving_count; i++) {
        if (keeper_ended(g->leaving[i]))
            keeper_free(g->leaving[i]);
        else
            g->leaving[kept++] = g->leaving[i];
    }
    g->leaving_count = kept;
}

bool guard_change(struct guard *g, struct guard_spec *spec)
{
    bool found = false;
    pthread_mutex_lock(&g->lock);
    for (size_t i = 0; !found && i < g->count; i++) {
        found = strcmp(g->keepers[i]->status.name, spec->name) == 0;
        if (found)
            keeper_set_spec(g->keepers[i], spec);
    }
    pthread_mutex_unlock(&g->lock);
    return found;
}

void guard_keep_only(struct guard *g, bool (*wanted)(void *user, const char *name), void *user)
{
    pthread_mutex_lock(&g->lock);
    let_go_of_ended(g);
    size_t kept = 0;
    for (size_t i = 0; i < g->count; i++) {
        struct keeper *k = g->keepers[i];
        if (wanted(user, k->status.name) || g->leaving_count == GUARD_WORKERS_MAX) {
            g->keepers[kept++] = k;
            continue;
        }
        k->let_go = true;
        keeper_end(k);
        g->leaving[g->leaving_count++] = k;
    }
    g->count = kept;
    pthread_mutex_unlock(&g->lock);
}

/* ---- status ---- */

size_t guard_list(struct guard *g, struct guard_status *list, size_t max)
{
    pthread_mutex_lock(&g->lock);
    size_t count = MIN_OF(g->count, max);
    for (size_t i = 0; i < count; i++)
        keeper_status(g->keepers[i], &list[i]);
    pthread_mutex_unlock(&g->lock);
    return count;
}

static bool is_worker(struct guard *g, const struct process *p)
{
    bool found = false;
    for (size_t i = 0; !found && i < g->count; i++) {
        struct keeper *k = g->keepers[i];
        pthread_mutex_lock(&k->lock);
        found = claim_has_pid(&k->shown, p->pid);
        pthread_mutex_unlock(&k->lock);
    }
    return found;
}

void guard_counts(struct guard *g, const struct snapshot *s, uint64_t *evictions_total, int64_t *others)
{
    struct guard_status status;
    *evictions_total = 0;
    pthread_mutex_lock(&g->lock);
    for (size_t i = 0; i < g->count; i++) {
        keeper_status(g->keepers[i], &status);
        *evictions_total += status.evictions_total;
    }
    for (size_t i = 0; i < s->gpu_count; i++) {
        others[i] = 0;
        for (size_t p = 0; p < s->gpus[i].process_count; p++)
            others[i] += s->gpus[i].processes[p].pid != (int32_t)getpid() && !is_worker(g, &s->gpus[i].processes[p]);
    }
    pthread_mutex_unlock(&g->lock);
}

/* Could it be evicted now? Not if no method worked, or in a dry run. */
static bool is_evictable(const struct guard_status *status)
{
    return status->method_count > 0 && !status->dry_run && !status->gave_up && status->state != GUARD_ABSENT;
}

static bool worker_bytes(const struct claim_worker *w, const struct gpu *gpu, int64_t *ret)
{
    bool any = false;
    *ret = 0;
    for (size_t p = 0; p < gpu->process_count; p++) {
        int64_t bytes;
        if (!claim_has_pid(w, gpu->processes[p].pid) || !reading_get(gpu->processes[p].mem_bytes, &bytes))
            continue;
        *ret += bytes;
        any = true;
    }
    return any;
}

size_t guard_holds(struct guard *g, const struct snapshot *s, struct capacity_hold *list, size_t max)
{
    size_t count = 0;
    pthread_mutex_lock(&g->lock);
    for (size_t i = 0; i < g->count; i++) {
        struct keeper *k = g->keepers[i];
        struct guard_status status;
        struct claim_worker worker;
        keeper_status(k, &status);
        pthread_mutex_lock(&k->lock);
        worker = k->shown;
        pthread_mutex_unlock(&k->lock);
        for (size_t n = 0; n < s->gpu_count && count < max; n++) {
            struct capacity_hold hold = {.gpu_index = s->gpus[n].index, .evictable = is_evictable(&status)};
            if (!worker_bytes(&worker, &s->gpus[n], &hold.bytes) || hold.bytes == 0)
                continue;
            str_copy(hold.worker, sizeof hold.worker, str_from(status.name));
            list[count++] = hold;
        }
    }
    pthread_mutex_unlock(&g->lock);
    return count;
}

/* ---- notifying keepers ---- */

int guard_take_command(struct guard *g, const char *name, enum guard_command command)
{
    bool found = false;
    pthread_mutex_lock(&g->lock);
    for (size_t i = 0; i < g->count; i++) {
        if (name && strcmp(g->keepers[i]->status.name, name) != 0)
            continue;
        keeper_take_command(g->keepers[i], command);
        found = true;
    }
    pthread_mutex_unlock(&g->lock);
    return found || !name ? 0 : -ENOENT;
}

int guard_announce(struct guard *g, int32_t pid)
{
    struct claim_identity who = {.pid = pid};
    int rc = pid > 0 ? target_started(g->shared.options.env, pid, &who.start_key) : -ESRCH;
    if (rc < 0)
        return rc;
    pthread_mutex_lock(&g->shared.lock);
    bool room = g->shared.announced_count < GUARD_ANNOUNCED_MAX;
    if (room)
        g->shared.announced[g->shared.announced_count++] = who;
    pthread_mutex_unlock(&g->shared.lock);
    guard_poke(g);
    return room ? 0 : -ENOSPC;
}

void guard_unannounce(struct guard *g, int32_t pid)
{
    pthread_mutex_lock(&g->shared.lock);
    size_t kept = 0;
    for (size_t i = 0; i < g->shared.announced_count; i++)
        if (g->shared.announced[i].pid != pid)
            g->shared.announced[kept++] = g->shared.announced[i];
    g->shared.announced_count = kept;
    pthread_mutex_unlock(&g->shared.lock);
    guard_poke(g);
}

void guard_poke(struct guard *g)
{
    guard_take_command(g, NULL, COMMAND_NONE);
}

void guard_tell_events(struct guard *g, const struct event *events, size_t count)
{
    pthread_mutex_lock(&g->lock);
    for (size_t e = 0; e < count; e++)
        for (size_t i = 0; i < g->count; i++)
            keeper_tell_event(g->keepers[i], &events[e]);
    pthread_mutex_unlock(&g->lock);
}
