/* SPDX-License-Identifier: Apache-2.0
 * Leases as a part of the daemon: a thread reads their directory, finds out which programs run under which lease, and removes what
 * is over. Its knowledge goes into each snapshot, /api/leases, /metrics and the history. Without a lease it only checks the
 * directory. The directory is the truth: a daemon that misses something loses no lease.
 */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/json_reader.h"
#include "base/log.h"
#include "base/units.h"
#include "base/words.h"
#include "check/check_history.h"
#include "daemon/poller.h"
#include "format/lease_forms.h"
#include "lease/lease_use.h"
#include "remedy/undo.h"

enum { EVERY_MS = 2000, NONE_EVERY_MS = 5000 };

/* What the daemon remembers about a lease besides its file. */
struct lease_course {
    char id[LEASE_ID_SIZE];
    struct wall used_at; /* a program ran under it, or it began */
    int64_t used_ms;     /* total run time of programs */
    bool seen;
};

/* A lease that is recorded in the history. */
struct recorded_lease {
    struct lease lease;
    int64_t used_ms;
};

/* The leases at a moment. */
struct lease_view {
    struct wall at; /* when their files were read */
    bool there;     /* the directory exists */
    struct lease_list list;
    struct lease_programs programs;
};

struct lease_part {
    struct poller poller; /* its lock protects everything below */
    struct store_service *store;
    char dir[PATH_SIZE];
    _Atomic int64_t idle_ms;
    _Atomic bool give_back, may_control;
    struct lease_view seen;
    struct lease_course *courses;
    size_t course_count, course_capacity;
    /* Used by the loop only: */
    struct recorded_lease *recorded;
    size_t recorded_count, recorded_capacity;
};

/* ---- the thread ---- */

static struct lease_course *course_of(struct lease_part *p, const struct lease *l, struct wall now)
{
    for (size_t i = 0; i < p->course_count; i++)
        if (strcmp(p->courses[i].id, l->id) == 0)
            return &p->courses[i];
    if (!ROOM_FOR_ONE(p->courses, p->course_count, p->course_capacity, 16))
        return NULL;
    struct lease_course *c = &p->courses[p->course_count++];
    *c = (struct lease_course){.used_at = now};
    str_copy(c->id, sizeof c->id, str_from(l->id));
    return c;
}

static bool runs_under(const struct lease *l, const struct gpu *gpu, const struct process *p, const struct lease_list *list)
{
    const struct lease *own = p->lease[0] ? lease_list_find(list, p->lease) : NULL;
    const char *key = gpu_id_key(&gpu->id);
    return own && (own == l || (own->uid == l->uid && lease_gpu_at(l, key) >= 0));
}

/* Whether a program runs under it; assumed for a GPU that does not list its processes. */
static bool is_used(const struct lease *l, const struct lease_list *list, const struct snapshot *s)
{
    bool used = false;
    for (size_t g = 0; g < s->gpu_count && !used; g++) {
        const struct gpu *gpu = &s->gpus[g];
        bool has = lease_gpu_at(l, gpu_id_key(&gpu->id)) >= 0;
        used = has && (gpu->processes_state != READING_OK || gpu->processes_hidden);
        for (size_t k = 0; k < gpu->process_count && !used; k++)
            used = runs_under(l, gpu, &gpu->processes[k], list);
    }
    return used;
}

static void follow(struct lease_part *p, struct lease_list *list, const struct snapshot *s, struct wall now)
{
    for (size_t i = 0; i < p->course_count; i++)
        p->courses[i].seen = false;
    for (size_t i = 0; i < list->count; i++) {
        struct lease *l = &list->at[i];
        struct lease_course *c = l->state == LEASE_ACTIVE && l->from.ms <= now.ms ? course_of(p, l, now) : NULL;
        if (!c)
            continue;
        c->seen = true;
        if (is_used(l, list, s)) {
            c->used_ms += MAX_OF(MIN_OF(now.ms - c->used_at.ms, (int64_t)EVERY_MS * 2), (int64_t)0);
            c->used_at = now;
        } else if (l->kind == LEASE_RESERVE && now.ms - c->used_at.ms >= p->idle_ms)
            l->idle_since = c->used_at;
    }
    size_t kept = 0;
    for (size_t i = 0; i < p->course_count; i++)
        if (p->courses[i].seen)
            p->courses[kept++] = p->courses[i];
    p->course_count = kept;
}

