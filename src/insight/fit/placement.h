/* SPDX-License-Identifier: Apache-2.0
 * Where does it fit? Pure: capacity and a request in; GPUs, what would have to be evicted, or what is missing out.
 *
 *   1. without disturbing any program: one GPU, else as few as possible
 *   2. the same with workers of the guard evicted: as few of them as needed
 *   3. else how much is missing
 *
 * A GPU whose memory is not known never makes something fit; when it could have, the answer is "unknown".
 */
#pragma once

#include "insight/fit/capacity.h"

enum { PLACEMENT_COPIES_MAX = 64, PLACEMENT_GPUS_MAX = 64, PLACEMENT_REASON_SIZE = 640 };

struct placement_request {
    int64_t bytes;         /* of one copy, all together */
    int64_t fixed_bytes;   /* besides, on every GPU that takes part: context, buffers */
    const int64_t *layers; /* parts that stay whole, in order; they add up to `bytes`. NULL: it can be cut anywhere */
    size_t layer_count;
    int gpus;   /* exactly so many a copy; 0: as few as possible */
    int count;  /* copies; 0: one */
    bool even;  /* equal shares (tensor parallel); else in proportion to the room */
    bool whole; /* one GPU a copy: nothing is known about how it could be divided. Not with `gpus` */
    bool no_eviction;
    int only; /* index of the one card that may be used, with its instances; -1: all */
};

struct placement_share {
    size_t gpu; /* position in the capacity */
    int64_t bytes;
    size_t layers; /* 0 where the request has none */
};

struct placement_copy {
    size_t share_count;
    struct placement_share shares[PLACEMENT_GPUS_MAX]; /* in index order */
};

enum placement_verdict { PLACEMENT_DOES_NOT_FIT, PLACEMENT_FITS, PLACEMENT_UNKNOWN };

struct placement {
    enum placement_verdict verdict;
    size_t copy_count; /* as many as requested when it fits, else 0 */
    struct placement_copy copies[PLACEMENT_COPIES_MAX];
    size_t evicted_count; /* 0: it fits as things are */
    char evicted[CAPACITY_WORKERS_MAX][CAPACITY_WORKER_SIZE];
    int64_t missing_bytes; /* 0 when it fits; -1 unknown */
    size_t could_split;    /* `whole` does not fit, but over so many GPUs it would; 0: not even so */
    char reason[PLACEMENT_REASON_SIZE];
};

/* NULL with errno: ENOMEM, or ERANGE for a request without sense (negative sizes, too many copies). Free with free(). */
struct placement *placement_find(const struct capacity *c, const struct placement_request *request);

/* A GPU that shares the host's memory beside others is used only where it is named. */
static inline bool placement_may_use(const struct placement_request *request, const struct capacity_gpu *gpu)
{
    return gpu->usable && (request->only < 0 ? !gpu->only_if_named : request->only == gpu->index);
}
