/* SPDX-License-Identifier: Apache-2.0
 * Keeps each stack once, and how often each thread was seen in it.
 */
#include "host/frames/looks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "host/frames/internal.h"

enum { SLOTS = 1 << 16, KEPT_MAX = SLOTS / 2, FRAMES_KEPT_MAX = 1 << 20 };

int looks_init(struct looks *l)
{
    *l = (struct looks){.threads = calloc(LOOKED_THREADS_MAX, sizeof *l->threads),
                        .stack_slots = calloc(SLOTS, sizeof *l->stack_slots),
                        .sample_slots = calloc(SLOTS, sizeof *l->sample_slots)};
    if (l->threads && l->stack_slots && l->sample_slots && names_init(&l->names) == 0)
        return 0;
    looks_done(l);
    return -ENOMEM;
}

void looks_done(struct looks *l)
{
    names_done(&l->names);
    free(l->threads);
    free(l->frames);
    free(l->stacks);
    free(l->samples);
    free(l->stack_slots);
    free(l->sample_slots);
    *l = (struct looks){0};
}

int looks_thread(struct looks *l, const struct looked_thread *thread)
{
    if (l->thread_count >= LOOKED_THREADS_MAX)
        return -1;
    l->threads[l->thread_count] = *thread;
    l->process_count = MAX_OF(l->process_count, thread->process + 1);
    return (int)l->thread_count++;
}

static uint32_t mix(uint32_t hash, uint32_t value)
{
    return (hash ^ value) * 16777619u;
}

static uint32_t hash_of(const struct python_frame *frames, size_t count)
{
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < count; i++)
        hash = mix(mix(mix(hash, frames[i].file), frames[i].function), (uint32_t)frames[i].line);
    return hash ^ hash >> 15;
}

