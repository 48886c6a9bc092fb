/* SPDX-License-Identifier: Apache-2.0
 * The queue of questions and each client's account.
 */
#include "store/service/turns.h"

#include <errno.h>

#include "base/cleanup.h"

static void halve(struct turns *t, struct mono now)
{
    int64_t times = mono_since_ms(now, t->halved) / USE_HALVES_MS;
    if (times <= 0)
        return;
    t->halved = now;
    for (size_t i = 0; i < TURNS_CLIENTS; i++)
        t->clients[i].used_ms = times < 32 ? t->clients[i].used_ms >> times : 0;
}

/* There are more slots than questions, so one without open questions always exists. */
static struct turns_client *client_of(struct turns *t, uint64_t id)
{
    struct turns_client *place = NULL;
    for (size_t i = 0; i < TURNS_CLIENTS; i++) {
        struct turns_client *c = &t->clients[i];
        if (c->id == id && (c->open || c->used_ms))
            return c;
        if (c->open == 0 && (!place || c->used_ms < place->used_ms))
            place = c;
    }
    *place = (struct turns_client){.id = id};
    return place;
}

static void remove_waiting(struct turns *t, struct store_question *q)
{
    struct store_question **at = &t->waiting;
    while (*at != q)
        at = &(*at)->next;
    *at = q->next;
    q->next = NULL;
    t->waiting_count--;
}

static void add_waiting(struct turns *t, struct store_question *q)
{
    q->next = t->waiting;
    t->waiting = q;
    t->waiting_count++;
}

/* The oldest question of the client with the most, if that is more than the new one's client has. */
static struct store_question *find_evictable(const struct turns *t, size_t others)
{
    struct store_question *found = NULL;
    for (struct store_question *q = t->waiting; q; q = q->next) {
        if (!q->client || q->account->open < (found ? others : others + 1))
            continue;
        others = q->account->open;
        found = q;
    }
    return found;
}

int turns_join(struct turns *t, struct store_question *q, struct mono now, struct store_question **ret_out)
{
    halve(t, now);
    *ret_out = NULL;
    struct turns_client *c = client_of(t, q->client);
    if (q->client && c->open >= QUESTIONS_OF_ONE)
        return -EDQUOT;
    if (t->open >= QUESTIONS_MAX) {
        *ret_out = find_evictable(t, c->open);
        if (!*ret_out)
            return -EBUSY;
        remove_waiting(t, *ret_out);
        turns_leave(t, *ret_out, now);
    }
    c->open++;
    t->open++;
    q->account = c;
    q->asked = now;
    q->at_length = q->is_running = false;
    q->is_long = q->once;
    add_waiting(t, q);
    return 0;
}

/* A question that nothing waits for is answered at once: it costs nothing and frees its place. */
static bool is_over(const struct store_question *q, struct mono now)
{
    return q->canceled || turns_too_late(q, now);
}

static bool has_room_at_length(const struct turns *t, const struct store_question *q)
{
    return t->at_length < READERS_MAX - 1 && (!q->client || q->account->at_length < LONG_OF_ONE);
}

/* Little use counts as none: otherwise a caller that asked once would queue behind all newcomers. */
static int64_t notable_use(const struct turns_client *c)
{
    return c->used_ms / USE_NOTABLE_MS + (int64_t)c->running;
}

struct store_question *turns_next(struct turns *t, struct mono now)
{
    struct store_question *found = NULL;
    int64_t min_used = INT64_MAX;
    halve(t, now);
    for (struct store_question *q = t->waiting; q && min_used >= 0; q = q->next) {
        int64_t used = is_over(q, now) ? -1 : notable_use(q->account);
        /* Among equals, the newest: the client of an old one is more likely to have given up. */
        if (used < min_used && (used < 0 || !q->is_long || has_room_at_length(t, q))) {
            min_used = used;
            found = q;
        }
    }
    if (!found)
        return NULL;
    remove_waiting(t, found);
    found->is_running = true;
    found->begun = now;
    found->at_length = min_used >= 0 && has_room_at_length(t, found);
    found->account->running++;
    found->account->at_length += found->at_length;
    t->at_length += found->at_length;
    return found;
}

static void stop(struct turns *t, struct store_question *q, struct mono now)
{
    if (q->is_running)
        q->account->used_ms += MAX_OF(mono_since_ms(now, q->begun), (int64_t)0);
    q->account->running -= q->is_running;
    q->account->at_length -= q->at_length;
    t->at_length -= q->at_length;
    q->is_running = q->at_length = false;
}

void turns_again(struct turns *t, struct store_question *q, struct mono now)
{
    stop(t, q, now);
    q->is_long = true;
    add_waiting(t, q);
}

void turns_leave(struct turns *t, struct store_question *q, struct mono now)
{
    stop(t, q, now);
    q->account->open--;
    t->open--;
}

struct store_question *turns_drop(struct turns *t)
{
    struct store_question *q = t->waiting;
    if (q) {
        remove_waiting(t, q);
        turns_leave(t, q, q->asked);
    }
    return q;
}
