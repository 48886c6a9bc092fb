/* SPDX-License-Identifier: Apache-2.0
 * Every interleaving of processes that change a setting or take a GPU, with faults between any two of their steps. The processes
 * follow lease_state.c, room_find() judges room; this file plays the rest: journal, lock, GPU, kills, a full disk, reboots,
 * suspends, other programs.
 *
 * Explored breadth first, so a counterexample is the shortest. From each world, a second walk lets everything go well from there
 * on, and asks whether all is in order at the end: nothing waits forever, and nothing is left behind.
 */
#include "lease/lease_state.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "lease/lease_assign.h"
#include "test.h"

/* ---- exploring ---- */

enum { WORLD_SIZE = 64, TRACE_MAX = 4096 };

struct model;
struct model_ops {
    size_t size; /* of a world */
    void (*start)(const struct model *m, void *world);
    /* Calls found() with each world that can follow. */
    void (*follow)(struct model *m, const void *world);
    /* Lets everything go well from here on; NULL, or what is wrong in the end. */
    const char *(*settle)(struct model *m, void *world);
};

struct node {
    unsigned char world[WORLD_SIZE];
    uint32_t from;
    const char *what;
    int who;
};

struct model {
    const struct model_ops *ops;
    struct lease_rule rules[64];
    enum value_owner (*owner)(const struct lease_value *v, int rc, const struct control_state *now);
    int fault_most, parts;
    bool loose_lock; /* a seeded fault: it gives the lock back between decision and record */
    bool settling;   /* no more faults; the first way to go on is taken */
    bool moved;
    unsigned char next[WORLD_SIZE];
    const char *wrong; /* the invariant that is broken */
    struct node *nodes;
    size_t count, capacity;
    uint32_t *table;
    size_t table_size;
    uint32_t at;
    char trace[TRACE_MAX];
};

static enum lease_action model_next(const struct model *m, uint8_t *stage, enum lease_event event)
{
    for (size_t i = 0; i < lease_rule_count; i++)
        if (m->rules[i].stage == *stage && m->rules[i].event == event) {
            *stage = (uint8_t)m->rules[i].next;
            return m->rules[i].action;
        }
    return ACTION_REST;
}

static uint64_t hash(const unsigned char *world)
{
    uint64_t sum = 14695981039346656037ULL;
    for (size_t i = 0; i < WORLD_SIZE; i += 8) {
        uint64_t word;
        memcpy(&word, world + i, 8);
        sum = (sum ^ word) * 1099511628211ULL;
        sum ^= sum >> 29;
    }
    return sum;
}

static void grow_table(struct model *m)
{
    free(m->table);
    m->table_size = m->table_size ? m->table_size * 4 : 1 << 14;
    m->table = calloc(m->table_size, sizeof *m->table);
    assert_non_null(m->table);
    for (size_t i = 0; i < m->count; i++) {
        size_t at = hash(m->nodes[i].world) & (m->table_size - 1);
        while (m->table[at])
            at = (at + 1) & (m->table_size - 1);
        m->table[at] = (uint32_t)i + 1;
    }
}

static void found(struct model *m, const void *next, const char *what, int who)
{
    unsigned char world[WORLD_SIZE] = {0};
    memcpy(world, next, m->ops->size);
    if (m->settling) {
        if (!m->moved)
            memcpy(m->next, world, WORLD_SIZE);
        m->moved = true;
        return;
    }
    if (m->count * 2 >= m->table_size)
        grow_table(m);
    size_t at = hash(world) & (m->table_size - 1);
    for (; m->table[at]; at = (at + 1) & (m->table_size - 1))
        if (memcmp(m->nodes[m->table[at] - 1].world, world, WORLD_SIZE) == 0)
            return;
    assert_true(ROOM_FOR_ONE(m->nodes, m->count, m->capacity, 1024));
    struct node *n = &m->nodes[m->count++];
    *n = (struct node){.from = m->at, .what = what, .who = who};
    memcpy(n->world, world, WORLD_SIZE);
    m->table[at] = (uint32_t)m->count;
}

static void tell_trace(struct model *m, uint32_t at)
{
    char line[80];
    size_t len = 0;
    m->trace[0] = '\0';
    for (; at; at = m->nodes[at].from) {
        int size = snprintf(line, sizeof line, "%d %s\n", m->nodes[at].who, m->nodes[at].what);
        if (len + (size_t)size >= TRACE_MAX)
            break;
        memmove(m->trace + size, m->trace, len + 1);
        memcpy(m->trace, line, (size_t)size);
        len += (size_t)size;
    }
}

