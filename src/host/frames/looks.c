/* SPDX-License-Identifier: Apache-2.0
 * Keeps each stack once, and how often each thread was seen in it; then who is to blame, and where: the deepest function of the
 * program's own code that most samples go through, the line in it, and the library function below. Ranking by the innermost line
 * alone scatters over a library; by the own line alone it misleads where a library calls back.
 */
#include "host/frames/looks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/words.h"

/* ---- words ---- */

const char *doing_name(enum doing doing)
{
    static const char *const names[DOING_COUNT] = {"computes", "gil",   "lock",  "pipe", "socket",  "events",
                                                   "file",     "sleep", "child", "gpu",  "stopped", "other"};
    return names[doing];
}

/* "waits for a lock" */
static const char *doing_words(enum doing doing)
{
    static const char *const words[DOING_COUNT] = {
        "computes",         "waits for the GIL",  "waits for a lock", "waits for a pipe",          "waits for a socket",
        "waits for events", "waits for a file",   "sleeps",           "waits for a child process", "waits for the GPU",
        "is stopped",       "waits in the kernel"};
    return words[doing];
}

const char *blame_name(enum blame blame)
{
    static const char *const names[] = {NULL, "main_thread", "children", "threads", "wait", "gpu"};
    return names[blame];
}

/* ---- names ---- */

enum { NAMES_MAX = 8192, NAMES_SLOTS = 4 * NAMES_MAX };

int names_init(struct name_table *n)
{
    *n = (struct name_table){.list = calloc(NAMES_MAX, sizeof *n->list), .hashed = calloc(NAMES_SLOTS, sizeof *n->hashed)};
    n->hash_size = NAMES_SLOTS;
    if (n->list && n->hashed && (n->list[0] = strdup(""))) {
        n->count = 1;
        return 0;
    }
    names_done(n);
    return -ENOMEM;
}

void names_done(struct name_table *n)
{
    for (size_t i = 0; i < n->count; i++)
        free(n->list[i]);
    free(n->list);
    free(n->hashed);
    *n = (struct name_table){0};
}

uint32_t names_add(struct name_table *n, const char *text)
{
    uint32_t hash = 2166136261u;
    for (const char *c = text; *c; c++)
        hash = (hash ^ (uint8_t)*c) * 16777619u;
    size_t slot = hash % n->hash_size;
    for (; n->hashed[slot]; slot = (slot + 1) % n->hash_size)
        if (strcmp(n->list[n->hashed[slot]], text) == 0)
            return n->hashed[slot];
    if (n->count >= NAMES_MAX || !text[0] || !(n->list[n->count] = strdup(text)))
        return 0;
    return n->hashed[slot] = (uint32_t)n->count++;
}

/* ---- looks ---- */

struct seen_stack {
    uint32_t hash, first, count; /* in `frames`, innermost first */
};

struct seen_sample {
    uint32_t thread, stack;
    enum doing doing;
    uint32_t times;
};

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

/* ---- whose code ---- */

enum owner { OWNER_LIBRARY, OWNER_PACKAGE, OWNER_TYPED, OWNER_PROGRAM };

static bool has_any(struct str path, const char *const *parts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (str_contains(path, parts[i]))
            return true;
    return false;
}

/* A package that is installed is not the program's own code, but may be the program: a model server is. What it calls is not. */
static enum owner owner_of(const char *file)
{
    static const char *const typed[] = {"<string>", "<stdin>", "<ipython-input"};
    static const char *const packages[] = {"/site-packages/", "/dist-packages/"};
    static const char *const tools[] = {"-packages/torch/", "-packages/numpy/", "-packages/pandas/", "-packages/tqdm/"};
    struct str path = str_from(file);
    if (!path.len || path.at[0] == '<')
        return has_any(path, typed, ARRAY_LEN(typed)) ? OWNER_TYPED : OWNER_LIBRARY;
    if (has_any(path, packages, ARRAY_LEN(packages)))
        return has_any(path, tools, ARRAY_LEN(tools)) ? OWNER_LIBRARY : OWNER_PACKAGE;
    return str_contains(path, "/lib/python3") ? OWNER_LIBRARY : OWNER_PROGRAM;
}

