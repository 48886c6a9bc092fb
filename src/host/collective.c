/* SPDX-License-Identifier: Apache-2.0
 * A dump read in one pass: the pairs of a dict are read when they are put into it, and nothing is built.
 *
 *   stack  ... dict MARK "collective_seq_id" 4711 "state" "started" ...   SETITEMS  ─▶  group_trace
 */
#include "host/collective.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

enum { STACK_MAX = 1 << 18, MEMO_MAX = 1 << 19, NUMBER_MAX = INT32_MAX, RANK_MAX = 1 << 20, WINS_LEAST = 3, NEWEST = 8 };

/* ---- the pickle ---- */

enum pickled_kind { VALUE_OTHER, VALUE_MARK, VALUE_INT, VALUE_TEXT };

struct pickled {
    enum pickled_kind kind;
    uint32_t len;   /* of a text */
    int64_t number; /* of a text: where it begins */
};

struct unpickler {
    struct str in;
    size_t at;
    struct pickled *stack, *memo;
    size_t depth, memo_count;
    bool failed;
    struct rank_trace *ret;
};

static uint64_t take(struct unpickler *u, size_t bytes)
{
    uint64_t number = 0;
    if (u->in.len - u->at < bytes) {
        u->failed = true;
        return 0;
    }
    for (size_t i = 0; i < bytes; i++)
        number |= (uint64_t)(unsigned char)u->in.at[u->at + i] << (8 * i);
    u->at += bytes;
    return number;
}

static void push(struct unpickler *u, struct pickled v)
{
    if (u->depth == MIN_OF(u->in.len, (size_t)STACK_MAX))
        u->failed = true;
    else
        u->stack[u->depth++] = v;
}

static void push_int(struct unpickler *u, int64_t number)
{
    push(u, (struct pickled){.kind = VALUE_INT, .number = number});
}

static void push_other(struct unpickler *u)
{
    push(u, (struct pickled){0});
}

static void push_text(struct unpickler *u, uint64_t len)
{
    if (u->failed || len > u->in.len - u->at) {
        u->failed = true;
        return;
    }
    push(u, (struct pickled){.kind = VALUE_TEXT, .len = (uint32_t)len, .number = (int64_t)u->at});
    u->at += len;
}

static void pop(struct unpickler *u, size_t count)
{
    u->failed |= u->depth < count;
    u->depth -= MIN_OF(count, u->depth);
}

/* The index after the last mark. */
static size_t after_mark(struct unpickler *u)
{
    size_t i = u->depth;
    while (i > 0 && u->stack[i - 1].kind != VALUE_MARK)
        i--;
    u->failed |= i == 0;
    return i;
}

/* Of a tuple its first text stays: (name, description) of a process group. */
static void fold(struct unpickler *u, size_t from)
{
    struct pickled first = from < u->depth && u->stack[from].kind == VALUE_TEXT ? u->stack[from] : (struct pickled){0};
    pop(u, u->depth - MIN_OF(from, u->depth));
    push(u, first);
}

static void put(struct unpickler *u, uint64_t id)
{
    if (u->failed || !u->depth || id > u->memo_count || id >= MIN_OF(u->in.len, (size_t)MEMO_MAX)) {
        u->failed = true;
        return;
    }
    u->memo[id] = u->stack[u->depth - 1];
    u->memo_count += id == u->memo_count;
}

static void get(struct unpickler *u, uint64_t id)
{
    if (id < u->memo_count)
        push(u, u->memo[id]);
    else
        u->failed = true;
}

static struct str text_of(const struct unpickler *u, const struct pickled *v)
{
    return v->kind == VALUE_TEXT ? (struct str){u->in.at + v->number, v->len} : (struct str){0};
}

/* Letters, digits and '_' of what follows the last colon: "all_reduce" of "nccl:all_reduce". */
static void copy_name(char to[COLLECTIVE_NAME_SIZE], struct str text)
{
    const char *colon = text.len ? memrchr(text.at, ':', text.len) : NULL;
    size_t len = 0;
    for (const char *c = colon ? colon + 1 : text.at; text.len && c < text.at + text.len && len + 1 < COLLECTIVE_NAME_SIZE; c++)
        if ((*c >= '0' && *c <= '9') || ((*c | 32) >= 'a' && (*c | 32) <= 'z') || *c == '_')
            to[len++] = *c;
    to[len] = '\0';
}