/* NULL: every world is in order; else what isn't, with the way there in m->trace. */
static const char *explore(struct model *m)
{
    unsigned char first[WORLD_SIZE] = {0}, copy[WORLD_SIZE];
    m->wrong = NULL;
    m->count = 0;
    m->table_size = 0;
    grow_table(m);
    m->ops->start(m, first);
    found(m, first, "start", 0);
    for (m->at = 0; m->at < m->count && !m->wrong; m->at++) {
        memcpy(copy, m->nodes[m->at].world, WORLD_SIZE);
        m->ops->follow(m, copy);
        m->settling = true;
        if (!m->wrong)
            m->wrong = m->ops->settle(m, copy);
        m->settling = false;
    }
    if (m->wrong)
        tell_trace(m, m->at - 1);
    return m->wrong;
}

static void model_done(struct model *m)
{
    free(m->nodes);
    free(m->table);
}
#define AUTO_MODEL __attribute__((cleanup(model_done)))

static struct model model_of(const struct model_ops *ops, int fault_most, int parts)
{
    struct model m = {.ops = ops, .owner = lease_value_owner, .fault_most = fault_most, .parts = parts};
    assert_true(lease_rule_count <= ARRAY_LEN(m.rules));
    memcpy(m.rules, lease_rules, lease_rule_count * sizeof lease_rules[0]);
    return m;
}

/* ---- settings: two requests for the same one, and a process that cleans up after dead ones ---- */

enum value { OLD, STOCK, THEIRS, ASKED_0, ROUND_0, ASKED_1, ROUND_1, VALUES };
static const int64_t numbers[VALUES] = {400000, 450000, 350000, 300000, 305000, 200000, 195000};
enum { LEAST = 100000, MOST = 450000, PROCESSES = 3, CLEANER = 2, HOG = PROCESSES + 1 };
enum step { NO_RECORD, WRITTEN, MADE_ACTIVE, GOING_BACK };
enum doing { UNBORN, WANTS, BEGINS, KEEPS, WANTS_END, ENDS, CLEANS, GONE };

struct change {
    uint8_t step, before, asked;
};

struct actor {
    uint8_t doing, then; /* then: what follows after CLEANS */
    uint8_t on, stage, action, half, upset, dropped;
    struct change memory;
};

struct changing {
    uint8_t part[2], truth; /* truth: the last value that isn't a lease's */
    uint8_t lock, lost, full, faults, meddled;
    struct change journal[2];
    struct actor actors[PROCESSES];
};
_Static_assert(sizeof(struct changing) <= WORLD_SIZE, "a world must fit");

static bool is_of(uint8_t value, int lease)
{
    return lease == 0 ? value == ASKED_0 || value == ROUND_0 : value == ASKED_1 || value == ROUND_1;
}

static enum value_owner owner_now(const struct model *m, const struct changing *w, const struct change *c)
{
    struct control_state now = {.now_known = true, .exact_stock = m->parts == 1, .least = LEAST, .most = MOST};
    bool differ = w->part[0] != w->part[1];
    struct lease_value v = {.kind = m->parts == 1 ? CONTROL_POWER : CONTROL_FAN,
                            .unfinished = c->step != MADE_ACTIVE,
                            .asked = {.low = numbers[c->asked], .high = numbers[c->asked]},
                            .before = {.low = numbers[c->before], .high = numbers[c->before]},
                            .least = LEAST,
                            .most = MOST};
    now.now = (struct control_value){.low = numbers[w->part[0]], .high = numbers[w->part[0]]};
    now.stock_value = (struct control_value){.low = numbers[STOCK], .high = numbers[STOCK]};
    if (m->parts == 2) { /* a fan at stock is automatic */
        now.now.stock = w->part[0] == STOCK;
        v.before.stock = c->before == STOCK;
    }
    return m->owner(&v, differ ? -EBUSY : 0, &now);
}

static void write_part(struct model *m, struct changing *w, int part, uint8_t value)
{
    int last = m->parts == 1 ? 1 - part : part; /* of one part: both at once, and nothing the second time */
    for (int i = part; i <= last; i++) {
        if (w->part[i] == THEIRS && value != THEIRS)
            m->wrong = "a value of another program is overwritten";
        w->part[i] = value;
    }
}

static void unlock(struct changing *w, int who)
{
    if (w->lock == who + 1)
        w->lock = 0;
}

/* The action went that way: what follows. */
static void went(const struct model *m, struct actor *a, enum lease_event event)
{
    a->half = 0;
    a->action = (uint8_t)model_next(m, &a->stage, event);
}

static void emit(struct model *m, const struct changing *w, const char *what, int who)
{
    for (int i = 0; i < 2; i++)
        if ((is_of(w->part[0], i) || is_of(w->part[1], i)) && w->journal[i].step == NO_RECORD)
            m->wrong = "a setting is changed, and the journal does not know";
    if (w->journal[0].step == MADE_ACTIVE && w->journal[1].step == MADE_ACTIVE && w->actors[0].doing == KEEPS &&
        w->actors[1].doing == KEEPS)
        m->wrong = "two leases have the same setting";
    found(m, w, what, who);
}