/* "/usr/local/bin/vllm", a script that only calls the package. */
static bool is_launcher(const struct looks *l, const struct python_frame *f)
{
    const char *file = l->names.list[f->file];
    return strcmp(l->names.list[f->function], "<module>") == 0 && str_contains(str_from(file), "/bin/") &&
           !str_ends(str_from(file), ".py");
}

/* ---- samples that are chosen ---- */

struct choice {
    const struct looks *l;
    bool *in;                 /* for each sample */
    const enum owner *owners; /* of each file */
    enum owner least;         /* from here on, code is its own */
    int64_t total;            /* their time, and that of the same threads beside it */
};

static enum owner owner_at(const struct choice *c, const struct python_frame *f)
{
    return c->owners[f->file] == OWNER_PROGRAM && is_launcher(c->l, f) ? OWNER_LIBRARY : c->owners[f->file];
}

static bool is_own(const struct choice *c, const struct python_frame *f)
{
    return owner_at(c, f) >= c->least;
}

static const struct python_frame *frames_of(const struct looks *l, const struct seen_sample *s, size_t *count)
{
    const struct seen_stack *stack = &l->stacks[s->stack];
    *count = stack->count;
    return l->frames + stack->first;
}

static bool has_own(const struct choice *c, const struct seen_sample *s)
{
    size_t count;
    const struct python_frame *frames = frames_of(c->l, s, &count);
    for (size_t i = 0; i < count; i++)
        if (owner_at(c, &frames[i]) >= OWNER_TYPED)
            return true;
    return false;
}

/* What counts as its own code: of the program, else what was typed or generated, else of packages, else all. */
static void find_least(struct choice *c)
{
    c->least = OWNER_LIBRARY;
    for (size_t s = 0; s < c->l->sample_count; s++) {
        size_t count;
        const struct python_frame *frames = frames_of(c->l, &c->l->samples[s], &count);
        for (size_t i = 0; c->in[s] && i < count; i++)
            c->least = MAX_OF(c->least, owner_at(c, &frames[i]));
    }
}

/* ---- one place ---- */

struct function {
    uint32_t file, function;
    int64_t times, deepest_times; /* samples through it, and those in which it is the innermost of its own code */
    int64_t depth_sum;
    size_t seen_in; /* the last sample that counted it, plus 1 */
};

enum { FUNCTIONS_MAX = 2048 };

static struct function *function_at(struct function *list, size_t *count, const struct python_frame *f)
{
    for (size_t i = 0; i < *count; i++)
        if (list[i].file == f->file && list[i].function == f->function)
            return &list[i];
    if (*count == FUNCTIONS_MAX)
        return NULL;
    list[*count] = (struct function){.file = f->file, .function = f->function};
    return &list[(*count)++];
}

static size_t count_functions(const struct choice *c, struct function *list, int64_t *all)
{
    size_t functions = 0;
    *all = 0;
    for (size_t s = 0; s < c->l->sample_count; s++) {
        size_t count;
        const struct seen_sample *sample = &c->l->samples[s];
        const struct python_frame *frames = frames_of(c->l, sample, &count);
        bool deepest = true;
        *all += c->in[s] ? sample->times : 0;
        for (size_t i = 0; c->in[s] && i < count; i++) {
            struct function *f = is_own(c, &frames[i]) ? function_at(list, &functions, &frames[i]) : NULL;
            if (!f || f->seen_in == s + 1)
                continue;
            f->seen_in = s + 1;
            f->times += sample->times;
            f->depth_sum += (int64_t)(count - i) * sample->times;
            f->deepest_times += deepest ? sample->times : 0;
            deepest = false;
        }
    }
    return functions;
}