static struct group_trace *group_of(struct rank_trace *t, const char *name)
{
    for (size_t i = 0; i < t->count; i++)
        if (strcmp(t->groups[i].group, name) == 0)
            return &t->groups[i];
    if (t->count == COLLECTIVE_GROUPS_MAX)
        return NULL;
    struct group_trace *g = &t->groups[t->count++];
    *g = (struct group_trace){.entered = -1, .open = -1};
    str_copy(g->group, sizeof g->group, str_from(name));
    return g;
}

/* An entry of the trace, or a group of which the rank is a member. */
static void take_pairs(struct unpickler *u, size_t from)
{
    struct str group = {0}, op = {0}, state = {0}, ranks = {0};
    int64_t number = -1, p2p = 0;
    for (size_t i = from; i + 1 < u->depth; i += 2) {
        struct str key = text_of(u, &u->stack[i]), text = text_of(u, &u->stack[i + 1]);
        bool is_int = u->stack[i + 1].kind == VALUE_INT;
        if (str_is(key, "collective_seq_id") && is_int)
            number = u->stack[i + 1].number;
        else if (str_is(key, "is_p2p") && is_int)
            p2p = u->stack[i + 1].number;
        else if (str_is(key, "process_group") || str_is(key, "name"))
            group = text;
        else if (str_is(key, "profiling_name"))
            op = text;
        else if (str_is(key, "state"))
            state = text;
        else if (str_is(key, "ranks"))
            ranks = text;
    }
    char name[COLLECTIVE_NAME_SIZE];
    copy_name(name, group);
    bool entry = number >= 0 && number <= NUMBER_MAX && !p2p && op.len && state.len;
    struct group_trace *g = group.len && (entry || ranks.len) ? group_of(u->ret, name) : NULL;
    if (!g || !entry)
        return;
    g->entered = MAX_OF(g->entered, number);
    if (str_is(state, "completed") || (g->open >= 0 && g->open <= number))
        return;
    g->open = number;
    g->started = str_is(state, "started");
    copy_name(g->op, op);
}

static void skip_line(struct unpickler *u)
{
    const char *end = memchr(u->in.at + u->at, '\n', u->in.len - u->at);
    u->failed |= !end;
    u->at = end ? (size_t)(end - u->in.at) + 1 : u->in.len;
}

/* The subset that torch's pickler and Python's write for numbers, texts, lists and dicts. Calls are folded away. */
static bool step(struct unpickler *u)
{
    enum { LONG_MAX_BYTES = 8 };
    size_t mark;
    uint64_t n;
    unsigned char code = (unsigned char)take(u, 1);
    switch (code) {
    case '.': return false;
    case 0x80: take(u, 1); break;
    case 0x95: take(u, 8); break;
    case '(': push(u, (struct pickled){.kind = VALUE_MARK}); break;
    case '}':
    case ']':
    case ')':
    case 'N': push_other(u); break;
    case 'K': push_int(u, (int64_t)take(u, 1)); break;
    case 'M': push_int(u, (int64_t)take(u, 2)); break;
    case 'J': push_int(u, (int32_t)take(u, 4)); break;
    case 0x8a:
        n = take(u, 1);
        u->failed |= n > LONG_MAX_BYTES;
        push_int(u, u->failed ? 0 : (int64_t)take(u, (size_t)n));
        break;
    case 0x88:
    case 0x89: push_int(u, code == 0x88); break;
    case 'G':
        take(u, 8);
        push_other(u);
        break;
    case 'X': push_text(u, take(u, 4)); break;
    case 0x8c: push_text(u, take(u, 1)); break;
    case 'q': put(u, take(u, 1)); break;
    case 'r': put(u, take(u, 4)); break;
    case 0x94: put(u, u->memo_count); break;
    case 'h': get(u, take(u, 1)); break;
    case 'j': get(u, take(u, 4)); break;
    case 't':
        mark = after_mark(u);
        fold(u, mark);
        if (!u->failed) { /* the mark lies below */
            u->stack[u->depth - 2] = u->stack[u->depth - 1];
            pop(u, 1);
        }
        break;
    case 0x85:
    case 0x86:
    case 0x87:
        n = code - 0x84u;
        u->failed |= u->depth < n;
        fold(u, u->depth - MIN_OF((size_t)n, u->depth));
        break;
    case 'a': pop(u, 1); break;
    case 'e':
    case 'u':
        mark = after_mark(u);
        if (code == 'u' && !u->failed)
            take_pairs(u, mark);
        pop(u, u->depth - mark + 1);
        break;
    case 's':
        if (u->depth >= 2)
            take_pairs(u, u->depth - 2);
        pop(u, 2);
        break;
    case 'c':
        skip_line(u);
        skip_line(u);
        push_other(u);
        break;
    case 0x93:
    case 'R':
        pop(u, 2);
        push_other(u);
        break;
    default: u->failed = true;
    }
    return !u->failed;
}