/* Ends expired leases, and idle reservations if configured. */
static void clean(struct lease_part *p, struct lease_dir *dir, struct lease_list *list)
{
    bool over = false;
    struct error err = {0};
    for (size_t i = 0; i < list->count; i++) {
        struct lease *l = &list->at[i];
        if (l->idle_since.ms && p->give_back) {
            l->state = LEASE_ENDED;
            snprintf(l->ended_why, sizeof l->ended_why, "nothing ran on it, and it was given back");
            log_info("lease given back", LOG_TEXT("lease", l->id), LOG_TEXT("user", l->user));
            if (lease_dir_remove(dir, l->id, &err) < 0)
                log_warn("an idle reservation can't be ended", LOG_TEXT("lease", l->id), LOG_TEXT("why", err.text));
        }
        over |= l->state == LEASE_ENDED && l->kind != LEASE_SETTING;
    }
    if (over && lease_dir_lock(dir, MS_PER_S, &err) == 0)
        lease_dir_sweep(dir, list);
}

/* Whether a lease was added, removed or changed since the last read. */
static bool is_outdated(const struct lease_part *p)
{
    AUTO_LEASE_DIR struct lease_dir dir = LEASE_DIR_CLOSED;
    struct error err;
    return lease_dir_find(&dir, p->dir, &err) == 0 && lease_dir_changed_at(&dir).ms >= p->seen.at.ms;
}

static void view_done(struct lease_view *v)
{
    lease_list_done(&v->list);
    lease_programs_done(&v->programs);
}

/* Reads the leases, and finds the sample's programs under them. True: there are leases, and it is known who uses them. */
static bool view_read(struct lease_part *p, struct lease_dir *dir, const struct snapshot *s, struct lease_view *ret)
{
    struct error err = {0};
    *ret = (struct lease_view){.at = clock_wall(p->poller.env->clock)};
    ret->there = lease_dir_find(dir, p->dir, &err) == 0 && lease_dir_list(dir, ret->at, &ret->list, &err) == 0;
    bool counted = s && lease_add_simulated(&ret->list, s) == 0 && ret->list.count &&
                   lease_programs_find(&ret->programs, &ret->list, p->poller.env, s) == 0;
    if (counted)
        lease_count_use(&ret->list, s);
    return counted;
}

/* For a new reservation, which the next sample must show. Called locked. */
static void read_now(struct lease_part *p, const struct snapshot *s)
{
    AUTO_LEASE_DIR struct lease_dir dir = LEASE_DIR_CLOSED;
    struct lease_view fresh;
    view_read(p, &dir, s, &fresh);
    for (size_t i = 0; i < fresh.list.count; i++) {
        const struct lease *before = lease_list_find(&p->seen.list, fresh.list.at[i].id);
        fresh.list.at[i].idle_since = before ? before->idle_since : (struct wall){0};
    }
    view_done(fresh.there ? &p->seen : &fresh);
    if (fresh.there)
        p->seen = fresh;
}

/* Keeps the reason why a lease ended, which the next list no longer has. Called locked. */
static void keep_reasons(struct lease_part *p)
{
    for (size_t i = 0; i < p->recorded_count; i++) {
        struct lease *told = &p->recorded[i].lease;
        const struct lease *l = lease_list_find(&p->seen.list, told->id);
        if (l && l->ended_why[0])
            str_copy(told->ended_why, sizeof told->ended_why, str_from(l->ended_why));
    }
}

static int64_t lease_part_poll(void *part)
{
    struct lease_part *p = part;
    AUTO_LEASE_DIR struct lease_dir dir = LEASE_DIR_CLOSED;
    AUTO_SNAPSHOT const struct snapshot *s = engine_latest(p->poller.engine);
    struct lease_view fresh;
    if (view_read(p, &dir, s, &fresh)) {
        pthread_mutex_lock(&p->poller.lock);
        follow(p, &fresh.list, s, fresh.at);
        pthread_mutex_unlock(&p->poller.lock);
        clean(p, &dir, &fresh.list);
    }
    pthread_mutex_lock(&p->poller.lock);
    struct lease_view old = p->seen;
    p->seen = fresh;
    keep_reasons(p);
    bool any = p->seen.list.count > 0;
    pthread_mutex_unlock(&p->poller.lock);
    view_done(&old);
    return any ? EVERY_MS : NONE_EVERY_MS;
}

static void annotate(void *part, struct snapshot *s)
{
    struct lease_part *p = part;
    s->may_control = p->may_control;
    if (is_outdated(p))
        read_now(p, s);
    lease_show(&p->seen.list, &p->seen.programs, s);
    check_show(s);
}