/* The deepest function that at least 6 of 10 samples go through; NULL: there is none. */
static struct function *common_function(struct function *list, size_t count, int64_t all)
{
    struct function *best = NULL;
    for (size_t i = 0; i < count; i++)
        if (list[i].times * 10 >= all * 6 && (!best || list[i].depth_sum * best->times > best->depth_sum * list[i].times))
            best = &list[i];
    return best;
}

/* Counts of a few values; the rarest are lost when there are too many. */
struct line_counts {
    size_t count;
    struct {
        uint64_t key;
        int64_t times;
    } list[64];
};

static void tally_add(struct line_counts *t, uint64_t key, int64_t times)
{
    size_t i = 0;
    while (i < t->count && t->list[i].key != key)
        i++;
    if (i == ARRAY_LEN(t->list))
        return;
    if (i == t->count)
        t->list[t->count++].key = key, t->list[i].times = 0;
    t->list[i].times += times;
}

static uint64_t tally_best(const struct line_counts *t, int64_t *times)
{
    uint64_t best = 0;
    *times = 0;
    for (size_t i = 0; i < t->count; i++)
        if (t->list[i].times > *times) {
            *times = t->list[i].times;
            best = t->list[i].key;
        }
    return best;
}

/* The line that has most of it; where none has 9 of 10, the range of those that matter. */
static void set_line(const struct line_counts *lines, struct place *p, int64_t all)
{
    int64_t times;
    p->line = p->first = p->last = (int32_t)tally_best(lines, &times);
    if (times * 10 >= all * 9)
        return;
    for (size_t i = 0; i < lines->count; i++)
        if (lines->list[i].times * 20 >= all && lines->list[i].key) {
            p->first = MIN_OF(p->first, (int32_t)lines->list[i].key);
            p->last = MAX_OF(p->last, (int32_t)lines->list[i].key);
        }
}

static const char *thread_name(const struct looked_thread *t)
{
    return t->is_main && t->process == 0 ? "main" : t->name;
}

/* `deepest`: only where the function is the innermost of its own code. */
static void describe(const struct choice *c, const struct function *f, bool deepest, struct place *p)
{
    struct line_counts lines = {0}, leaves = {0}, callers = {0}, doings = {0}, threads = {0};
    const struct name_table *n = &c->l->names;
    bool processes[LOOKED_PROCESSES_MAX] = {false};
    int64_t all = 0, times;
    *p = (struct place){.file = n->list[f->file], .function = n->list[f->function]};
    for (size_t s = 0; s < c->l->sample_count; s++) {
        size_t count, i = 0;
        const struct seen_sample *sample = &c->l->samples[s];
        const struct python_frame *frames = frames_of(c->l, sample, &count);
        while (i < count && !(frames[i].file == f->file && frames[i].function == f->function) &&
               !(deepest && is_own(c, &frames[i])))
            i++;
        if (!c->in[s] || i == count || frames[i].file != f->file || frames[i].function != f->function)
            continue;
        all += sample->times;
        tally_add(&lines, (uint64_t)frames[i].line, sample->times);
        tally_add(&doings, sample->doing, sample->times);
        tally_add(&threads, sample->thread, sample->times);
        processes[c->l->threads[sample->thread].process % LOOKED_PROCESSES_MAX] = true;
        if (i > 0 && !is_own(c, &frames[0]))
            tally_add(&leaves, (uint64_t)(&frames[0] - c->l->frames) + 1, sample->times);
        for (i++; i < count; i++)
            if (is_own(c, &frames[i]) && (frames[i].file != f->file || frames[i].function != f->function)) {
                tally_add(&callers, (uint64_t)frames[i].file << 32 | (uint32_t)frames[i].line, sample->times);
                break;
            }
    }
    set_line(&lines, p, all);
    p->permille = c->total ? MIN_OF(all * 1000 / c->total, (int64_t)1000) : 0;
    p->doing = (enum doing)tally_best(&doings, &times);
    p->thread = all ? thread_name(&c->l->threads[tally_best(&threads, &times)]) : "";
    for (size_t i = 0; i < LOOKED_PROCESSES_MAX; i++)
        p->processes += processes[i];
    /* The same function of a library may be seen at several lines. */
    struct line_counts functions = {0};
    for (size_t i = 0; i < leaves.count; i++) {
        const struct python_frame *leaf = &c->l->frames[leaves.list[i].key - 1];
        tally_add(&functions, (uint64_t)leaf->file << 32 | leaf->function, leaves.list[i].times);
    }
    uint64_t best = tally_best(&functions, &times);
    if (times * 10 >= all * 4) {
        p->leaf = n->list[best & UINT32_MAX];
        p->leaf_file = n->list[best >> 32];
        for (size_t i = 0; i < leaves.count && !p->leaf_line; i++) {
            const struct python_frame *leaf = &c->l->frames[leaves.list[i].key - 1];
            p->leaf_line = leaf->function == (best & UINT32_MAX) && leaf->file == best >> 32 ? leaf->line : 0;
        }
    }
    best = tally_best(&callers, &times);
    if (times * 2 >= all && best) {
        p->caller_file = n->list[best >> 32];
        p->caller_line = (int32_t)best;
    }
}

