/* SPDX-License-Identifier: Apache-2.0
 * What many looks at the threads of a program have seen, and the answer in it: the place in its own code where it spends the time
 * that its GPU waits. Pure: reads no process, but for lines_take().
 *
 *   looks_thread(), looks_add() ...  ──▶  looks_judge()  ──▶  struct program_lines
 */
#pragma once

#include "base/buf.h"
#include "base/env.h"
#include "host/frames/python.h"

/* What a thread does at a look. */
enum doing {
    DOING_COMPUTES,
    DOING_GIL,
    DOING_LOCK,
    DOING_PIPE,
    DOING_SOCKET,
    DOING_EVENTS, /* select, poll, epoll */
    DOING_FILE,
    DOING_SLEEP,
    DOING_CHILD,
    DOING_GPU,
    DOING_STOPPED,
    DOING_OTHER,
    DOING_COUNT
};
const char *doing_name(enum doing doing); /* "lock", for programs */

enum { THREAD_NAME_SIZE = 16, PLACES_MAX = 6, LOOKED_PROCESSES_MAX = 64, LOOKED_THREADS_MAX = 512, PLACE_WORDS = 512 };

struct looked_thread {
    int32_t pid, tid;
    size_t process; /* 0: the program itself, above its children */
    bool is_main;
    char name[THREAD_NAME_SIZE];
    int64_t ran_ns, queued_ns; /* in that time: on a CPU, and waiting for one */
};

struct looks {
    struct name_table names;
    struct looked_thread *threads; /* LOOKED_THREADS_MAX of them */
    size_t thread_count, process_count;
    int64_t taken, torn; /* looks, and stacks of them that were lost */
    struct python_frame *frames;
    size_t frame_count, frame_capacity;
    struct seen_stack *stacks;
    size_t stack_count, stack_capacity;
    struct seen_sample *samples;
    size_t sample_count, sample_capacity;
    uint32_t *stack_slots, *sample_slots;
};

int looks_init(struct looks *l); /* -ENOMEM */
void looks_done(struct looks *l);
/* Its number; -1: too many. */
int looks_thread(struct looks *l, const struct looked_thread *thread);
/* The number of the stack, by which looks_again() counts it once more; -1: no room. */
int looks_add(struct looks *l, size_t thread, enum doing doing, const struct python_stack *stack);
void looks_again(struct looks *l, size_t thread, enum doing doing, size_t stack);

/* ---- the answer ---- */

struct place {
    const char *file, *function; /* of its own code, if it has any on the stack */
    int32_t line;                /* the commonest; 0 unknown */
    int32_t first, last;         /* where no line has nearly all of it, the range; else both are `line` */
    int64_t permille;            /* of the time of the threads that are to blame */
    enum doing doing;
    const char *thread;           /* "main", or its name */
    const char *leaf, *leaf_file; /* where most of it is below, in a library; NULL: in the function itself */
    int32_t leaf_line;
    const char *caller_file; /* NULL: none of its own code */
    int32_t caller_line;
    size_t processes, of_processes; /* of children: in how many of them; 0: not of children */
    bool loaders;                   /* those are loader processes */
};

/* Whose places these are: those that the main thread waits for, if it waits for any of them. */
enum blame { BLAME_NONE, BLAME_MAIN, BLAME_CHILDREN, BLAME_THREADS, BLAME_WAIT, BLAME_GPU };
const char *blame_name(enum blame blame);

/* Points into the looks. */
struct program_lines {
    enum blame blame;
    int64_t looks;
    int64_t main_permille[DOING_COUNT]; /* of the looks at the main thread */
    bool few_cores;                     /* those to blame waited longer for a CPU than they ran */
    size_t count;
    struct place places[PLACES_MAX]; /* the answer first */
};
void looks_judge(const struct looks *l, struct program_lines *ret);

/* "augment() in data.py:214, 62% of that thread's time (called from train.py:88)" */
const char *place_words(const struct place *p, bool first, char out[PLACE_WORDS]);
/* "save(), train.py:301" */
const char *place_brief(const struct place *p, char out[PLACE_WORDS]);
/* "main thread computes 100% of the time; 200 looks" */
const char *lines_evidence(const struct program_lines *l, char out[PLACE_WORDS]);
/* One line for each stack, outermost first, and how often it was seen: for flame graphs. */
void looks_folded(const struct looks *l, struct buf *out);
/* The calls as a tree, each with its share. */
void looks_tree(const struct looks *l,
                void (*each)(void *user, int depth, const char *function, const char *file, int32_t line, int64_t permille),
                void *user);

/* ---- Looks at a program and its children for some seconds, because a person asks: which line of which function it spends its time
 * in. Nothing is stopped, traced or written; only its owner and root may look. ---- */

enum { LINES_MS = 2000, LINES_LOOKS_PER_S = 100 };

struct lines_request {
    int32_t pid;
    int64_t ms;                 /* how long; 0: until it ends, or `cancel` is set */
    int looks_per_s;            /* at most LINES_LOOKS_PER_S */
    const _Atomic bool *cancel; /* may be NULL */
    bool for_others;            /* the caller has made sure that a person may look at programs of other users */
};

/* 0 and what was seen, which the caller ends with looks_done(); or -errno and why not: another user's program, not Python, ... */
int lines_take(const struct env *env, const struct lines_request *request, struct looks *ret, struct error *err);
