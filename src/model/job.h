/* SPDX-License-Identifier: Apache-2.0
 * Processes that belong together: the ranks of a Slurm job, of a torchrun or mpirun, the processes of a pod or a container. Pure.
 */
#pragma once

#include "model/snapshot.h"

struct job_member {
    const struct gpu *gpu;
    const struct process *process;
};

/* At least two processes on GPUs, or one that reports others elsewhere. */
struct job {
    char id[PROCESS_CONTAINER_NAME_SIZE]; /* from its launcher or scheduler; "NAMESPACE/POD"; a container */
    struct job_member *members;           /* by rank, then by GPU: one per process and GPU */
    size_t count;
    size_t processes;          /* distinct processes */
    struct reading world_size; /* processes here and elsewhere, as they report it */
};

struct jobs {
    struct job *list; /* by id */
    size_t count;
    struct job_member *members;
};

/* Names processes of one launcher after it if they don't know their job and there are at least two. Only before the snapshot is
 * published. */
void jobs_assign(struct snapshot *s);

/* The job of this process; "": none. A desktop sandbox or a whole system in a container isn't a job. */
void process_job_id(const struct process *p, char *to, size_t size);

/* 0 or -ENOMEM. The members point into the snapshot. */
int jobs_find(struct jobs *ret, const struct snapshot *s);
void jobs_done(struct jobs *jobs);
#define AUTO_JOBS __attribute__((cleanup(jobs_done)))