static void begin_record(const struct model *m, struct changing *w, int who, int lease, enum doing doing)
{
    static const char *const steps[] = {"", "written", "active", "restoring"};
    struct actor *a = &w->actors[who];
    a->doing = (uint8_t)doing;
    a->on = (uint8_t)lease;
    a->dropped = 0;
    if (doing == CLEANS)
        a->memory = w->journal[lease];
    a->stage = (uint8_t)lease_stage_of(steps[a->memory.step]);
    went(m, a, EVENT_END);
}

static bool is_over(const struct changing *w, int lease)
{
    return w->journal[lease].step != NO_RECORD && (w->actors[lease].doing == GONE || w->actors[lease].doing == UNBORN);
}

/* With the lock: first what dead processes left, then the own request. */
static void begin_request(const struct model *m, struct changing *w, int who)
{
    struct actor *a = &w->actors[who];
    int other = 1 - who;
    if (is_over(w, other)) {
        begin_record(m, w, who, other, CLEANS);
        a->then = BEGINS;
    } else if (w->journal[other].step != NO_RECORD) {
        unlock(w, who); /* refused */
        a->doing = GONE;
    } else {
        a->doing = BEGINS;
        a->on = (uint8_t)who;
        a->stage = STAGE_NONE;
        a->dropped = 0;
        went(m, a, EVENT_CHANGE);
    }
}

/* The machine rests. */
static void rest(const struct model *m, struct changing *w, int who)
{
    struct actor *a = &w->actors[who];
    bool over = a->stage == STAGE_OVER;
    if (a->doing == CLEANS && over && a->then == BEGINS) {
        begin_request(m, w, who);
        return;
    }
    unlock(w, who);
    if (who == CLEANER)
        a->doing = WANTS;
    else if (a->doing == BEGINS && a->stage == STAGE_ACTIVE)
        a->doing = KEEPS;
    else if (a->doing == ENDS && !over)
        a->doing = WANTS_END;
    else
        a->doing = GONE;
}

static void play_mark(struct model *m, const struct changing *w, int who, enum step step)
{
    struct changing next = *w;
    struct actor *a = &next.actors[who];
    if (step == GOING_BACK && !w->lost && owner_now(m, w, &a->memory) != VALUE_OURS) {
        a->dropped = 1;
        went(m, a, EVENT_DONE);
        emit(m, &next, "drops what is not ours", who);
        return;
    }
    uint8_t before = a->memory.step;
    a->memory.step = (uint8_t)step;
    struct change record = a->memory;
    if (w->full) {
        if (step != GOING_BACK)
            a->memory.step = before;
        went(m, a, EVENT_FAILED);
        emit(m, &next, "cannot write the journal", who);
        next.journal[a->on] = record; /* only the last sync failed */
        emit(m, &next, "writes the journal, and is told that it failed", who);
        return;
    }
    next.journal[a->on] = record;
    went(m, a, EVENT_DONE);
    emit(m, &next, "writes the journal", who);
}

static void play_set(struct model *m, const struct changing *w, int who)
{
    for (int rounded = 0; rounded < 2; rounded++) {
        struct changing next = *w;
        struct actor *a = &next.actors[who];
        uint8_t value = (uint8_t)((a->on ? ASKED_1 : ASKED_0) + rounded);
        if (a->half && (w->lost || !is_of(w->part[0], a->on)))
            went(m, a, EVENT_FAILED);
        else if (a->half) {
            if (w->part[0] != value)
                continue;
            next.part[1] = value;
            a->memory.asked = value;
            went(m, a, EVENT_DONE);
        } else if (w->lost || w->part[0] != a->memory.before || w->part[1] != a->memory.before)
            went(m, a, EVENT_FAILED);
        else {
            next.part[0] = value; /* the person wants it, and what was there is written down */
            if (m->parts == 1)
                next.part[1] = value;
            a->half = 1;
        }
        emit(m, &next, a->half ? "sets a part" : "has set it, or not", who);
    }
}

static void play_restore(struct model *m, const struct changing *w, int who)
{
    struct changing next = *w;
    struct actor *a = &next.actors[who];
    if (a->dropped)
        went(m, a, EVENT_DONE);
    else if (w->lost)
        went(m, a, EVENT_FAILED);
    else if (a->half) {
        write_part(m, &next, 1, a->memory.before);
        went(m, a, EVENT_DONE);
    } else if (owner_now(m, w, &a->memory) != VALUE_OURS)
        went(m, a, EVENT_DONE);
    else {
        write_part(m, &next, 0, a->memory.before);
        a->half = 1;
    }
    emit(m, &next, a->half ? "restores a part" : "has restored it, or not", who);
}

