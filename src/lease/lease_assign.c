/* SPDX-License-Identifier: Apache-2.0
 * Memory on GPUs, and who gets it in which order.
 */
#include "lease/lease_assign.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/moment.h"
#include "base/words.h"

enum { USERS_MAX = 64 };

struct room_look {
    const struct lease *wish, *leases;
    size_t lease_count;
    const struct room_gpu *gpus;
    size_t gpu_count;
    struct wall now;
    struct room_answer *out;
};

/* ---- which leases count ---- */

static bool overlap(const struct lease *a, const struct lease *b, struct wall now)
{
    /* A program that outstays its end still counts. */
    int64_t a_end = a->until.ms && (a->kind != LEASE_RUN || a->until.ms > now.ms) ? a->until.ms : INT64_MAX;
    int64_t b_end = b->until.ms && (b->kind != LEASE_RUN || b->until.ms > now.ms) ? b->until.ms : INT64_MAX;
    return a->from.ms < b_end && b->from.ms < a_end;
}

/* Its index in the lease's GPUs if it holds something on this one during the request, else -1. */
static int holds_at(const struct room_look *l, const struct lease *other, const struct capacity_gpu *gpu)
{
    if (other->state != LEASE_ACTIVE || other->kind == LEASE_SETTING || strcmp(other->id, l->wish->id) == 0)
        return -1;
    int at = lease_gpu_at(other, gpu_id_key(&gpu->id));
    return at >= 0 && overlap(other, l->wish, l->now) ? at : -1;
}

static bool could_use(const struct lease *wish, const char *key)
{
    return wish->gpu_count == 0 || lease_gpu_at(wish, key) >= 0;
}

/* Whether it is ahead of the request in the queue. A request without a ticket is last. */
static bool is_before(const struct lease *other, const struct lease *wish)
{
    return other->state == LEASE_WAITING && strcmp(other->id, wish->id) != 0 && (!wish->ticket || other->ticket < wish->ticket);
}

static bool share_a_gpu(const struct lease *a, const struct lease *b)
{
    bool shared = a->gpu_count == 0 || b->gpu_count == 0;
    for (size_t i = 0; i < a->gpu_count && !shared; i++)
        shared = lease_gpu_at(b, a->gpus[i].uuid) >= 0;
    return shared;
}

const struct lease *room_before(const struct lease *wish, const struct lease *leases, size_t lease_count)
{
    for (size_t i = lease_count; i-- > 0;)
        if (is_before(&leases[i], wish) && share_a_gpu(&leases[i], wish))
            return &leases[i];
    return NULL;
}

/* ---- one GPU ---- */

/* Sums of one user's leases on one GPU. */
struct user_tally {
    int64_t uid;
    int64_t reserved, run;
};

static struct user_tally *tally_of(struct user_tally *users, size_t *count, int64_t uid)
{
    for (size_t i = 0; i < *count; i++)
        if (users[i].uid == uid)
            return &users[i];
    if (*count == USERS_MAX)
        return &users[USERS_MAX - 1]; /* counted together: shares less, but nothing twice */
    users[*count] = (struct user_tally){.uid = uid};
    return &users[(*count)++];
}

/* Memory not used by programs without a lease: all leases share it. Asleep means that no program is on it. */
static struct reading shared_room(const struct room_look *l, const struct capacity_gpu *gpu)
{
    struct reading room = gpu->free_bytes.state == READING_ASLEEP ? gpu->total_bytes : gpu->free_bytes;
    if (room.state != READING_OK)
        return room;
    room.value = MAX_OF(room.value - gpu->reserve_bytes, (int64_t)0) + reading_or(gpu->reclaimable_bytes, 0);
    for (size_t i = 0; i < l->lease_count; i++) {
        int at = l->leases[i].state == LEASE_ACTIVE ? lease_gpu_at(&l->leases[i], gpu_id_key(&gpu->id)) : -1;
        if (at >= 0)
            room.value += reading_or(l->leases[i].gpus[at].used_bytes, 0);
    }
    return room;
}

