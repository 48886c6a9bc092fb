/* SPDX-License-Identifier: Apache-2.0
 * Who waits for whom in the queues of a GPU, from the kernel's trace of drm's scheduler (amdgpu, xe, nouveau, etnaviv, ...):
 *
 *   glxgears-4242 [003] ..... 81.25: drm_sched_job_queue: dev=0000:03:00.0, fence=12:345, ring=gfx_0.0.0, job count:1, ...
 *   kworker-71    [001] ..... 81.26: drm_sched_job_run: dev=0000:03:00.0, fence=12:345, ring=gfx_0.0.0, ...
 *   <idle>-0      [001] d.h.. 81.31: drm_sched_job_done: fence=12:345 signaled
 *
 * Before Linux 6.16 the events have other names and no device. A ring runs its jobs one after another.
 */
#pragma once

#include "base/env.h"
#include "base/error.h"
#include "base/str.h"

enum { QUEUE_PAIRS_MAX = 32, QUEUE_RING_SIZE = 32, QUEUE_NAME_SIZE = 24, QUEUE_TEXT_MAX = 32 << 20 };

struct queue_pair {
    int32_t waiter, holder; /* threads that submitted; the same: it waits for its own work */
    char waiter_name[QUEUE_NAME_SIZE], holder_name[QUEUE_NAME_SIZE];
    char device[QUEUE_NAME_SIZE], ring[QUEUE_RING_SIZE]; /* "0000:03:00.0", "" unknown; "gfx_0.0.0" */
    int64_t waited_ns;
    int64_t jobs;
};

struct queue_look {
    struct queue_pair pairs[QUEUE_PAIRS_MAX]; /* the longest waits first */
    size_t count;
    int64_t jobs, lost; /* seen to the end; events that the kernel dropped */
};

/* Pure. 0 or -ENOMEM. */
int queue_judge(struct str trace, struct queue_look *ret);

/* Traces for a time, in an instance of its own that is removed afterwards; root only. -EPERM, -ENOENT (no tracefs, or a kernel
 * without these events), -EBUSY (another one is at it), each with what to do. */
int queue_take(const struct env *env, int64_t ms, struct queue_look *ret, struct error *err);