/* ---- the history ---- */

static void record(const struct lease_part *p, const struct lease *l, struct wall now, int64_t used_ms)
{
    char who[LEASE_WORDS], gpus[LEASE_WORDS], text[512], length[WORDS_SIZE];
    AUTO_BUF struct buf data = BUF(LEASE_BYTES_MAX);
    struct json_writer j = JSON_WRITER(&data);
    bool over = l->state == LEASE_ENDED;
    words_duration(MAX_OF(now.ms - l->from.ms, (int64_t)0), length);
    snprintf(text, sizeof text, over ? "%s %s %s, after %s: %s" : "%s %s %s", lease_gpu_words(l, gpus),
             over                       ? "given back by"
             : l->kind == LEASE_RESERVE ? "reserved for"
                                        : "leased to",
             lease_holder_words(l, who), length, l->ended_why[0] ? l->ended_why : "ended");
    jw_object(&j);
    jw_key_int(&j, "used_ms", used_ms);
    jw_key(&j, "lease");
    lease_json(&j, l);
    jw_end(&j);
    store_service_event(p->store, &(struct store_event){.at = now,
                                                        .gpu_index = l->gpu_count == 1 ? l->gpus[0].index : -1,
                                                        .kind = "lease",
                                                        .severity = "info",
                                                        .text = text,
                                                        .data = data.failed ? NULL : buf_view(&data).at});
}

static bool is_held(const struct lease *l, struct wall now)
{
    return l->state == LEASE_ACTIVE && l->from.ms <= now.ms && (l->kind == LEASE_RUN || l->kind == LEASE_RESERVE);
}

static int64_t used_of(const struct lease_part *p, const char *id)
{
    for (size_t i = 0; i < p->course_count; i++)
        if (strcmp(p->courses[i].id, id) == 0)
            return p->courses[i].used_ms;
    return 0;
}

static void record_ended(struct lease_part *p, struct wall now)
{
    size_t kept = 0;
    for (size_t i = 0; i < p->recorded_count; i++) {
        struct recorded_lease *t = &p->recorded[i];
        const struct lease *l = lease_list_find(&p->seen.list, t->lease.id);
        if (l && is_held(l, now)) {
            t->used_ms = used_of(p, l->id);
            p->recorded[kept++] = *t;
            continue;
        }
        t->lease.state = LEASE_ENDED;
        if (l && l->ended_why[0])
            str_copy(t->lease.ended_why, sizeof t->lease.ended_why, str_from(l->ended_why));
        record(p, &t->lease, now, t->used_ms);
    }
    p->recorded_count = kept;
}

static bool is_recorded(const struct lease_part *p, const char *id)
{
    for (size_t i = 0; i < p->recorded_count; i++)
        if (strcmp(p->recorded[i].lease.id, id) == 0)
            return true;
    return false;
}

/* Records what began or ended since the last sample. */
static void lease_part_sampled(void *part, const struct snapshot *s)
{
    struct lease_part *p = part;
    if (!p->store)
        return;
    pthread_mutex_lock(&p->poller.lock);
    record_ended(p, s->taken_at);
    for (size_t i = 0; i < p->seen.list.count; i++) {
        const struct lease *l = &p->seen.list.at[i];
        if (!is_held(l, s->taken_at) || is_recorded(p, l->id) ||
            !ROOM_FOR_ONE(p->recorded, p->recorded_count, p->recorded_capacity, 16))
            continue;
        p->recorded[p->recorded_count++] = (struct recorded_lease){.lease = *l};
        record(p, l, s->taken_at, 0);
    }
    pthread_mutex_unlock(&p->poller.lock);
}

/* ---- requests ---- */

static int get_leases(void *part, const struct part_request *r, struct buf *out)
{
    struct lease_part *p = part;
    int at, status = part_which_gpu(r, r->latest, &at, out);
    if (status != 200)
        return status;
    pthread_mutex_lock(&p->poller.lock);
    if (r->latest && is_outdated(p))
        read_now(p, r->latest);
    json_leases(JSON_LINE(out), &p->seen.list, r->owner, at == ALL_GPUS ? NULL : &r->latest->gpus[at]);
    pthread_mutex_unlock(&p->poller.lock);
    return 200;
}

/* Finds the kind of a lease; false if it does not exist. */
static bool find_kind(struct lease_part *p, const char *id, enum lease_kind *kind)
{
    pthread_mutex_lock(&p->poller.lock);
    const struct lease *l = lease_list_find(&p->seen.list, id);
    if (l)
        *kind = l->state == LEASE_WAITING ? LEASE_RUN : l->kind;
    pthread_mutex_unlock(&p->poller.lock);
    return l != NULL;
}