/* Memory granted by `whirr wait` and not yet used: what others took since counts for the earliest of them. */
static int64_t given_away(const struct room_look *l, const struct capacity_gpu *gpu, int64_t room)
{
    int64_t used = 0, left = 0;
    bool first = true;
    for (size_t i = 0; i < l->lease_count; i++) {
        const struct lease *other = &l->leases[i];
        int at = other->kind == LEASE_WAIT ? holds_at(l, other, gpu) : -1;
        if (at < 0)
            continue;
        if (first)
            used = MAX_OF(reading_or(other->gpus[at].free_bytes, room) - room, (int64_t)0);
        first = false;
        int64_t its = MIN_OF(used, other->mem_bytes);
        used -= its;
        left += other->mem_bytes - its;
    }
    return left;
}

/* What remains on the GPU with the request on it; negative: it doesn't fit. */
static int64_t left_over(const struct room_look *l, const struct capacity_gpu *gpu, int64_t room)
{
    struct user_tally users[USERS_MAX];
    size_t count = 0;
    for (size_t i = 0; i < l->lease_count; i++) {
        const struct lease *other = &l->leases[i];
        int at = other->kind == LEASE_WAIT ? -1 : holds_at(l, other, gpu);
        if (at < 0)
            continue;
        struct user_tally *t = tally_of(users, &count, other->uid);
        int64_t used = reading_or(other->gpus[at].used_bytes, 0);
        if (other->kind == LEASE_RESERVE) {
            t->reserved += other->mem_bytes;
            t->run += used;
        } else
            t->run += MAX_OF(other->mem_bytes, used);
    }
    struct user_tally *own = tally_of(users, &count, l->wish->uid);
    *(l->wish->kind == LEASE_RESERVE ? &own->reserved : &own->run) += l->wish->mem_bytes;
    int64_t left = room - given_away(l, gpu, room);
    for (size_t i = 0; i < count; i++)
        left -= MAX_OF(users[i].reserved, users[i].run);
    return left;
}

/* The lease that blocks the request on this GPU regardless of memory; NULL: none. */
static const struct lease *in_the_way(const struct room_look *l, const struct capacity_gpu *gpu)
{
    const struct lease *wish = l->wish;
    for (size_t i = 0; i < l->lease_count; i++) {
        const struct lease *other = &l->leases[i];
        if (holds_at(l, other, gpu) < 0)
            continue;
        bool own_room = other->uid == wish->uid && other->kind == LEASE_RESERVE && wish->kind != LEASE_RESERVE;
        bool inside = other->uid == wish->uid && wish->kind == LEASE_RESERVE && other->kind == LEASE_RUN;
        if ((other->exclusive || wish->exclusive) && !own_room && !inside)
            return other;
    }
    return NULL;
}

static bool has_reserved(const struct room_look *l, const struct capacity_gpu *gpu)
{
    for (size_t i = 0; i < l->lease_count; i++)
        if (l->leases[i].kind == LEASE_RESERVE && l->leases[i].uid == l->wish->uid && holds_at(l, &l->leases[i], gpu) >= 0)
            return true;
    return false;
}

/* ---- words ---- */

static void __attribute__((format(gnu_printf, 2, 3))) say(const struct room_look *l, const char *format, ...)
{
    va_list args;
    if (l->out->words[0])
        return; /* the first reason is the best GPU's */
    va_start(args, format);
    vsnprintf(l->out->words, sizeof l->out->words, format, args);
    va_end(args);
}