static void play_action(struct model *m, const struct changing *w, int who)
{
    struct changing next = *w;
    struct actor *a = &next.actors[who];
    switch ((enum lease_action)a->action) {
    case ACTION_READ:
        a->memory = (struct change){.before = w->part[0], .asked = a->on ? ASKED_1 : ASKED_0};
        went(m, a, w->lost || w->part[0] != w->part[1] ? EVENT_FAILED : EVENT_DONE);
        emit(m, &next, "reads", who);
        break;
    case ACTION_MARK_WRITTEN: play_mark(m, w, who, WRITTEN); break;
    case ACTION_MARK_ACTIVE: play_mark(m, w, who, MADE_ACTIVE); break;
    case ACTION_MARK_RESTORING: play_mark(m, w, who, GOING_BACK); break;
    case ACTION_SET: play_set(m, w, who); break;
    case ACTION_RESTORE: play_restore(m, w, who); break;
    case ACTION_REMOVE:
        next.journal[a->on] = (struct change){0};
        went(m, a, EVENT_DONE);
        emit(m, &next, "removes its record", who);
        break;
    default: rest(m, &next, who); emit(m, &next, "rests", who);
    }
}

/* lease_set_look(): is everything as we set it? */
static void play_look(struct model *m, const struct changing *w, int who)
{
    struct changing next = *w;
    struct actor *a = &next.actors[who];
    enum value_owner owner = w->lost ? VALUE_OURS : owner_now(m, w, &a->memory);
    bool parts = w->part[0] != w->part[1];
    if (w->lost)
        a->upset = 1;
    else if (owner == VALUE_OURS && !parts)
        a->upset = 0;
    else if (!a->upset || owner == VALUE_FOREIGN)
        a->doing = WANTS_END;
    else if (!parts) {
        write_part(m, &next, 0, a->memory.asked);
        write_part(m, &next, 1, a->memory.asked);
        a->upset = 0;
    }
    if (memcmp(&next, w, sizeof next) != 0)
        emit(m, &next, "looks", who);
}

static void play_actor(struct model *m, const struct changing *w, int who)
{
    struct changing next = *w;
    struct actor *a = &next.actors[who];
    switch ((enum doing)a->doing) {
    case UNBORN:
        a->doing = WANTS;
        if (!m->settling)
            emit(m, &next, "begins", who);
        break;
    case WANTS:
        if (w->lock)
            break;
        next.lock = (uint8_t)(who + 1);
        if (who == CLEANER) {
            int lease = is_over(w, 0) ? 0 : is_over(w, 1) ? 1 : -1;
            if (lease < 0)
                break;
            begin_record(m, &next, who, lease, CLEANS);
        } else
            begin_request(m, &next, who);
        emit(m, &next, "takes the lock", who);
        break;
    case KEEPS:
        play_look(m, w, who);
        a->doing = WANTS_END;
        emit(m, &next, "shall end", who);
        break;
    case WANTS_END:
        if (w->lock && !w->lost && owner_now(m, w, &a->memory) == VALUE_OURS) {
            write_part(m, &next, 0, a->memory.before);
            write_part(m, &next, 1, a->memory.before);
            emit(m, &next, "restores without the lock", who);
        } else if (!w->lock) {
            next.lock = (uint8_t)(who + 1);
            begin_record(m, &next, who, who, ENDS);
            emit(m, &next, "takes the lock to end", who);
        }
        break;
    case GONE: break;
    default: play_action(m, w, who);
    }
}

static bool between_parts(const struct changing *w)
{
    return w->actors[0].half || w->actors[1].half || w->actors[2].half;
}

static void lose_values(struct changing *w)
{
    w->part[0] = w->part[1] = w->truth = STOCK;
}

static void play_faults(struct model *m, const struct changing *w)
{
    struct changing next = *w;
    next.faults++;
    const struct changing base = next;
    for (int i = 0; i < PROCESSES; i++) {
        if (w->actors[i].doing == UNBORN || w->actors[i].doing == GONE || (i == CLEANER && w->actors[i].doing == WANTS))
            continue;
        next = base;
        next.actors[i] = (struct actor){.doing = i == CLEANER ? WANTS : GONE};
        unlock(&next, i);
        emit(m, &next, "is killed", i);
    }
    next = base;
    /* Once: who sets again what was there before can't be told from a GPU that forgot ours. */
    if (!w->lost && !between_parts(w) && !w->meddled) {
        next.meddled = 1;
        next.part[0] = next.part[1] = next.truth = THEIRS;
        emit(m, &next, "another program sets it", 9);
    }
    next = base;
    next.lost = !w->lost;
    emit(m, &next, w->lost ? "the GPU is back" : "the GPU is lost", 9);
    if (w->lost && !between_parts(w)) {
        lose_values(&next);
        emit(m, &next, "the GPU is back, and has forgotten", 9);
    }
    next = base;
    next.full = !w->full;
    emit(m, &next, w->full ? "the disk has room" : "the disk is full", 9);
    next = base;
    if (!w->lock || w->lock == HOG) {
        next.lock = w->lock ? 0 : HOG;
        emit(m, &next, w->lock ? "a hung process gives the lock back" : "a hung process holds the lock", 9);
    }
    next = base;
    for (int i = 0; i < 2; i++)
        next.actors[i].upset = next.actors[i].doing == KEEPS || next.actors[i].doing == WANTS_END;
    emit(m, &next, "the host sleeps", 9);
    lose_values(&next);
    if (!between_parts(w) && !w->lost)
        emit(m, &next, "the host sleeps, and the GPU forgets", 9);
    next = base;
    for (int i = 0; i < PROCESSES; i++)
        if (next.actors[i].doing != UNBORN)
            next.actors[i] = (struct actor){.doing = i == CLEANER ? WANTS : GONE};
    lose_values(&next);
    next.lock = next.lost = 0;
    emit(m, &next, "the host boots", 9);
}

