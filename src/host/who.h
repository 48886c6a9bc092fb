/* SPDX-License-Identifier: Apache-2.0
 * What is learned about one process, and the functions by which a system tells it. Between identity.c and the directories of the
 * systems; not for others.
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
    bool ours;           /* false: this number means another process on the host */
    bool unsure;         /* whether it is ours could not be read yet */
    unsigned sweep;      /* the last one it was seen in */
    bool fresh;          /* read since the last sweep */
    struct mono learned; /* when who was read */
    struct mono cpu_at;
    int64_t cpu_ticks;
    struct reading cpu_permille;
    struct reading host_mem_bytes;
    int64_t start_key;
    struct wall started_at;
    char comm[PROCESS_NAME_SIZE]; /* as the kernel says it: a change means exec */
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
    bool launcher_is_own; /* a program of the same name, no launcher that is known */
    struct reading rank, world_size;
};

/* One look: what identifies a process or changes with every sample. */
struct who_now {
    int64_t start_key; /* with the pid its identity, as in struct process */
    int64_t cpu_ticks; /* user and system; -1 unknown */
    int64_t parent;
    int64_t resident;             /* memory, in the unit that who_memory() knows; -1 unknown */
    char comm[PROCESS_NAME_SIZE]; /* cleaned */
};

/* ---- What a system provides. ---- */

struct who_reader; /* what it keeps for all processes */

struct who_reader *who_reader_new(const struct env *env, bool show_secrets); /* NULL: out of memory */
void who_reader_free(struct who_reader *r);
int64_t who_ticks_per_s(const struct who_reader *r); /* of cpu_ticks */
/* 0; an error of is_gone(): there is no such process; any other: it could not be looked at now. */
int who_look(struct who_reader *r, int32_t pid, struct who_now *ret);
/* The first look: started_at, ours, unsure. */
void who_meet(struct who_reader *r, struct who *w, const struct who_now *now);
/* Everything that stays as long as the process does what it does; what is not known is left empty. */
void who_learn(struct who_reader *r, struct who *w);
/* parent and parent_name. */
void who_learn_parent(struct who_reader *r, struct who *w, int64_t parent);
struct reading who_memory(struct who_reader *r, const struct who *w, const struct who_now *now);
/* The arguments of a process as the functions of identity.h take them: paths with '/', programs without ".exe". 0: none, or not
 * known. They point into `text`. */
size_t who_arguments(const struct env *env, int32_t pid, char *text, size_t size, struct str *args, size_t max);

/* ---- What identity.c does for them. ---- */

/* launcher and launcher_is_own, of one whose parent is learned. */
void who_learn_launcher(const struct env *env, struct who *w);
/* job, rank and world_size, of one whose launcher is learned. */
void who_take_job(struct who *w, const struct process_job *job);