static void say_held(const struct room_look *l, const char *gpu, const struct lease *by)
{
    char who[LEASE_WORDS], until[MOMENT_TEXT_SIZE];
    const char *how = by->kind == LEASE_RESERVE ? "reserved for" : "leased to";
    lease_holder_words(by, who);
    if (by->from.ms > l->now.ms) {
        moment_format(by->from, l->now, until);
        say(l, "%s is %s %s from %s on", gpu, how, who, until);
    } else if (by->until.ms) {
        moment_format(by->until, l->now, until);
        say(l, "%s is %s %s until %s", gpu, how, who, until);
    } else
        say(l, "%s is %s %s", gpu, how, who);
}

/* ---- all GPUs ---- */

struct room_candidate {
    size_t at;
    bool reserved;
    int64_t left;
    struct reading room;
};

/* Whether the GPU is available now; if not, records the reason. */
static bool can_have(const struct room_look *l, size_t at, struct room_candidate *c)
{
    const struct capacity_gpu *gpu = l->gpus[at].card;
    const struct lease *by;
    char name[CAPACITY_WORDS], left[WORDS_SIZE];
    *c = (struct room_candidate){.at = at, .reserved = has_reserved(l, gpu), .room = shared_room(l, gpu)};
    capacity_gpu_words(gpu, name);
    if (!gpu->usable)
        say(l, "%s can't be used: %s", name, gpu->problem);
    else if ((by = in_the_way(l, gpu)))
        say_held(l, name, by);
    else if (l->wish->exclusive && l->gpus[at].in_use_by[0] && l->wish->from.ms <= l->now.ms)
        say(l, "%s is in use: %s", name, l->gpus[at].in_use_by);
    else if (!l->wish->mem_bytes)
        return true;
    else if (c->room.state != READING_OK)
        say(l, "%s: %s", name, gpu->problem[0] ? gpu->problem : "its free memory is not known");
    else if ((c->left = left_over(l, gpu, c->room.value)) < 0)
        say(l, "%s has too little room: %s more are needed", name, words_bytes(-c->left, left));
    else
        return true;
    return false;
}

/* Earlier requests could use it, so it is theirs. */
static bool is_waited_for(const struct room_look *l, const struct capacity_gpu *gpu)
{
    for (size_t i = 0; i < l->lease_count; i++)
        if (is_before(&l->leases[i], l->wish) && could_use(&l->leases[i], gpu_id_key(&gpu->id)))
            return true;
    return false;
}

static bool is_better(const struct room_candidate *a, const struct room_candidate *b)
{
    if (a->reserved != b->reserved)
        return a->reserved;
    return a->left < b->left; /* tightest fit: keep large gaps for large requests */
}

static void insert(struct room_candidate *list, size_t count, struct room_candidate one)
{
    size_t at = count;
    for (; at > 0 && is_better(&one, &list[at - 1]); at--)
        list[at] = list[at - 1];
    list[at] = one;
}

/* Whether it could ever suffice, with nothing else on it. For a partitioned card, its instances count. */
static bool could_ever(const struct room_look *l, size_t at)
{
    const struct capacity_gpu *gpu = l->gpus[at].card, *next = at + 1 < l->gpu_count ? l->gpus[at + 1].card : NULL;
    bool divided = gpu->instance < 0 && next && next->index == gpu->index && next->instance >= 0;
    int64_t total;
    bool meant = !gpu->only_if_named || l->wish->gpu_count > 0;
    return could_use(l->wish, gpu_id_key(&gpu->id)) && gpu_id_key(&gpu->id)[0] && !divided && meant &&
           (!reading_get(gpu->total_bytes, &total) || total >= l->wish->mem_bytes);
}

/* Number of GPUs of this vendor (NULL: any) for the request. A program can only get GPUs of one vendor. */
static size_t count_of_maker(const struct room_look *l, const char *vendor)
{
    size_t count = 0;
    for (size_t i = 0; i < l->gpu_count; i++)
        count += could_ever(l, i) && (!vendor || strcmp(l->gpus[i].card->id.vendor, vendor) == 0);
    return count;
}