static int by_deepest(const void *a, const void *b)
{
    int64_t x = ((const struct function *)a)->deepest_times, y = ((const struct function *)b)->deepest_times;
    return x > y ? -1 : x < y;
}

/* The places of the chosen samples, the answer first. */
static void find_places(struct choice *c, struct program_lines *ret)
{
    enum { LEAST_PERCENT = 10, CALLS_ONLY = 4, SHARE_OF_FIRST = 40 };
    int64_t all;
    AUTO_FREE struct function *list = calloc(FUNCTIONS_MAX, sizeof *list);
    if (!list)
        return;
    find_least(c);
    size_t count = count_functions(c, list, &all);
    struct function *common = common_function(list, count, all), first = common ? *common : (struct function){0};
    if (count)
        qsort(list, count, sizeof *list, by_deepest);
    /* A function that only calls those that take the time says less than they do. */
    if (first.times && !(first.deepest_times * CALLS_ONLY < first.times && list[0].deepest_times * 100 >= all * SHARE_OF_FIRST))
        describe(c, &first, false, &ret->places[ret->count++]);
    for (size_t i = 0; i < count && ret->count < PLACES_MAX && list[i].deepest_times * 100 >= all * LEAST_PERCENT; i++)
        if (!ret->count || strcmp(ret->places[0].function, c->l->names.list[list[i].function]) != 0 ||
            strcmp(ret->places[0].file, c->l->names.list[list[i].file]) != 0)
            describe(c, &list[i], true, &ret->places[ret->count++]);
    if (!ret->count && count)
        describe(c, &list[0], true, &ret->places[ret->count++]);
}

/* ---- whom the main thread waits for ---- */

static bool is_wait(enum doing d)
{
    return d != DOING_COMPUTES && d != DOING_GPU;
}

/* Chooses the samples of some threads that do something, and sets the time of those threads. */
enum suspects { WHO_MAIN, WHO_CHILDREN, WHO_OTHERS };
enum what { WHAT_COMPUTES, WHAT_WAITS_OUTSIDE, WHAT_WAITS };

static bool is_one_of(const struct choice *c, size_t main, enum suspects who, const struct seen_sample *s)
{
    const struct looked_thread *t = &c->l->threads[s->thread], *m = &c->l->threads[main];
    switch (who) {
    case WHO_MAIN: return s->thread == main;
    case WHO_CHILDREN: return t->process != m->process && has_own(c, s);
    default: return t->process == m->process && s->thread != main;
    }
}

static bool does(enum what what, enum doing d)
{
    switch (what) {
    case WHAT_COMPUTES: return d == DOING_COMPUTES;
    case WHAT_WAITS_OUTSIDE: return d == DOING_PIPE || d == DOING_SOCKET || d == DOING_FILE || d == DOING_SLEEP || d == DOING_CHILD;
    default: return is_wait(d);
    }
}

