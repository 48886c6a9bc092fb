/* SPDX-License-Identifier: Apache-2.0
 * The one process that decides about GPUs.
 */
#include "lease/lease_broker.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/os/shared.h"
#include "config/places.h"
#include "lease/lease_assign.h"
#include "lease/lease_state.h"

enum { WAIT_MS = 120000, ON_ITS_WAY_MS = 60000 };

/* ---- decisions ---- */

int lease_broker_judge(const struct lease *l, const struct lease_list *others, struct wall now, struct error *err)
{
    AUTO_FREE struct capacity_gpu *cards = calloc(l->gpu_count, sizeof *cards);
    AUTO_FREE struct room_gpu *rooms = calloc(l->gpu_count, sizeof *rooms);
    AUTO_FREE struct lease *wish = malloc(sizeof *wish);
    AUTO_FREE struct room_answer *answer = malloc(sizeof *answer);
    if (!cards || !rooms || !wish || !answer)
        return error_set(err, -ENOMEM, "out of memory");
    *wish = *l;
    wish->gpus_wanted = (int)l->gpu_count;
    for (size_t i = 0; i < l->gpu_count; i++) {
        cards[i] =
            (struct capacity_gpu){.index = l->gpus[i].index, .instance = -1, .usable = true, .free_bytes = l->gpus[i].free_bytes};
        str_copy(cards[i].id.uuid, sizeof cards[i].id.uuid, str_from(l->gpus[i].uuid));
        rooms[i].card = &cards[i];
    }
    room_find(wish, others->at, others->count, rooms, l->gpu_count, now, answer);
    return answer->verdict == ROOM_GRANTED ? 0 : error_set(err, -EAGAIN, "%s", answer->words);
}

static bool same_promise(const struct lease *a, const struct lease *b)
{
    bool same = a->state == b->state && a->kind == b->kind && a->mem_bytes == b->mem_bytes && a->exclusive == b->exclusive &&
                a->gpu_count == b->gpu_count && a->from.ms == b->from.ms && a->until.ms == b->until.ms;
    for (size_t i = 0; same && i < a->gpu_count; i++)
        same = lease_gpu_at(b, a->gpus[i].uuid) >= 0;
    return same;
}

int lease_broker_correct(struct lease *l, const struct lease *before, const struct lease_broker_peer *peer, struct wall now,
                         struct error *err)
{
    bool begins_now = l->kind == LEASE_RUN || l->kind == LEASE_WAIT;
    if (l->kind == LEASE_SETTING || l->state == LEASE_ENDED || (l->state == LEASE_WAITING && l->kind == LEASE_WAIT))
        return error_set(err, -EINVAL, "that is not a lease of GPUs");
    if (before && (before->uid != (int64_t)peer->uid || before->kind != l->kind))
        return error_set(err, -EPERM, "lease %s belongs to %s", before->id, before->user);
    for (size_t i = 0; i < l->gpu_count; i++)
        for (size_t k = 0; k < i; k++)
            if (strcmp(l->gpus[i].uuid, l->gpus[k].uuid) == 0)
                return error_set(err, -EINVAL, "a GPU is named twice");
    l->uid = peer->uid;
    str_copy(l->user, sizeof l->user, str_from(peer->user));
    l->made = before ? before->made : now;
    l->ticket = before ? before->ticket : 0;
    l->setting_count = 0;
    l->ended_why[0] = '\0';
    if (l->kind == LEASE_RESERVE)
        l->pid = 0;
    if (before && before->state == LEASE_ACTIVE)
        l->from = before->from;
    else if (l->from.ms < now.ms - ON_ITS_WAY_MS || (begins_now && l->from.ms > now.ms))
        l->from = now;
    if (l->kind == LEASE_WAIT)
        l->until.ms = MIN_OF(l->until.ms ? l->until.ms : INT64_MAX, now.ms + WAIT_MS);
    if (l->until.ms && l->until.ms <= l->from.ms)
        return error_set(err, -EINVAL, "its end is in the past");
    if (!lease_process_is_of(l->pid, peer->uid) && peer->uid != 0)
        l->pid = 0; /* a claim: the open file counts */
    return 0;
}

static int within_limits(const struct lease_broker *b, const struct lease *l, struct error *err)
{
    const struct lease_list *list = &b->list;
    int64_t held = 0, waiting = 0;
    for (size_t i = 0; i < list->count; i++) {
        const struct lease *other = &list->at[i];
        if (other->uid != l->uid || other->state == LEASE_ENDED || strcmp(other->id, l->id) == 0)
            continue;
        *(other->state == LEASE_WAITING ? &waiting : &held) += 1;
    }
    int64_t most = l->state == LEASE_WAITING ? b->limits.waiting_max : b->limits.held_max;
    if ((l->state == LEASE_WAITING ? waiting : held) < most)
        return lease_list_admits(list, l, err);
    return error_set(err, -EDQUOT,
                     "%s has %lld leases that %s, as many as a user can have (%s of [lease])\nTo end one: whirr lease end ID",
                     l->user, (long long)most, l->state == LEASE_WAITING ? "wait" : "hold GPUs",
                     l->state == LEASE_WAITING ? "waiting_max" : "held_max");
}