static void say_never(const struct room_look *l, size_t most)
{
    char bytes[WORDS_SIZE], of[64] = "";
    int wanted = l->wish->gpus_wanted;
    size_t all = count_of_maker(l, NULL);
    bool makers = all >= (size_t)wanted; /* enough, but of several vendors */
    most = makers ? most : all;
    l->out->verdict = ROOM_NEVER;
    l->out->words[0] = '\0';
    if (l->wish->mem_bytes)
        snprintf(of, sizeof of, " with %s", words_bytes(l->wish->mem_bytes, bytes));
    if (most == 0)
        say(l, "there is no GPU%s%s", of, l->wish->gpu_count ? " among those that it may use" : " on this host");
    else
        say(l, "%d GPUs%s%s are wanted, and there %s only %zu%s", wanted, makers ? " of one vendor" : "", of,
            most == 1 ? "is" : "are", most, l->wish->gpu_count ? " that it may use" : "");
}

/* The best of one vendor, in list order. */
static bool room_choose(const struct room_look *l, const char *vendor)
{
    struct room_candidate list[GPU_MAX], one;
    size_t count = 0, wanted = (size_t)l->wish->gpus_wanted;
    for (size_t i = 0; i < l->gpu_count && count < GPU_MAX; i++) {
        const struct capacity_gpu *gpu = l->gpus[i].card;
        if (strcmp(gpu->id.vendor, vendor) == 0 && could_ever(l, i) && !is_waited_for(l, gpu) && can_have(l, i, &one))
            insert(list, count++, one);
    }
    if (count < wanted)
        return false;
    for (size_t i = 0; i < l->gpu_count && l->out->count < wanted; i++)
        for (size_t k = 0; k < wanted; k++)
            if (list[k].at == i) {
                l->out->free_bytes[l->out->count] = list[k].room;
                l->out->gpus[l->out->count++] = i;
            }
    return true;
}

/* In front of the reason of the first GPU: that the others are no better. */
static void say_how_many(const struct room_look *l)
{
    size_t all = 0, free = 0;
    char first[ROOM_WORDS];
    struct room_candidate one;
    for (size_t i = 0; i < l->gpu_count; i++)
        if (could_ever(l, i)) {
            all++;
            free += !is_waited_for(l, l->gpus[i].card) && can_have(l, i, &one);
        }
    if (all < 2 || free >= (size_t)l->wish->gpus_wanted || !l->out->words[0])
        return;
    memcpy(first, l->out->words, sizeof first);
    l->out->words[0] = '\0';
    if (free)
        say(l, "only %zu of %zu GPUs %s free; %s", free, all, free == 1 ? "is" : "are", first);
    else
        say(l, "none of %zu GPUs is free; %s", all, first);
}

void room_find(const struct lease *wish, const struct lease *leases, size_t lease_count, const struct room_gpu *gpus,
               size_t gpu_count, struct wall now, struct room_answer *ret)
{
    const struct room_look l = {wish, leases, lease_count, gpus, gpu_count, now, ret};
    size_t most = 0;
    *ret = (struct room_answer){.verdict = ROOM_WAITS};
    for (size_t i = 0; i < gpu_count; i++) {
        size_t count = count_of_maker(&l, gpus[i].card->id.vendor);
        most = MAX_OF(most, count);
        if (count < (size_t)wish->gpus_wanted || !room_choose(&l, gpus[i].card->id.vendor))
            continue;
        ret->verdict = ROOM_GRANTED;
        ret->words[0] = '\0';
        return;
    }
    size_t before = 0;
    for (size_t i = 0; i < lease_count; i++)
        before += is_before(&leases[i], wish) && share_a_gpu(&leases[i], wish);
    if (most < (size_t)wish->gpus_wanted)
        say_never(&l, most);
    else if (before)
        say(&l, "%zu %s in front of it", before, before == 1 ? "waits" : "wait");
    else
        say_how_many(&l);
}