int flight_parse(struct str pickle, struct rank_trace *ret)
{
    AUTO_FREE struct pickled *stack = malloc((MIN_OF(pickle.len, (size_t)STACK_MAX) + 1) * sizeof *stack);
    AUTO_FREE struct pickled *memo = malloc((MIN_OF(pickle.len, (size_t)MEMO_MAX) + 1) * sizeof *memo);
    struct unpickler u = {.in = pickle, .stack = stack, .memo = memo, .ret = ret};
    ret->count = 0;
    if (!stack || !memo)
        return -ENOMEM;
    if (!pickle.len || pickle.at[0] != '\x80')
        return -EINVAL;
    while (step(&u))
        ;
    return u.failed || !ret->count ? -EINVAL : 0;
}

/* ---- who is late, by the dumps ---- */

static const struct group_trace *trace_of(const struct rank_trace *t, const char *group)
{
    for (size_t i = 0; i < t->count; i++)
        if (strcmp(t->groups[i].group, group) == 0)
            return &t->groups[i];
    return NULL;
}

/* In another group than this one. */
static bool waits_elsewhere(const struct rank_trace *t, const char *group)
{
    for (size_t i = 0; i < t->count; i++)
        if (t->groups[i].open >= 0 && strcmp(t->groups[i].group, group) != 0)
            return true;
    return false;
}

struct group_state {
    const struct group_trace *open; /* the oldest open collective, started if it is anywhere */
    const struct rank_trace *last,
        *other_op; /* of those that are behind, the one furthest behind; one that called something else */
    size_t members, behind;
};

/* Behind is who has not enqueued it; else whose GPU has not started it while others' have. */
static bool is_behind(const struct group_trace *g, const struct group_trace *open, bool on_gpu)
{
    return on_gpu ? g->open == open->open && open->started && !g->started : g->entered < open->open;
}

static void look_at_group(const struct rank_trace *list, size_t count, const char *group, struct group_state *ret)
{
    const struct group_trace *g;
    *ret = (struct group_state){0};
    for (size_t i = 0; i < count; i++)
        if ((g = trace_of(&list[i], group)) && ++ret->members && g->open >= 0 &&
            (!ret->open || g->open < ret->open->open || (g->open == ret->open->open && g->started > ret->open->started)))
            ret->open = g;
    for (int on_gpu = 0; ret->open && on_gpu < 2 && !ret->behind; on_gpu++)
        for (size_t i = 0; i < count; i++) {
            if (!(g = trace_of(&list[i], group)))
                continue;
            if (g->open == ret->open->open && strcmp(g->op, ret->open->op) != 0)
                ret->other_op = &list[i];
            if (!is_behind(g, ret->open, on_gpu))
                continue;
            ret->behind++;
            if (!ret->last || g->entered < trace_of(ret->last, group)->entered)
                ret->last = &list[i];
        }
}

static void say_late(const struct group_state *s, const struct group_trace *last, struct collective_told *ret)
{
    char others[48] = " has";
    if (s->behind > 1)
        snprintf(others, sizeof others, " and %zu more have", s->behind - 1);
    ret->late_rank = s->last->rank;
    if (last->entered >= s->open->open)
        snprintf(ret->text, sizeof ret->text, "the GPU of rank %lld%s not started %s %lld", (long long)s->last->rank, others,
                 s->open->op, (long long)s->open->open);
    else if (last->entered < 0)
        snprintf(ret->text, sizeof ret->text, "rank %lld%s not come to %s %lld, or to any before", (long long)s->last->rank, others,
                 s->open->op, (long long)s->open->open);
    else
        snprintf(ret->text, sizeof ret->text, "rank %lld%s not come to %s %lld: its last is %lld", (long long)s->last->rank, others,
                 s->open->op, (long long)s->open->open, (long long)last->entered);
}