/* ---- the journal ---- */

static const char *over(const struct lease_broker *b, size_t at, struct wall now)
{
    const struct lease *l = &b->list.at[at];
    bool held = b->files[at] >= 0 && file_is_held_at_all(b->files[at]);
    const struct lease_life life = {.held = held, .alive = !held && lease_process_alive(l), .now = now};
    return lease_over(l, &life);
}

static void drop(struct lease_broker *b, size_t at)
{
    if (b->files[at] >= 0)
        close(b->files[at]);
    memmove(&b->list.at[at], &b->list.at[at + 1], (b->list.count - at - 1) * sizeof b->list.at[0]);
    memmove(&b->files[at], &b->files[at + 1], (b->list.count - at - 1) * sizeof b->files[0]);
    b->list.count--;
}

/* Removes what is over. A file that can't be removed now is tried again at the next look. */
static void clean(struct lease_broker *b, struct wall now)
{
    b->next = (struct wall){0};
    for (size_t i = b->list.count; i-- > 0;) {
        const struct lease *l = &b->list.at[i];
        const char *why = over(b, i, now);
        if (why) {
            log_info("a lease of GPUs has ended", LOG_TEXT("id", l->id), LOG_TEXT("user", l->user), LOG_TEXT("why", why));
            (void)lease_dir_remove(&b->dir, l->id, NULL);
            drop(b, i);
        } else if (l->kind != LEASE_RUN && l->until.ms && (!b->next.ms || l->until.ms < b->next.ms))
            b->next = l->until;
    }
}

static int open_file(const struct lease_broker *b, const struct lease *l)
{
    char name[LEASE_ID_SIZE + 8];
    struct stat info;
    snprintf(name, sizeof name, "%s.json", l->id);
    return l->kind == LEASE_RUN || l->state == LEASE_WAITING ? shared_file_open(b->dir.fd, name, O_RDONLY, 0, &info) : -1;
}

/* Puts it into the list in place of its former state, or at the end. */
static int keep(struct lease_broker *b, const struct lease *l, struct error *err)
{
    struct lease *at = lease_list_find(&b->list, l->id);
    bool room = at || (ROOM_FOR_ONE(b->list.at, b->list.count, b->list.capacity, 16) &&
                       ROOM_FOR_ONE(b->files, b->list.count, b->file_capacity, 16));
    int fd = room ? open_file(b, l) : -ENOMEM;
    if (!room || fd < -1)
        return error_set(err, fd, "cannot keep a lease: %s", strerror(-fd));
    size_t i = at ? (size_t)(at - b->list.at) : b->list.count;
    if (at && b->files[i] >= 0)
        close(b->files[i]);
    b->list.count += !at;
    b->list.at[i] = *l;
    b->files[i] = fd;
    b->list.next_ticket = MAX_OF(b->list.next_ticket, l->ticket + 1);
    return 0;
}

/* What a process before this one left. */
static int read_journal(struct lease_broker *b, struct error *err)
{
    AUTO_LEASE_LIST struct lease_list list = {0};
    int rc = lease_dir_list(&b->dir, clock_wall(&clock_system), &list, err);
    if (rc == 0)
        lease_dir_sweep(&b->dir, &list);
    for (size_t i = 0; i < list.count && rc == 0; i++)
        if (list.at[i].state != LEASE_ENDED)
            rc = keep(b, &list.at[i], err);
    b->list.incomplete = list.incomplete;
    b->list.next_ticket = MAX_OF(b->list.next_ticket, list.next_ticket);
    if (rc == 0)
        lease_dir_show_all(&b->dir, &b->list);
    return rc;
}

/* Leases of earlier versions, in a directory that all users could write. A program keeps its own for as long as its process lives,
 * and requests that waited there are made again. */
static void take_over(struct lease_broker *b, const char *configured)
{
    AUTO_LEASE_DIR struct lease_dir old = LEASE_DIR_CLOSED;
    AUTO_LEASE_LIST struct lease_list list = {0};
    old.fd = place_earlier_leases(configured, old.path);
    if (old.fd < 0 || lease_dir_lock(&old, MS_PER_S, NULL) < 0 || lease_dir_list(&old, clock_wall(&clock_system), &list, NULL) < 0)
        return;
    for (size_t i = 0; i < list.count; i++) {
        struct lease *l = &list.at[i];
        if (l->state == LEASE_ACTIVE && l->kind != LEASE_SETTING && lease_dir_put(&b->dir, l, NULL) == 0)
            (void)lease_dir_remove(&old, l->id, NULL);
    }
    log_info("leases of an earlier version were taken over", LOG_TEXT("from", old.path), LOG_INT("count", (int64_t)list.count));
}