/* Returns how many samples were chosen, counted by the looks that took them. */
static int64_t choose(struct choice *c, size_t main, enum suspects who, enum what what)
{
    int64_t chosen = 0;
    c->total = 0;
    for (size_t s = 0; s < c->l->sample_count; s++) {
        const struct seen_sample *sample = &c->l->samples[s];
        bool of_them = is_one_of(c, main, who, sample) && sample->doing != DOING_GPU;
        c->in[s] = of_them && does(what, sample->doing) && (who != WHO_OTHERS || has_own(c, sample));
        chosen += c->in[s] ? sample->times : 0;
        c->total += of_them && (who != WHO_OTHERS || has_own(c, sample)) ? sample->times : 0;
    }
    return chosen;
}

/* How many children are seen in code of their own. */
static size_t children_of(const struct choice *c, size_t main, bool *loaders)
{
    bool seen[LOOKED_PROCESSES_MAX] = {false};
    size_t count = 0;
    *loaders = false;
    for (size_t s = 0; s < c->l->sample_count; s++)
        if (is_one_of(c, main, WHO_CHILDREN, &c->l->samples[s])) {
            const struct looked_thread *t = &c->l->threads[c->l->samples[s].thread];
            seen[t->process % LOOKED_PROCESSES_MAX] = true;
            *loaders |= str_starts(str_from(t->name), "pt_data_worker");
        }
    for (size_t i = 0; i < LOOKED_PROCESSES_MAX; i++)
        count += seen[i];
    return count;
}

static bool waited_for_cores(const struct choice *c)
{
    int64_t ran = 0, queued = 0;
    for (size_t t = 0; t < c->l->thread_count; t++)
        for (size_t s = 0; s < c->l->sample_count; s++)
            if (c->in[s] && c->l->samples[s].thread == t) {
                ran += c->l->threads[t].ran_ns;
                queued += c->l->threads[t].queued_ns;
                break;
            }
    return queued > ran && queued > 0;
}

static void blame(struct choice *c, size_t main, struct program_lines *ret)
{
    int64_t *did = ret->main_permille, all = 0, seen[DOING_COUNT] = {0};
    for (size_t s = 0; s < c->l->sample_count; s++)
        if (c->l->samples[s].thread == main) {
            seen[c->l->samples[s].doing] += c->l->samples[s].times;
            all += c->l->samples[s].times;
        }
    for (int d = 0; d < DOING_COUNT; d++)
        did[d] = all ? seen[d] * 1000 / all : 0;
    int64_t own = all - seen[DOING_GPU], locked = seen[DOING_LOCK] + seen[DOING_GIL];
    ret->blame = BLAME_GPU;
    if (own * 20 < all || !all)
        return;
    ret->blame = BLAME_MAIN;
    if (seen[DOING_COMPUTES] * 2 >= own) {
        choose(c, main, WHO_MAIN, WHAT_COMPUTES);
    } else if (choose(c, main, WHO_CHILDREN, WHAT_COMPUTES) * 10 >= own * 3) {
        ret->blame = BLAME_CHILDREN;
    } else if (locked * 2 >= own && (choose(c, main, WHO_OTHERS, WHAT_COMPUTES) * 10 >= own * 2 ||
                                     choose(c, main, WHO_OTHERS, WHAT_WAITS_OUTSIDE) * 10 >= own * 5)) {
        ret->blame = BLAME_THREADS;
    } else {
        ret->blame = BLAME_WAIT;
        choose(c, main, WHO_MAIN, WHAT_WAITS);
    }
    ret->few_cores = waited_for_cores(c);
    find_places(c, ret);
    bool loaders;
    size_t children = children_of(c, main, &loaders);
    for (size_t i = 0; i < ret->count; i++) {
        ret->places[i].of_processes = ret->blame == BLAME_CHILDREN ? children : 0;
        ret->places[i].processes = ret->blame == BLAME_CHILDREN ? ret->places[i].processes : 0;
        ret->places[i].loaders = loaders;
    }
}

