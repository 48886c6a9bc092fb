/* SPDX-License-Identifier: Apache-2.0
 * What is known about one process, and the functions each system provides for it. Private to identity.c and the system directories.
 *
 *   pid ──▶ who_look() ──▶ start, name, CPU time ──▶ known already? ──▶ who_learn(): all that stays
 */
#pragma once

#include "base/env.h"
#include "host/identity.h"
#include "model/process.h"

struct who {
    struct who *next;
    int32_t pid, parent;
    bool ours;           /* false: on the host, this PID is another process */
    bool unsure;         /* `ours` couldn't be determined yet */
    unsigned sweep;      /* the last sweep that saw it */
    bool fresh;          /* read since the last sweep */
    struct mono learned; /* when who_learn() ran */
    struct mono cpu_at;
    int64_t cpu_ticks;
    struct reading cpu_permille;
    struct reading host_mem_bytes;
    int64_t start_key;
    struct wall started_at;
    char comm[PROCESS_NAME_SIZE]; /* from the kernel: a change means exec */
    char name[PROCESS_NAME_SIZE];
    char parent_name[PROCESS_NAME_SIZE];
    char user[PROCESS_USER_SIZE];
    char command[PROCESS_COMMAND_SIZE];
    char container[PROCESS_CONTAINER_SIZE];
    char model[PROCESS_MODEL_SIZE];
    char title[PROCESS_TITLE_SIZE];
    char container_name[PROCESS_CONTAINER_NAME_SIZE];
    enum reading_state container_name_state;
    char job[PROCESS_JOB_SIZE], launcher[PROCESS_JOB_SIZE];
    bool launcher_is_own; /* a program of the same name, not a known launcher */
    struct reading rank, world_size;
    unsigned char variables; /* enum process_variable */
};

/* One look: identity, and values that change with every sample. */
struct who_now {
    int64_t start_key; /* identifies the process together with pid, as in struct process */
    int64_t cpu_ticks; /* user and system; -1 unknown */
    int64_t parent;
    int64_t resident;             /* memory, in units that who_memory() knows; -1 unknown */
    char comm[PROCESS_NAME_SIZE]; /* cleaned */
};

/* ---- provided by each system ---- */

struct who_reader; /* state for all processes */

struct who_reader *who_reader_new(const struct env *env, bool show_secrets); /* NULL: out of memory */
void who_reader_free(struct who_reader *r);
int64_t who_ticks_per_s(const struct who_reader *r); /* of cpu_ticks */
/* 0; an error for which is_gone() holds: no such process; any other: unreadable now. */
int who_look(struct who_reader *r, int32_t pid, struct who_now *ret);
/* The first look: started_at, ours, unsure. */
void who_meet(struct who_reader *r, struct who *w, const struct who_now *now);
/* Everything that stays the same until exec; unknown values stay empty. */
void who_learn(struct who_reader *r, struct who *w);
/* parent and parent_name. */
void who_learn_parent(struct who_reader *r, struct who *w, int64_t parent);
struct reading who_memory(struct who_reader *r, const struct who *w, const struct who_now *now);
/* The arguments as identity.h expects them: paths with '/', programs without ".exe". 0: none or unknown. They point into `text`. */
size_t who_arguments(const struct env *env, int32_t pid, char *text, size_t size, struct str *args, size_t max);

/* ---- provided by identity.c ---- */

/* Sets launcher and launcher_is_own; call after who_learn_parent. */
void who_learn_launcher(const struct env *env, struct who *w);
/* Sets job, rank and world_size; call after who_learn_launcher. */
void who_take_job(struct who *w, const struct process_job *job);