int lease_broker_open(struct lease_broker *b, const char *configured, struct lease_broker_limits limits, struct error *err)
{
    *b = LEASE_BROKER_CLOSED;
    b->limits = limits;
    b->list.next_ticket = 1;
    int rc = lease_dir_open_journal(&b->dir, configured, err);
    if (rc == 0) {
        b->watch = lease_journal_watch(&b->dir);
        if (b->watch < 0)
            rc = error_set(err, b->watch, "cannot watch '%s': %s", b->dir.path, strerror(-b->watch));
    }
    if (rc == 0)
        take_over(b, configured);
    if (rc == 0)
        rc = read_journal(b, err);
    if (rc < 0)
        lease_broker_close(b);
    return rc;
}

void lease_broker_close(struct lease_broker *b)
{
    while (b->list.count)
        drop(b, b->list.count - 1);
    if (b->watch >= 0)
        close(b->watch);
    free(b->files);
    lease_list_done(&b->list);
    lease_dir_close(&b->dir);
    *b = LEASE_BROKER_CLOSED;
}

void lease_broker_look(struct lease_broker *b)
{
    char events[4096];
    while (b->watch >= 0 && read(b->watch, events, sizeof events) > 0)
        ;
    clean(b, clock_wall(&clock_system));
}

/* ---- requests ---- */

int lease_broker_begin(struct lease_broker *b, const struct lease_broker_peer *peer, const char *id,
                       struct lease_broker_begun *begun, int *ret_fd, struct error *err)
{
    char name[LEASE_ID_SIZE + 8];
    int rc = 0;
    lease_broker_look(b);
    const struct lease *before = lease_list_find(&b->list, id);
    snprintf(name, sizeof name, ".%s.new", id);
    if (before && before->uid != (int64_t)peer->uid)
        rc = error_set(err, -EPERM, "lease %s belongs to %s", id, before->user);
    else if (faccessat(b->dir.fd, name, F_OK, 0) == 0)
        rc = error_set(err, -EBUSY, "lease %s is being written", id);
    if (rc == 0) {
        lease_broker_cancel(b, begun);
        rc = lease_dir_begin(&b->dir, id, &begun->fd, err);
    }
    if (rc < 0)
        return rc;
    str_copy(begun->id, sizeof begun->id, str_from(id));
    *ret_fd = openat(b->dir.fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (*ret_fd < 0 || (errno = -file_hold_reading(*ret_fd))) {
        rc = error_set(err, -errno, "cannot hold a lease in '%s': %s", b->dir.path, strerror(errno));
        if (*ret_fd >= 0)
            close(*ret_fd);
        lease_broker_cancel(b, begun);
    }
    return rc;
}

void lease_broker_cancel(struct lease_broker *b, struct lease_broker_begun *begun)
{
    if (begun->fd >= 0)
        lease_dir_cancel(&b->dir, begun->id, begun->fd);
    *begun = (struct lease_broker_begun){.fd = -1};
}

int lease_broker_commit(struct lease_broker *b, const struct lease_broker_peer *peer, struct lease *l,
                        struct lease_broker_begun *begun, struct error *err)
{
    struct wall now = clock_wall(&clock_system);
    bool bound = l->kind == LEASE_RUN || l->state == LEASE_WAITING, ready = begun->fd >= 0 && strcmp(begun->id, l->id) == 0;
    lease_broker_look(b);
    const struct lease *before = lease_list_find(&b->list, l->id);
    int rc = bound == ready ? lease_broker_correct(l, before, peer, now, err) : error_set(err, -EINVAL, "this lease was not begun");
    if (rc == 0)
        rc = within_limits(b, l, err);
    if (rc == 0 && l->state == LEASE_ACTIVE && !(before && same_promise(before, l)))
        rc = lease_broker_judge(l, &b->list, now, err);
    if (rc == 0 && !l->ticket)
        l->ticket = b->list.next_ticket;
    if (rc == 0)
        rc = bound ? lease_dir_commit(&b->dir, l, begun->fd, err) : lease_dir_put(&b->dir, l, err);
    if (rc == 0)
        rc = keep(b, l, err);
    if (rc == 0 && bound) {
        close(begun->fd);
        *begun = (struct lease_broker_begun){.fd = -1};
        lease_dir_show(&b->dir, l);
    } else
        lease_broker_cancel(b, begun);
    clean(b, now);
    return rc;
}

int lease_broker_end(struct lease_broker *b, const struct lease_broker_peer *peer, const char *id, struct error *err)
{
    lease_broker_look(b);
    const struct lease *l = lease_list_find(&b->list, id);
    if (!l)
        return error_set(err, -ENOENT, "cannot end lease %s: there is no such lease", id);
    if (l->uid != (int64_t)peer->uid && !peer->trusted)
        return error_set(err, -EPERM, "lease %s belongs to %s", id, l->user);
    if (l->kind == LEASE_RUN || l->state == LEASE_WAITING)
        return error_set(err, -EPERM, "lease %s ends with its program", id);
    int rc = lease_dir_remove(&b->dir, id, err);
    if (rc == 0)
        drop(b, (size_t)(l - b->list.at));
    return rc;
}