int lease_part_end(struct lease_part *p, const char *id, struct error *err)
{
    AUTO_LEASE_DIR struct lease_dir dir = LEASE_DIR_CLOSED;
    int rc = lease_dir_find(&dir, p->dir, err);
    if (rc == 0)
        rc = lease_dir_remove(&dir, id, err);
    if (rc < 0)
        return rc;
    pthread_mutex_lock(&p->poller.lock);
    struct lease *l = lease_list_find(&p->seen.list, id);
    if (l)
        l->state = LEASE_ENDED;
    pthread_mutex_unlock(&p->poller.lock);
    return 0;
}

void lease_part_undo(struct lease_part *p, const struct snapshot *latest, const struct gpu *only, struct undo_list *list)
{
    if (!p)
        return;
    pthread_mutex_lock(&p->poller.lock);
    if (latest && is_outdated(p))
        read_now(p, latest);
    for (size_t i = 0; i < p->seen.list.count; i++)
        if (!only || lease_is_about(&p->seen.list.at[i], only))
            undo_add_lease(list, &p->seen.list.at[i]);
    pthread_mutex_unlock(&p->poller.lock);
}

static int end_lease(void *part, const struct part_request *r, struct buf *out)
{
    struct lease_part *p = part;
    struct error err = {0};
    enum lease_kind kind;
    char id[LEASE_ID_SIZE];
    AUTO_JSON json_t *json = json_loadb(r->body.at ? r->body.at : "", r->body.len, JSON_REJECT_DUPLICATES, NULL);
    json_copy_text(json, "id", id, sizeof id);
    if (!lease_id_valid(id))
        return part_error(out, 400, "bad_body", "The body must be {\"id\": \"ID\"}.");
    if (!find_kind(p, id, &kind))
        return part_error(out, 404, "no_such_lease", "There is no lease of this id.");
    if (kind == LEASE_RUN || kind == LEASE_SETTING)
        return part_error(out, 409, "not_a_reservation",
                          "Only reservations can be ended here: the lease of a program ends with it.");
    int rc = lease_part_end(p, id, &err);
    if (rc < 0)
        return part_error(out, rc == -ENOENT ? 404 : 403, rc == -ENOENT ? "no_such_lease" : "not_permitted", err.text);
    return get_leases(part, r, out);
}

static void lease_part_metrics(void *part, const struct snapshot *s, struct buf *out)
{
    struct lease_part *p = part;
    pthread_mutex_lock(&p->poller.lock);
    if (p->seen.there)
        prometheus_leases(out, s, &p->seen.list);
    pthread_mutex_unlock(&p->poller.lock);
}

/* ---- the part ---- */

static bool lease_part_wanted(const struct config *config)
{
    (void)config;
    return true;
}

static const struct poller_ops poll_leases = {"leases are not shown", lease_part_wanted, lease_part_poll, annotate};

static void lease_part_reload(void *part, const struct config *config)
{
    struct lease_part *p = part;
    p->idle_ms = (int64_t)(config->lease.idle_minutes * MINUTE_MS);
    p->give_back = config->lease.give_back;
    p->may_control = config->control.allow;
}

static void *open_leases(const struct part_host *host, struct error *err)
{
    struct lease_part *p = poller_open(&poll_leases, sizeof *p, host);
    (void)err;
    if (!p)
        return NULL;
    p->store = host->store;
    str_copy(p->dir, sizeof p->dir, str_from(host->config->lease.dir));
    lease_part_reload(p, host->config);
    return p;
}

static void close_leases(void *part)
{
    struct lease_part *p = part;
    if (!p)
        return;
    view_done(&p->seen);
    free(p->recorded);
    free(p->courses);
    poller_close(p);
}

static const struct route routes_of_leases[] = {
    {"/api/leases", HTTP_GET, PART_JSON, RIGHT_READ, .answer = get_leases},
    {"/api/leases/end", HTTP_POST, PART_JSON, RIGHT_CONTROL, .answer = end_lease},
};

const struct part_ops lease_part_ops = {
    .name = "leases",
    .routes = routes_of_leases,
    .route_count = ARRAY_LEN(routes_of_leases),
    .open = open_leases,
    .start = poller_start,
    .sampled = lease_part_sampled,
    .metrics = lease_part_metrics,
    .reload = lease_part_reload,
    .stop = poller_stop,
    .close = close_leases,
};