static bool is_comprehension(const char *function)
{
    static const char *const names[] = {"<listcomp>", "<genexpr>", "<dictcomp>", "<setcomp>"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (str_ends(str_from(function), names[i]))
            return true;
    return false;
}

/* A comprehension that its function evaluates at once is part of it. Returns how many frames are left. */
static size_t fold_comprehensions(const struct name_table *n, const struct python_stack *stack, struct python_frame *ret)
{
    size_t count = 0;
    for (size_t i = 0; i < stack->count; i++) {
        struct python_frame f = stack->frames[i];
        for (; i + 1 < stack->count && stack->frames[i + 1].file == f.file && is_comprehension(n->list[f.function]); i++)
            f.function = stack->frames[i + 1].function;
        ret[count++] = f;
    }
    return count;
}

static int find_stack(struct looks *l, const struct python_stack *stack)
{
    struct python_frame frames[PYTHON_FRAMES_MAX];
    size_t count = fold_comprehensions(&l->names, stack, frames);
    uint32_t hash = hash_of(frames, count);
    size_t slot = hash % SLOTS;
    for (; l->stack_slots[slot]; slot = (slot + 1) % SLOTS) {
        const struct seen_stack *s = &l->stacks[l->stack_slots[slot] - 1];
        if (s->hash == hash && s->count == count && memcmp(l->frames + s->first, frames, count * sizeof *frames) == 0)
            return (int)l->stack_slots[slot] - 1;
    }
    if (l->stack_count >= KEPT_MAX || l->frame_count + count > FRAMES_KEPT_MAX ||
        !ROOM_FOR_ONE(l->stacks, l->stack_count, l->stack_capacity, 64))
        return -1;
    for (size_t i = 0; i < count; i++) {
        if (!ROOM_FOR_ONE(l->frames, l->frame_count, l->frame_capacity, 1024))
            return -1;
        l->frames[l->frame_count++] = frames[i];
    }
    l->stacks[l->stack_count] = (struct seen_stack){hash, (uint32_t)(l->frame_count - count), (uint32_t)count};
    return (int)(l->stack_slots[slot] = (uint32_t)++l->stack_count) - 1;
}

void looks_again(struct looks *l, size_t thread, enum doing doing, size_t stack)
{
    uint32_t hash = mix(mix(mix(2166136261u, (uint32_t)thread), (uint32_t)doing), (uint32_t)stack);
    size_t slot = (hash ^ hash >> 15) % SLOTS;
    for (; l->sample_slots[slot]; slot = (slot + 1) % SLOTS) {
        struct seen_sample *s = &l->samples[l->sample_slots[slot] - 1];
        if (s->thread == thread && s->doing == doing && s->stack == stack) {
            s->times++;
            return;
        }
    }
    if (l->sample_count >= KEPT_MAX || !ROOM_FOR_ONE(l->samples, l->sample_count, l->sample_capacity, 64)) {
        l->torn++;
        return;
    }
    l->samples[l->sample_count] = (struct seen_sample){(uint32_t)thread, (uint32_t)stack, doing, 1};
    l->sample_slots[slot] = (uint32_t)++l->sample_count;
}

int looks_add(struct looks *l, size_t thread, enum doing doing, const struct python_stack *stack)
{
    int found = find_stack(l, stack);
    if (found < 0)
        l->torn++;
    else
        looks_again(l, thread, doing, (size_t)found);
    return found;
}

/* ---- all of it, for flame graphs ---- */

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

/* Blanks and semicolons separate there. */
static void folded_name(struct buf *out, const char *text)
{
    for (; *text; text++)
        buf_char(out, *text == ';' || *text == '\n' ? '_' : *text);
}

void looks_folded(const struct looks *l, struct buf *out)
{
    for (size_t i = 0; i < l->sample_count; i++) {
        const struct seen_sample *s = &l->samples[i];
        const struct looked_thread *t = &l->threads[s->thread];
        const struct seen_stack *stack = &l->stacks[s->stack];
        folded_name(out, t->name[0] ? t->name : "thread");
        buf_printf(out, " (%s %d)", t->is_main ? "process" : "thread", (int)(t->is_main ? t->pid : t->tid));
        for (size_t f = stack->count; f-- > 0;) {
            const struct python_frame *frame = &l->frames[stack->first + f];
            buf_char(out, ';');
            folded_name(out, l->names.list[frame->function]);
            buf_text(out, " (");
            folded_name(out, file_name(l->names.list[frame->file]));
            buf_printf(out, ":%d)", (int)frame->line);
        }
        if (s->doing != DOING_COMPUTES)
            buf_printf(out, ";[%s]", doing_words(s->doing));
        buf_printf(out, " %u\n", s->times);
    }
}

/* ---- the tree of calls ---- */

struct walked {
    const struct looks *l;
    int64_t all;
    void (*each)(void *user, int depth, const char *function, const char *file, int32_t line, int64_t permille);
    void *user;
};

/* The frame of a sample at this depth from the outside; NULL: its stack is shorter. */
static const struct python_frame *frame_at(const struct looks *l, const struct seen_sample *s, size_t depth)
{
    const struct seen_stack *stack = &l->stacks[s->stack];
    return depth < stack->count ? &l->frames[stack->first + stack->count - 1 - depth] : NULL;
}

static bool is_same(const struct python_frame *a, const struct python_frame *b)
{
    return a && b && a->file == b->file && a->function == b->function && a->line == b->line;
}

/* The samples of `in` share their frames above this depth; those that are counted are left out of it. */
static void walk_depth(const struct walked *w, const struct seen_sample **in, size_t count, size_t depth)
{
    enum { LEAST_PERMILLE = 20, DEPTH_MAX = 100 };
    AUTO_FREE const struct seen_sample **below = calloc(count + 1, sizeof *below);
    while (below && depth < DEPTH_MAX) {
        const struct python_frame *best = NULL;
        int64_t most = 0;
        for (size_t i = 0; i < count; i++) {
            int64_t times = 0;
            const struct python_frame *f = in[i] ? frame_at(w->l, in[i], depth) : NULL;
            for (size_t k = i; f && k < count; k++)
                times += in[k] && is_same(f, frame_at(w->l, in[k], depth)) ? in[k]->times : 0;
            if (times > most) {
                most = times;
                best = f;
            }
        }
        if (!best || most * 1000 < w->all * LEAST_PERMILLE)
            return;
        size_t found = 0;
        for (size_t i = 0; i < count; i++)
            if (in[i] && is_same(best, frame_at(w->l, in[i], depth))) {
                below[found++] = in[i];
                in[i] = NULL;
            }
        w->each(w->user, (int)depth, w->l->names.list[best->function], file_name(w->l->names.list[best->file]), best->line,
                most * 1000 / w->all);
        walk_depth(w, below, found, depth + 1);
    }
}

static int by_times(const void *a, const void *b)
{
    uint32_t x = (*(const struct seen_sample *const *)a)->times, y = (*(const struct seen_sample *const *)b)->times;
    return x > y ? -1 : x < y;
}

void looks_tree(const struct looks *l,
                void (*each)(void *user, int depth, const char *function, const char *file, int32_t line, int64_t permille),
                void *user)
{
    enum { LISTED_MAX = 500 }; /* rarer stacks would each be below the least share */
    AUTO_FREE const struct seen_sample **list = calloc(l->sample_count + 1, sizeof *list);
    struct walked w = {.l = l, .each = each, .user = user};
    for (size_t i = 0; list && i < l->sample_count; i++) {
        list[i] = &l->samples[i];
        w.all += l->samples[i].times;
    }
    if (!list || !w.all)
        return;
    qsort(list, l->sample_count, sizeof *list, by_times);
    walk_depth(&w, list, MIN_OF(l->sample_count, (size_t)LISTED_MAX), 0);
}
