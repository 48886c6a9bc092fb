/* SPDX-License-Identifier: Apache-2.0
 * What limits a program on a GPU, as plain data. The judgement is in insight/area, its share of time in insight/verdict; the
 * limits are the rows of limits.def.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { LIMIT_NAME_SIZE = 32 };

enum limit {
    LIMIT_UNJUDGED,
#define LIMIT(name, ...) LIMIT_##name,
#include "model/limits.def"
#undef LIMIT
    LIMIT_COUNT
};

/* Where the limit is: after the first three, more of the same GPU wouldn't help. */
enum limit_side { LIMIT_SIDE_NOTHING, LIMIT_SIDE_GPU, LIMIT_SIDE_LINK, LIMIT_SIDE_HOST, LIMIT_SIDE_OTHERS };

/* For one process on one GPU; zeroed: not judged. */
struct process_limit {
    enum limit code;        /* the limit for most of the time */
    int64_t share_permille; /* of the observed time */
    int64_t over_ms;        /* observed time; 0: a single look */
    double confidence;      /* 0 to 1 */
    enum limit second;      /* the limit for most of the rest; LIMIT_UNJUDGED: none */
    int64_t second_permille;
};

const char *limit_name(enum limit limit);                /* "memory_bandwidth", for the API; NULL if not judged */
bool limit_from_name(const char *name, enum limit *ret); /* false: no such name */
const char *limit_words(enum limit limit);               /* "memory bandwidth", after "limited by" */
const char *limit_doing(enum limit limit);               /* "waits for disk", in a table row */
enum limit_side limit_side(enum limit limit);
const char *limit_side_name(enum limit_side side); /* "host" */
