/* SPDX-License-Identifier: Apache-2.0
 * Which rank of a job the others wait for. A collective ends when the last rank has come: the others spin inside a kernel
 * meanwhile, 100% busy and next to nothing at work, and the one that differs is the cause.
 */
#pragma once

#include "insight/area/area.h"
#include "model/job.h"

/* Why a rank is late, strongest evidence first. */
enum late {
    LATE_UNKNOWN,
    LATE_GPU,     /* its GPU is lost or fails */
    LATE_STOPPED, /* the process is stopped */
    LATE_ENDED,   /* there is no process of this rank any more */
    LATE_SILENT,  /* it does not answer the others, as they say */
    LATE_BEHIND,  /* it has not come to their collective, as the job's own traces say */
    LATE_LIMIT,   /* what limits the process on its host or its links */
    LATE_SLOWED,  /* its GPU is slowed down */
    LATE_LINK,    /* its link is narrower than those of the others */
    LATE_SHARED,  /* other programs are on its GPU */
    LATE_COMPUTES,
    LATE_IDLE, /* it does nothing */
};

struct job_wait {
    const struct job *job;
    const bool *waits; /* of each member */
    size_t waiting;
    const struct job_member *late; /* the first that the others wait for; NULL: none of this host that is there */
    size_t late_count;
    struct reading ended; /* the rank that is missing here, or does not answer */
    enum late why;
    double confidence;
};

struct job_waits {
    struct jobs jobs;
    struct job_wait *list; /* jobs that wait */
    size_t count;
    bool *waits;
};

/* 0 or -ENOMEM. What it finds points into the snapshot. */
int job_waits_find(struct job_waits *ret, const struct snapshot *now);
void job_waits_done(struct job_waits *w);
#define AUTO_JOB_WAITS __attribute__((cleanup(job_waits_done)))

/* The wait that this GPU takes part in, as one that waits (`late` false) or as the late one; NULL: none. */
const struct job_wait *job_waits_of(const struct job_waits *w, const struct gpu *gpu, bool late);
/* Of a process of a snapshot that is not published yet: it waits inside a kernel, for another rank. */
void job_waits_mark(const struct job_waits *w, struct snapshot *now);

enum { JOB_WORDS = 224, JOB_GPU_WORDS = 64 };
/* "GPUs 0-2 and 4-7 are waiting for GPU 3, where train.py (alice, job 4711) waits for disk" */
const char *job_wait_words(const struct job_wait *w, bool over, char out[JOB_WORDS]);
/* "GPU 3", "rank 3", "each other", "another host or the network": the target of the wait. */
const char *job_wait_target(const struct job_wait *w, char out[JOB_GPU_WORDS]);

/* Evidence, advice and the brief line of a GPU whose job waits. */
void answer_job(const struct facts *f, struct why_part *part);