/* The one rank of all that wrote nothing; -1: none, or several. */
static int64_t rank_without(const struct rank_trace *list, size_t count, int64_t world)
{
    int64_t rest = world * (world - 1) / 2;
    for (size_t i = 0; i < count; i++)
        rest -= list[i].rank;
    return world > 2 && (int64_t)count == world - 1 && rest >= 0 && rest < world ? rest : -1;
}

/* Returns whether nothing better can follow: a late rank that itself waits in no other group. */
static bool judge_group(const struct rank_trace *list, size_t count, int64_t world, const char *group, struct collective_told *ret)
{
    struct group_state s;
    look_at_group(list, count, group, &s);
    if (!s.open || s.members < 2)
        return false;
    if (s.behind) {
        bool root = !waits_elsewhere(s.last, group);
        if (root || ret->late_rank < 0)
            say_late(&s, trace_of(s.last, group), ret);
        return root;
    }
    if (ret->text[0])
        return false;
    int64_t silent = s.members == count ? rank_without(list, count, world) : -1;
    if (s.other_op) {
        ret->late_rank = s.other_op->rank;
        snprintf(ret->text, sizeof ret->text, "rank %lld called %s where others called %s (%lld)", (long long)s.other_op->rank,
                 trace_of(s.other_op, group)->op, s.open->op, (long long)s.open->open);
    } else if (silent >= 0) {
        ret->late_rank = silent;
        snprintf(ret->text, sizeof ret->text, "rank %lld wrote no trace; the other %zu are in %s %lld", (long long)silent, count,
                 s.open->op, (long long)s.open->open);
    } else
        snprintf(ret->text, sizeof ret->text, "%zu ranks are in %s %lld, none is behind", s.members, s.open->op,
                 (long long)s.open->open);
    return false;
}

void flight_judge(const struct rank_trace *list, size_t count, int64_t world, struct collective_told *ret)
{
    *ret = (struct collective_told){.late_rank = -1};
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < list[i].count; k++)
            if (judge_group(list, count, world, list[i].groups[k].group, ret))
                return;
}

/* ---- the Inspector ---- */

static int64_t whole(const json_t *object, const char *key, int64_t most)
{
    const json_t *value = json_object_get(object, key);
    json_int_t number = json_integer_value(value);
    return json_is_integer(value) && number >= 0 && number <= most ? (int64_t)number : -1;
}

static bool parse_line(struct str line, struct inspected *ret)
{
    AUTO_JSON json_t *root = json_loadb(line.at, line.len, JSON_REJECT_DUPLICATES, NULL);
    const json_t *header = json_object_get(root, "header"), *perf = json_object_get(root, "coll_perf");
    const char *id = json_string_value(json_object_get(header, "id"));
    double rate = json_number_value(json_object_get(perf, "coll_busbw_gbs"));
    *ret = (struct inspected){.communicator = id ? strtoull(id, NULL, 16) : 0,
                              .rank = whole(header, "rank", RANK_MAX),
                              .number = whole(perf, "coll_sn", NUMBER_MAX),
                              .bytes = whole(perf, "coll_msg_size_bytes", INT64_MAX),
                              .duration_us = whole(perf, "coll_exec_time_us", INT64_MAX / 1000),
                              .bytes_per_s = rate > 0 && rate < 1e6 ? (int64_t)(rate * 1e9) : 0,
                              .at_us = whole(json_object_get(root, "metadata"), "dump_timestamp_us", INT64_MAX)};
    copy_name(ret->op, str_from(json_string_value(json_object_get(perf, "coll"))));
    return ret->communicator && ret->op[0] && ret->rank >= 0 && ret->number >= 0 && ret->duration_us > 0;
}

size_t inspector_parse(struct str lines, struct inspected ret[INSPECTED_MAX])
{
    enum { LINE_LONGEST = 64 << 10 };
    size_t count = 0;
    struct str line;
    while (str_cut(&lines, '\n', &line)) {
        struct inspected one;
        if (line.len < 2 || line.len > LINE_LONGEST || !parse_line(line, &one))
            continue;
        if (count == INSPECTED_MAX) {
            memmove(ret, ret + INSPECTED_MAX / 4, (INSPECTED_MAX - INSPECTED_MAX / 4) * sizeof *ret);
            count -= INSPECTED_MAX / 4;
        }
        ret[count++] = one;
    }
    return count;
}

