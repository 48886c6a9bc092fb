/* SPDX-License-Identifier: Apache-2.0
 * The processes of all GPUs as one list, filtered and sorted: one row per (process, GPU).
 */
#pragma once

#include "base/json_writer.h"
#include "model/snapshot.h"

struct process_row {
    const struct gpu *gpu;
    const struct process *process;
};

struct process_rows {
    size_t count;
    struct process_row *rows;
    size_t hidden;  /* exist, but are not visible to us */
    size_t unknown; /* GPUs that don't report their processes */
    int only;       /* position of the requested GPU, or ALL_GPUS */
    bool whole;     /* the list is complete: the unattributed rest completes the sum */
};

struct process_filter {
    int only;         /* position of the GPU, or ALL_GPUS */
    const char *user; /* NULL: any */
    const char *name; /* part of the name or command, ignoring case; NULL: any */
    int type;         /* PROCESS_COMPUTE, PROCESS_GRAPHICS; 0: any */
    int32_t pid;      /* 0: any */
    const char *sort; /* from process_sort_names; NULL: by GPU, then largest first */
    bool reverse;
};

/* All orders, NULL-terminated. */
extern const char *const process_sort_keys[];
/* Values of --sort, in any case: names of columns and of orders. */
extern const char *const process_sort_names[];
/* The order with that name; NULL: unknown. */
const char *process_sort_key(const char *name);

/* 0 or -ENOMEM. The rows point into the snapshot. */
int process_rows_init(struct process_rows *rows, const struct snapshot *s, const struct process_filter *filter);
/* Finds processes by PID, or by a part of their name or command. -ESRCH and a message: there are none. */
int process_rows_find(struct process_rows *rows, const struct snapshot *s, const char *asked, int only, struct error *err);
void process_rows_done(struct process_rows *rows);
#define AUTO_PROCESS_ROWS __attribute__((cleanup(process_rows_done)))

/* The processes of one GPU, those that best explain its load first; returns how many. `sorted` has room for all. */
size_t process_biggest_first(const struct gpu *gpu, const struct process **sorted);

/* Whether the GPU at this position gets a row for the power that no process explains. */
bool process_rows_remainder(const struct process_rows *rows, const struct snapshot *s, size_t position);

/* How the processes of this GPU were read; with another state than READING_OK they are missing from the list. */
enum reading_state process_rows_state(const struct gpu *gpu);
/* The next of the GPUs asked for whose processes are missing, from that position on; NULL: none. */
const struct gpu *process_rows_unseen(const struct process_rows *rows, const struct snapshot *s, size_t *position);
/* Why the list is empty or not whole, as a sentence; "": it is whole and has rows. Returns why nothing at all could be listed. */
enum { PROCESS_ROWS_ANSWER = 1024 };
enum reading_state process_rows_answer(const struct process_rows *rows, const struct snapshot *s, char text[PROCESS_ROWS_ANSWER]);

/* Table cells: "util", "memory", "alone" (how the watts were attributed); "compute", ...; "" if unknown. A container is shown by
 * its name, or by its short ID like in `docker ps`. */
const char *process_basis_word(enum power_basis basis);
const char *process_type_word(enum process_type type);
void process_container_words(char *text, size_t size, const struct process *p);

/* The body of `whirr ps --json`. */
void json_processes(struct json_writer *j, const struct snapshot *s, const struct process_rows *rows);