void looks_judge(const struct looks *l, struct program_lines *ret)
{
    size_t main = l->thread_count;
    *ret = (struct program_lines){.looks = l->taken};
    AUTO_FREE bool *in = calloc(l->sample_count + 1, sizeof *in);
    AUTO_FREE enum owner *owners = calloc(l->names.count + 1, sizeof *owners);
    /* The main thread of the process nearest to the root: above it there may be a shell, a launcher. */
    for (size_t s = 0; s < l->sample_count; s++) {
        const struct looked_thread *t = &l->threads[l->samples[s].thread];
        if (t->is_main && (main == l->thread_count || t->process < l->threads[main].process))
            main = l->samples[s].thread;
    }
    if (main == l->thread_count || !in || !owners)
        return;
    for (size_t i = 0; i < l->names.count; i++)
        owners[i] = owner_of(l->names.list[i]);
    blame(&(struct choice){.l = l, .in = in, .owners = owners}, main, ret);
}

/* ---- words ---- */

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

/* "augment()": without where it was defined. */
static void function_words(struct buf *b, const char *function)
{
    const char *local = function;
    for (const char *next; (next = strstr(local, "<locals>."));)
        local = next + strlen("<locals>.");
    if (strcmp(local, "<module>") == 0)
        buf_text(b, "the top level");
    else
        buf_printf(b, "%s()", local);
}

const char *place_brief(const struct place *p, char out[PLACE_WORDS])
{
    const char *base = strrchr(p->file, '/');
    snprintf(out, PLACE_WORDS, "%s%s(), %s:%d", p->of_processes ? "its children: " : "", p->function, base ? base + 1 : p->file,
             (int)p->line);
    return out;
}

const char *place_words(const struct place *p, bool first, char out[PLACE_WORDS])
{
    AUTO_BUF struct buf b = BUF(PLACE_WORDS - 1);
    char share[WORDS_SIZE];
    if (p->doing != DOING_COMPUTES)
        buf_printf(&b, "%s in ", doing_words(p->doing));
    function_words(&b, p->function);
    buf_printf(&b, p->function[0] == '<' ? " of %s" : " in %s", base_name(p->file));
    if (p->first != p->last)
        buf_printf(&b, ":%d-%d", (int)p->first, (int)p->last);
    else if (p->line)
        buf_printf(&b, ":%d", (int)p->line);
    buf_printf(&b, ", %s", words_percent(p->permille, share));
    if (first)
        buf_printf(&b, " of %s time", p->of_processes ? "their" : "that thread's");
    if (p->of_processes)
        buf_printf(&b, ", in %zu of %zu %s", p->processes, p->of_processes, p->loaders ? "loaders" : "processes");
    if (p->leaf) {
        buf_text(&b, "; mostly in ");
        function_words(&b, p->leaf);
        buf_printf(&b, ", %s:%d", base_name(p->leaf_file), (int)p->leaf_line);
    }
    if (p->caller_file && first)
        buf_printf(&b, " (called from %s:%d)", base_name(p->caller_file), (int)p->caller_line);
    str_copy(out, PLACE_WORDS, buf_view(&b));
    return out;
}

const char *lines_evidence(const struct program_lines *l, char out[PLACE_WORDS])
{
    AUTO_BUF struct buf b = BUF(PLACE_WORDS - 1);
    char share[WORDS_SIZE];
    bool said[DOING_COUNT] = {false};
    for (int n = 0; n < 2; n++) {
        int best = n ? DOING_OTHER : DOING_COMPUTES;
        for (int d = 0; d < DOING_COUNT; d++)
            if (!said[d] && (said[best] || l->main_permille[d] > l->main_permille[best]))
                best = d;
        said[best] = true;
        if (l->main_permille[best] >= 50)
            buf_printf(&b, "%s%s %s", n ? ", " : "its main thread ", doing_words((enum doing)best),
                       words_percent(l->main_permille[best], share));
    }
    buf_printf(&b, "%s%lld looks", b.len ? " of the time; " : "", (long long)l->looks);
    str_copy(out, PLACE_WORDS, buf_view(&b));
    return out;
}
