/* SPDX-License-Identifier: Apache-2.0
 * The processes of all GPUs as one list, filtered and sorted: one row for each (process, GPU).
 */
#pragma once

#include "base/error.h"
#include "base/json_writer.h"
#include "model/snapshot.h"

struct process_row {
    const struct gpu *gpu;
    const struct process *process;
};

struct process_rows {
    size_t count;
    struct process_row *rows;
    size_t hidden;  /* exist, but may not be seen */
    size_t unknown; /* GPUs that do not tell their processes */
    int only;       /* position of the GPU asked for, ALL_GPUS */
    bool whole;     /* everybody on these GPUs was asked for: what is not attributed completes the sum */
};

struct process_filter {
    int only;         /* position of the GPU, ALL_GPUS */
    const char *user; /* NULL: any */
    const char *name; /* part of the name or of the command, without regard to case; NULL: any */
    int type;         /* PROCESS_COMPUTE, PROCESS_GRAPHICS; 0: any */
    int32_t pid;      /* 0: any */
    const char *sort; /* key of process_sort_keys; NULL: by GPU, then the biggest first */
    bool reverse;
};

/* What --sort knows, NULL at the end. */
extern const char *const process_sort_keys[];
bool process_sort_known(const char *key);

/* 0 or -ENOMEM. The rows point into the snapshot. */
int process_rows_init(struct process_rows *rows, const struct snapshot *s, const struct process_filter *filter);
void process_rows_done(struct process_rows *rows);
#define AUTO_PROCESS_ROWS __attribute__((cleanup(process_rows_done)))

/* The processes of one GPU, those that explain its load best first; returns how many. `sorted` has room for all. */
size_t process_biggest_first(const struct gpu *gpu, const struct process **sorted);

/* Whether the GPU at this position gets a row for the power that no process explains. */
bool process_rows_remainder(const struct process_rows *rows, const struct snapshot *s, size_t position);

/* The body of `whirr ps --json`. */
void json_processes(struct json_writer *j, const struct snapshot *s, const struct process_rows *rows);