static void changing_start(const struct model *m, void *world)
{
    (void)m;
    struct changing *w = world;
    w->actors[CLEANER].doing = WANTS;
}

static void changing_follow(struct model *m, const void *world)
{
    const struct changing *w = world;
    for (int i = 0; i < PROCESSES && !m->wrong; i++)
        play_actor(m, w, i);
    if (w->faults < m->fault_most && !m->wrong && !m->settling)
        play_faults(m, w);
}

static const char *changing_settle(struct model *m, void *world)
{
    struct changing *w = world;
    w->lost = w->full = 0;
    if (w->lock == HOG)
        w->lock = 0;
    for (int steps = 0;; steps++) {
        m->moved = false;
        changing_follow(m, w);
        if (m->wrong)
            return m->wrong;
        if (!m->moved)
            break;
        if (steps == 200)
            return "it never comes to rest";
        memcpy(w, m->next, sizeof *w);
    }
    if (w->journal[0].step || w->journal[1].step || w->lock)
        return "something waits forever";
    bool forgot = w->truth == STOCK && w->part[0] < ASKED_0; /* a lease may restore what was before the GPU forgot */
    return w->part[0] == w->part[1] && (w->part[0] == w->truth || forgot) ? NULL : "a setting is left changed";
}

static const struct model_ops changing_ops = {sizeof(struct changing), changing_start, changing_follow, changing_settle};

static void all_is_well(struct model *m, size_t worlds_least)
{
    const char *wrong = explore(m);
    if (wrong)
        fail_msg("%s:\n%s", wrong, m->trace);
    if (m->count < worlds_least)
        fail_msg("only %zu worlds", m->count);
}

/* ---- GPUs: three requests for the memory of one ---- */

enum { ASKERS = 3, UNITS = 2 };
static const uint8_t sizes[ASKERS] = {2, 1, 1};
enum record { NOT_RECORDED, WAITS, HAS };
enum room_step { TO_SAMPLE, TO_LOCK, TO_JUDGE };

struct asker {
    uint8_t born, alive, stage, action, step;
    uint8_t record, ticket, granted;
    uint8_t runs, uses;                 /* its program */
    uint8_t sampled_free, sampled_uses; /* what it saw of the GPU, perhaps long ago */
};

struct sharing {
    uint8_t lock, full, faults;
    struct asker askers[ASKERS];
};
_Static_assert(sizeof(struct sharing) <= WORLD_SIZE, "a world must fit");

/* A record counts as long as a process has it open: the command, or the program that inherited it. */
static bool lives(const struct asker *a)
{
    struct lease l = {.kind = LEASE_RUN, .state = a->record == WAITS ? LEASE_WAITING : LEASE_ACTIVE};
    return a->record != NOT_RECORDED && !lease_over(&l, &(struct lease_life){.held = a->alive || a->runs});
}

static void describe(struct lease *l, const struct sharing *w, int who, const struct asker *seen_by)
{
    const struct asker *a = &w->askers[who];
    snprintf(l->id, sizeof l->id, "lease%d", who);
    l->kind = LEASE_RUN;
    l->state = a->record == HAS ? LEASE_ACTIVE : LEASE_WAITING;
    l->uid = who;
    l->gpus_wanted = 1;
    l->mem_bytes = sizes[who];
    l->ticket = a->ticket;
    l->gpu_count = a->record == HAS;
    snprintf(l->gpus[0].uuid, sizeof l->gpus[0].uuid, "GPU-0");
    l->gpus[0].used_bytes = reading_ok(seen_by->sampled_uses >> who & 1 ? sizes[who] : 0);
}

static size_t list_leases(const struct sharing *w, const struct asker *seen_by, struct lease *list)
{
    size_t count = 0;
    for (int ticket = 0; ticket <= 2 * ASKERS; ticket++)
        for (int i = 0; i < ASKERS; i++)
            if (w->askers[i].ticket == ticket && lives(&w->askers[i]))
                describe(&list[count++], w, i, seen_by);
    return count;
}