/* Each rank waits in these for every other: who was in it for the shortest time came last. */
static bool is_of_all(const char *op)
{
    static const char *const all[] = {"AllReduce", "AllGather", "ReduceScatter", "AlltoAll"};
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        if (strcasecmp(op, all[i]) == 0)
            return true;
    return false;
}

static const struct inspected *newest(const struct inspected *list, size_t count)
{
    const struct inspected *found = NULL;
    for (size_t i = 0; i < count; i++)
        if (is_of_all(list[i].op) && (!found || list[i].at_us > found->at_us))
            found = &list[i];
    return found;
}

struct meeting {
    const struct inspected *last; /* came last: the shortest time */
    int64_t next_us;              /* the second shortest */
    size_t ranks;
};

static void meet(const struct inspected *list, size_t count, uint64_t communicator, int64_t number, struct meeting *ret)
{
    *ret = (struct meeting){.next_us = INT64_MAX};
    for (size_t i = 0; i < count; i++) {
        const struct inspected *o = &list[i];
        if (o->communicator != communicator || o->number != number || !is_of_all(o->op))
            continue;
        ret->ranks++;
        if (!ret->last || o->duration_us < ret->last->duration_us) {
            ret->next_us = ret->last ? ret->last->duration_us : ret->next_us;
            ret->last = o;
        } else
            ret->next_us = MIN_OF(ret->next_us, o->duration_us);
    }
}

/* Twice as long, and long enough to matter. */
static bool was_late(const struct meeting *m)
{
    enum { LEAST_US = 1000 };
    return m->ranks > 1 && m->next_us >= 2 * m->last->duration_us && m->next_us - m->last->duration_us >= LEAST_US;
}

static void judge_late(const struct inspected *list, size_t count, const struct meeting *now, int64_t seen,
                       struct collective_told *ret)
{
    struct meeting m;
    int64_t wins = 0, met = 0;
    for (int64_t n = now->last->number; n >= 0 && n > now->last->number - seen; n--) {
        meet(list, count, now->last->communicator, n, &m);
        met += m.ranks > 1;
        wins += was_late(&m) && m.last->rank == now->last->rank;
    }
    if (!was_late(now) || wins < WINS_LEAST || wins * 3 < met * 2)
        return;
    ret->late_rank = now->last->rank;
    snprintf(ret->text, sizeof ret->text,
             "rank %lld came last to %lld of the last %lld collectives: %.1f ms in %s %lld, the others %.1f ms",
             (long long)now->last->rank, (long long)wins, (long long)met, (double)now->last->duration_us / 1e3, now->last->op,
             (long long)now->last->number, (double)now->next_us / 1e3);
}

void inspector_judge(const struct inspected *list, size_t count, struct collective_told *ret)
{
    const struct inspected *last = newest(list, count);
    struct meeting now;
    *ret = (struct collective_told){.late_rank = -1};
    if (!last)
        return;
    meet(list, count, last->communicator, last->number, &now);
    /* The newest may not have been written by all yet. */
    struct meeting before;
    meet(list, count, last->communicator, last->number - 1, &before);
    if (before.ranks > now.ranks)
        now = before;
    judge_late(list, count, &now, NEWEST, ret);
    ret->bytes_per_s = ret->best_per_s = now.last->bytes_per_s; /* of the last to come: without waiting for others */
    for (size_t i = 0; i < count; i++)
        if (list[i].communicator == last->communicator && list[i].bytes == now.last->bytes && strcmp(list[i].op, now.last->op) == 0)
            ret->best_per_s = MAX_OF(ret->best_per_s, list[i].bytes_per_s);
    if (!ret->text[0] && ret->bytes_per_s && ret->best_per_s >= 2 * ret->bytes_per_s)
        snprintf(ret->text, sizeof ret->text, "%s %lld ran at %.1f GB/s, one of as many bytes before at %.1f GB/s", now.last->op,
                 (long long)now.last->number, (double)ret->bytes_per_s / 1e9, (double)ret->best_per_s / 1e9);
}
