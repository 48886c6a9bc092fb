/* SPDX-License-Identifier: Apache-2.0
 * Processes that belong together: the ranks of a Slurm job, of a torchrun or mpirun, the processes of a pod or a container. Pure.
 */
#pragma once

#include "model/snapshot.h"

struct job_member {
    const struct gpu *gpu;
    const struct process *process;
};

/* At least two processes on GPUs, or one that says that there are others elsewhere. */
struct job {
    char id[PROCESS_CONTAINER_NAME_SIZE]; /* of its launcher or scheduler; "NAMESPACE/POD"; a container */
    struct job_member *members;           /* by rank, then by GPU: one for each process and GPU */
    size_t count;
    size_t processes;          /* different ones */
    struct reading world_size; /* how many there are, here and elsewhere, as they say */
};

struct jobs {
    struct job *list; /* by id */
    size_t count;
    struct job_member *members;
};

/* Processes of one launcher that do not know the name of their job get that of the launcher, if there are two of them. For a
 * snapshot that is not published yet. */
void jobs_assign(struct snapshot *s);

/* What a job of this process is called; "" if it has none of its own. A desktop's sandbox or a whole system in a container is not
 * a job. */
void process_job_id(const struct process *p, char *to, size_t size);

/* 0 or -ENOMEM. The members point into the snapshot. */
int jobs_find(struct jobs *ret, const struct snapshot *s);
void jobs_done(struct jobs *jobs);
#define AUTO_JOBS __attribute__((cleanup(jobs_done)))
/* NULL: there is none of that name. */
const struct job *jobs_get(const struct jobs *jobs, const char *id);