static enum lease_event find_room(const struct sharing *w, int who)
{
    static struct lease list[ASKERS], wish;
    static struct room_answer answer;
    const struct asker *a = &w->askers[who];
    struct capacity_gpu card = {.instance = -1, .usable = true};
    snprintf(card.id.uuid, sizeof card.id.uuid, "GPU-0");
    card.total_bytes = reading_ok(UNITS);
    card.free_bytes = reading_ok(a->sampled_free);
    size_t count = list_leases(w, a, list);
    describe(&wish, w, who, a);
    wish.state = LEASE_WAITING;
    wish.gpu_count = 0;
    room_find(&wish, list, count, &(struct room_gpu){.card = &card}, 1, (struct wall){1}, &answer);
    return answer.verdict == ROOM_GRANTED ? EVENT_DONE : answer.verdict == ROOM_WAITS ? EVENT_FULL : EVENT_FAILED;
}

static bool is_first(const struct sharing *w, int who)
{
    static struct lease list[ASKERS], wish;
    describe(&wish, w, who, &w->askers[who]);
    wish.gpu_count = 0;
    return !room_before(&wish, list, list_leases(w, &w->askers[who], list));
}

static void emit_room(struct model *m, const struct sharing *w, const char *what, int who)
{
    int promised = 0;
    for (int i = 0; i < ASKERS; i++)
        if (w->askers[i].runs || (w->askers[i].record == HAS && lives(&w->askers[i])))
            promised += sizes[i];
    if (promised > UNITS)
        m->wrong = "room is promised twice";
    found(m, w, what, who);
}

static void asker_went(const struct model *m, struct sharing *w, int who, enum lease_event event)
{
    struct asker *a = &w->askers[who];
    a->action = (uint8_t)model_next(m, &a->stage, event);
    a->step = TO_SAMPLE;
    a->sampled_free = a->sampled_uses = 0;
    if (a->action == ACTION_REST || a->action == ACTION_AWAIT || (m->loose_lock && a->action == ACTION_START))
        w->lock = w->lock == who + 1 ? 0 : w->lock;
    if (a->stage == STAGE_OVER)
        a->alive = 0;
}

static void play_decide(struct model *m, const struct sharing *w, int who)
{
    struct sharing next = *w;
    struct asker *a = &next.askers[who];
    if (a->step == TO_SAMPLE) {
        a->sampled_free = UNITS;
        for (int i = 0; i < ASKERS; i++) {
            a->sampled_free = (uint8_t)(a->sampled_free - (w->askers[i].uses ? sizes[i] : 0));
            a->sampled_uses = (uint8_t)(a->sampled_uses | w->askers[i].uses << i);
        }
        a->step = TO_LOCK;
        emit_room(m, &next, "looks at the GPU", who);
    } else if (a->step == TO_LOCK && w->lock == HOG) {
        asker_went(m, &next, who, EVENT_FAILED);
        emit_room(m, &next, "gives up waiting for the lock", who);
    } else if (a->step == TO_LOCK && !w->lock) {
        next.lock = (uint8_t)(who + 1);
        a->step = TO_JUDGE;
        emit_room(m, &next, "takes the lock", who);
    } else if (a->step == TO_JUDGE) {
        for (int i = 0; i < ASKERS; i++)
            if (!lives(&next.askers[i])) {
                next.askers[i].record = NOT_RECORDED;
                next.askers[i].ticket = 0;
            }
        enum lease_event event = find_room(&next, who);
        for (int i = 0; i < ASKERS && event == EVENT_DONE; i++)
            if (i != who && next.askers[i].record == WAITS && (!a->ticket || next.askers[i].ticket < a->ticket))
                m->wrong = "who came later is served first";
        asker_went(m, &next, who, event);
        emit_room(m, &next, event == EVENT_DONE ? "finds room" : "finds no room", who);
    }
}

/* Records it; of a failed write, either may be on the disk. */
static void play_record(struct model *m, const struct sharing *w, int who, enum record record)
{
    uint8_t last = 0;
    for (int i = 0; i < ASKERS; i++)
        last = MAX_OF(last, w->askers[i].ticket);
    for (int written = !w->full; written < 2; written++) {
        struct sharing next = *w;
        struct asker *a = &next.askers[who];
        if (written) {
            a->record = (uint8_t)record;
            a->ticket = a->ticket ? a->ticket : (uint8_t)(last + 1);
        }
        a->runs = record == HAS && !w->full;
        a->granted |= a->runs;
        asker_went(m, &next, who, w->full ? EVENT_FAILED : EVENT_DONE);
        emit_room(m, &next, record == HAS ? "starts its program" : "joins the queue", who);
    }
}

