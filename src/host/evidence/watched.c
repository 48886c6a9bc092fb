/* SPDX-License-Identifier: Apache-2.0 */
#include "host/evidence/watched.h"

#include <stdlib.h>

#include "base/cleanup.h"

enum { FORGET_MS = 3000, FORGET_ROUNDS = 3 }; /* both must pass: what a program did before its GPU was busy is irrelevant */

static void forget(struct watch_list *l, size_t i)
{
    if (l->done)
        l->done(l->list[i], l->user);
    free(l->list[i]);
    l->list[i] = l->list[--l->count];
}

struct watched_process *watched_find(struct watch_list *l, const struct evidence_target *target)
{
    for (size_t i = 0; i < l->count; i++) {
        if (l->list[i]->target.pid != target->pid)
            continue;
        if (l->list[i]->target.start_key == target->start_key)
            return l->list[i];
        forget(l, i); /* the PID was reused */
        break;
    }
    return NULL;
}

bool watched_has_room(struct watch_list *l)
{
    return l->count < EVIDENCE_TARGETS_MAX && ROOM_FOR_ONE(l->list, l->count, l->capacity, 8);
}

void watched_add(struct watch_list *l, struct watched_process *w)
{
    l->list[l->count++] = w;
}

void watched_forget(struct watch_list *l, const struct watched_process *w)
{
    for (size_t i = 0; i < l->count; i++)
        if (l->list[i] == w) {
            forget(l, i);
            return;
        }
}

void watched_forget_old(struct watch_list *l, struct mono now, int64_t gap_ms)
{
    for (size_t i = l->count; i-- > 0;)
        if (l->list[i]->looked_at.ns && mono_since_ms(now, l->list[i]->looked_at) >= FORGET_ROUNDS * gap_ms + FORGET_MS)
            forget(l, i);
}

void watched_done(struct watch_list *l)
{
    while (l->count)
        forget(l, l->count - 1);
    free(l->list);
}

bool watched_is_recent(const struct watched_process *w, struct mono now, bool quick)
{
    return w->looked_at.ns && mono_since_ms(now, w->looked_at) < (quick ? QUICK_LEAST_MS : LOOK_LEAST_MS);
}

void evidence_clear(struct host_evidence *ret)
{
    *ret = (struct host_evidence){.state = READING_OK};
    for (size_t i = 0; i < EVIDENCE_COUNT; i++)
        ret->metric[i] = reading_absent(READING_UNSUPPORTED);
}
