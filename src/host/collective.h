/* SPDX-License-Identifier: Apache-2.0
 * What a job itself wrote about its collectives: dumps of PyTorch's flight recorder, one per rank, and the lines of NCCL's or
 * RCCL's Inspector. Pure functions. A dump is a pickle: only its numbers and texts are taken, nothing that it names is looked up or
 * called.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

enum {
    COLLECTIVE_NAME_SIZE = 24,
    COLLECTIVE_TEXT_SIZE = 192,
    COLLECTIVE_GROUPS_MAX = 32, /* further process groups of a rank are ignored */
    INSPECTED_MAX = 256,        /* newest operations of a file */
};

/* How far a rank has come in one process group. A host enqueues ahead of its GPU, so several may be open. */
struct group_trace {
    char group[COLLECTIVE_NAME_SIZE], op[COLLECTIVE_NAME_SIZE]; /* "0"; of the open one: "all_reduce" */
    int64_t entered, open; /* numbers of the newest, and of the oldest not completed; -1: none */
    bool started;          /* the open one, on the GPU, as far as that is timed */
};

struct rank_trace {
    int64_t rank;
    size_t count;
    struct group_trace groups[COLLECTIVE_GROUPS_MAX];
};

/* Leaves `rank` alone. -EINVAL: not such a dump; -ENOMEM. */
int flight_parse(struct str pickle, struct rank_trace *ret);

/* One operation of one rank, as the Inspector timed it. */
struct inspected {
    uint64_t communicator;
    char op[COLLECTIVE_NAME_SIZE]; /* "AllReduce" */
    int64_t rank, number, bytes, duration_us, bytes_per_s, at_us;
};

/* The newest operations of a file's end, oldest first; returns their number. */
size_t inspector_parse(struct str lines, struct inspected ret[INSPECTED_MAX]);

struct collective_told {
    int64_t late_rank;               /* that the others wait for; -1: none */
    int64_t bytes_per_s, best_per_s; /* bus bandwidth of the newest, and the best for as much data; 0 unknown */
    char text[COLLECTIVE_TEXT_SIZE]; /* "rank 3 has not come to all_reduce 4711"; "": nothing to say */
};

/* `world`: the number of ranks, 0 unknown. */
void flight_judge(const struct rank_trace *list, size_t count, int64_t world, struct collective_told *ret);
void inspector_judge(const struct inspected *list, size_t count, struct collective_told *ret);