static void play_asker(struct model *m, const struct sharing *w, int who)
{
    struct sharing next = *w;
    struct asker *a = &next.askers[who];
    if (w->askers[who].runs) {
        a->uses = !a->uses;
        a->runs = a->uses;
        emit_room(m, &next, a->runs ? "uses its memory" : "has ended", who);
        next = *w;
    }
    if (!a->born && !m->settling) {
        a->born = a->alive = 1;
        asker_went(m, &next, who, EVENT_ASK);
        emit_room(m, &next, "asks", who);
    } else if (a->alive && a->action == ACTION_DECIDE)
        play_decide(m, w, who);
    else if (a->alive && (a->action == ACTION_JOIN || a->action == ACTION_START))
        play_record(m, w, who, a->action == ACTION_JOIN ? WAITS : HAS);
    else if (a->alive && a->action == ACTION_AWAIT) {
        if (is_first(w, who)) {
            asker_went(m, &next, who, EVENT_DONE);
            emit_room(m, &next, "is the first in line", who);
        }
        next = *w;
        asker_went(m, &next, who, EVENT_END);
        if (!m->settling)
            emit_room(m, &next, "gives up", who);
    } else if (a->alive && a->action == ACTION_LEAVE) {
        a->record = NOT_RECORDED;
        a->ticket = 0;
        asker_went(m, &next, who, EVENT_DONE);
        emit_room(m, &next, "removes its record", who);
    } else if (a->alive && a->stage == STAGE_HELD && !a->runs) {
        asker_went(m, &next, who, EVENT_END);
        emit_room(m, &next, "has seen the end of its program", who);
    }
}

static void play_room_faults(struct model *m, const struct sharing *w)
{
    struct sharing next = *w;
    next.faults++;
    const struct sharing base = next;
    for (int i = 0; i < ASKERS; i++) {
        next = base;
        next.lock = w->lock == i + 1 ? 0 : w->lock;
        next.askers[i].alive = 0;
        if (w->askers[i].alive)
            emit_room(m, &next, "is killed, and not its program", i);
        next.askers[i].runs = next.askers[i].uses = 0;
        if (w->askers[i].alive && w->askers[i].runs)
            emit_room(m, &next, "is killed with its program", i);
    }
    next = base;
    next.full = !w->full;
    emit_room(m, &next, w->full ? "the disk has room" : "the disk is full", 9);
    next = base;
    if (!w->lock || w->lock == HOG) {
        next.lock = w->lock ? 0 : HOG;
        emit_room(m, &next, w->lock ? "the lock is given back" : "a hostile user holds the lock", 9);
    }
}

static void sharing_start(const struct model *m, void *world)
{
    (void)m, (void)world;
}

static void sharing_follow(struct model *m, const void *world)
{
    const struct sharing *w = world;
    for (int i = 0; i < ASKERS && !m->wrong; i++)
        play_asker(m, w, i);
    if (w->faults < m->fault_most && !m->wrong && !m->settling)
        play_room_faults(m, w);
}

static const char *sharing_settle(struct model *m, void *world)
{
    struct sharing *w = world;
    w->full = 0;
    if (w->lock == HOG)
        w->lock = 0;
    for (int steps = 0;; steps++) {
        m->moved = false;
        /* In turns: the first in line looks again and again until another's program has ended. */
        for (int i = 0; i < ASKERS && !m->moved && !m->wrong; i++)
            play_asker(m, w, (steps + i) % ASKERS);
        if (m->wrong)
            return m->wrong;
        if (!m->moved)
            break;
        if (steps == 300)
            return "it never comes to rest";
        memcpy(w, m->next, sizeof *w);
    }
    for (int i = 0; i < ASKERS; i++)
        if (w->askers[i].alive || lives(&w->askers[i]))
            return "something waits forever";
    return w->lock ? "the lock is never given back" : NULL;
}

static const struct model_ops sharing_ops = {sizeof(struct sharing), sharing_start, sharing_follow, sharing_settle};

/* ---- the tests ---- */

static void a_setting_is_never_left_changed_nor_anothers_value_overwritten(void **state)
{
    (void)state;
    for (int parts = 1; parts <= 2; parts++) {
        AUTO_MODEL struct model m = model_of(&changing_ops, 3, parts);
        all_is_well(&m, 10000);
        if (getenv("WHIRR_MODEL_WORLDS"))
            fprintf(stderr, "%zu worlds\n", m.count);
    }
}

static void room_is_never_promised_twice_and_no_one_waits_forever(void **state)
{
    (void)state;
    AUTO_MODEL struct model m = model_of(&sharing_ops, 2, 1);
    all_is_well(&m, 10000);
    if (getenv("WHIRR_MODEL_WORLDS"))
        fprintf(stderr, "%zu worlds\n", m.count);
}

/* ---- seeded faults: each is found ---- */

static void change_rule(struct model *m, enum lease_stage stage, enum lease_event event, enum lease_stage next,
                        enum lease_action action)
{
    for (size_t i = 0; i < lease_rule_count; i++)
        if (m->rules[i].stage == stage && m->rules[i].event == event) {
            m->rules[i].next = next;
            m->rules[i].action = action;
            return;
        }
    fail_msg("there is no such rule");
}

