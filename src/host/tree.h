/* SPDX-License-Identifier: Apache-2.0
 * A process and all its descendants: which they are, and what they use of the host.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/env.h"
#include "model/reading.h"

enum { TREE_MAX = 4096 };

struct tree_member {
    int32_t pid, parent;
    int64_t start_ticks; /* identifies the process together with pid */
    int64_t cpu_ticks;
    int64_t read_bytes, write_bytes; /* from and to disks; negative: unknown */
    bool in_tree;
};

struct process_tree {
    int32_t root;                /* not counted itself: the process that started the program */
    struct tree_member *members; /* of the last look, sorted by pid */
    size_t count;
    struct mono looked_at; /* ns 0: never */
};

/* Since the previous look; 0 or absent on the first. */
struct tree_use {
    size_t processes;
    int64_t cpu_permille, cpu_busiest_permille;         /* 1000 is one core */
    struct reading read_bytes_per_s, write_bytes_per_s; /* of the readable ones */
};

int tree_init(struct process_tree *t, int32_t root); /* -ENOMEM */
void tree_done(struct process_tree *t);
void tree_look(struct process_tree *t, const struct env *env, struct tree_use *ret);
bool tree_has(const struct process_tree *t, int32_t pid);

/* ---- for the system backends: tree_look() lists all processes, marks them, adds the I/O of those in the tree, and takes the
 * list ---- */

const struct tree_member *tree_find(const struct tree_member *list, size_t count, int32_t pid);
/* Sorts the list by pid and sets in_tree. */
void tree_mark(struct tree_member *list, size_t count, int32_t root);
/* Takes ownership of the list. */
void tree_take(struct process_tree *t, struct tree_member *list, size_t count, struct mono now, int64_t ticks_per_s,
               struct tree_use *ret);