static void must_find(struct model *m, const char *what)
{
    const char *wrong = explore(m);
    if (!wrong || strcmp(wrong, what) != 0)
        fail_msg("found: %s\n%s", wrong ? wrong : "nothing", wrong ? m->trace : "");
}

static void wrong_rules_are_found(void **state)
{
    (void)state;
    static const struct {
        struct lease_rule rule;
        const char *found;
        bool gpus;
    } seeded[] = {
        {{STAGE_READING, EVENT_DONE, STAGE_SETTING, ACTION_SET}, "a setting is changed, and the journal does not know"},
        {{STAGE_SETTING, EVENT_FAILED, STAGE_REMOVING, ACTION_REMOVE}, "a setting is changed, and the journal does not know"},
        {{STAGE_KEEPING, EVENT_FAILED, STAGE_REMOVING, ACTION_REMOVE}, "a setting is changed, and the journal does not know"},
        {{STAGE_ACTIVE, EVENT_END, STAGE_REMOVING, ACTION_REMOVE}, "a setting is changed, and the journal does not know"},
        {{STAGE_MARKING, EVENT_FAILED, STAGE_REMOVING, ACTION_REMOVE}, "a setting is changed, and the journal does not know"},
        {{STAGE_RESTORING, EVENT_FAILED, STAGE_REMOVING, ACTION_REMOVE}, "a setting is changed, and the journal does not know"},
        {{STAGE_RESTORING, EVENT_DONE, STAGE_OVER, ACTION_REST}, "it never comes to rest"},
        {{STAGE_RESTORING, EVENT_END, STAGE_RESTORING, ACTION_REST}, "it never comes to rest"},
        {{STAGE_DECIDING, EVENT_FULL, STAGE_STARTING, ACTION_START}, "room is promised twice", true},
        {{STAGE_QUEUED, EVENT_DONE, STAGE_STARTING, ACTION_START}, "room is promised twice", true},
        {{STAGE_TURN, EVENT_FULL, STAGE_STARTING, ACTION_START}, "room is promised twice", true},
        {{STAGE_TURN, EVENT_FULL, STAGE_QUEUED, ACTION_REST}, "something waits forever", true},
        {{STAGE_HELD, EVENT_END, STAGE_HELD, ACTION_REST}, "it never comes to rest", true},
    };
    for (size_t i = 0; i < ARRAY_LEN(seeded); i++) {
        const struct lease_rule *r = &seeded[i].rule;
        AUTO_MODEL struct model m = model_of(seeded[i].gpus ? &sharing_ops : &changing_ops, 2, 1);
        change_rule(&m, r->stage, r->event, r->next, r->action);
        must_find(&m, seeded[i].found);
    }
}

/* As the rule was before: at "written" and "restoring", whatever the GPU has is ours. */
static enum value_owner all_ours_unless_finished(const struct lease_value *v, int rc, const struct control_state *now)
{
    enum value_owner owner = lease_value_owner(v, rc, now);
    return v->unfinished && owner != VALUE_BEFORE ? VALUE_OURS : owner;
}

static enum value_owner all_ours(const struct lease_value *v, int rc, const struct control_state *now)
{
    enum value_owner owner = lease_value_owner(v, rc, now);
    return owner == VALUE_BEFORE ? owner : VALUE_OURS;
}

static enum value_owner only_exact_ones(const struct lease_value *v, int rc, const struct control_state *now)
{
    struct lease_value finished = *v;
    finished.unfinished = false;
    return lease_value_owner(&finished, rc, now);
}

static void wrong_owners_are_found(void **state)
{
    (void)state;
    enum value_owner (*const owners[])(const struct lease_value *, int, const struct control_state *) = {all_ours_unless_finished,
                                                                                                         all_ours, only_exact_ones};
    for (size_t i = 0; i < ARRAY_LEN(owners); i++) {
        AUTO_MODEL struct model m = model_of(&changing_ops, 2, 1);
        m.owner = owners[i];
        must_find(&m, owners[i] == only_exact_ones ? "a setting is changed, and the journal does not know"
                                                   : "a value of another program is overwritten");
    }
}

static void a_lock_given_back_too_early_is_found(void **state)
{
    (void)state;
    AUTO_MODEL struct model m = model_of(&sharing_ops, 0, 1);
    m.loose_lock = true;
    must_find(&m, "room is promised twice");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_setting_is_never_left_changed_nor_anothers_value_overwritten),
        TEST(room_is_never_promised_twice_and_no_one_waits_forever),
        TEST(wrong_rules_are_found),
        TEST(wrong_owners_are_found),
        TEST(a_lock_given_back_too_early_is_found),
    };
    return RUN_TESTS(tests);
}
