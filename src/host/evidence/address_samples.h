/* SPDX-License-Identifier: Apache-2.0
 * Where a program spends its CPU time, for a person who asks: samples the addresses that its threads execute, grouped by object
 * file. A thread that spins for a GPU computes as hard as one that prepares data; the file tells them apart. The kernel takes the
 * samples (perf_event_open) without stopping or attaching to the program, and no stack is read.
 */
#pragma once

#include "base/env.h"
#include "base/str.h"
#include "model/reading.h"

enum address_group {
    ADDRESS_PYTHON,
    ADDRESS_DRIVER,    /* the GPU driver's library, where a program waits for its GPU, and the clock it reads meanwhile */
    ADDRESS_COMPILER,  /* compiles GPU code */
    ADDRESS_PROGRAM,   /* the program's own executable */
    ADDRESS_LIBRARIES, /* PyTorch, BLAS, the C library, ... */
    ADDRESS_KERNEL,    /* or unknown: code outside any file */
    ADDRESS_GROUPS
};

enum { ADDRESS_OBJECTS = 4, ADDRESS_NAME_SIZE = 48, ADDRESS_WHY_SIZE = 256, ADDRESS_WORDS = 320 };

struct address_samples {
    enum reading_state state;   /* READING_OK, or why there is no result */
    char why[ADDRESS_WHY_SIZE]; /* for people: what would permit it; "" on success */
    int64_t over_ms, samples, threads;
    int64_t cpu_permille;             /* of one core, over all sampled threads */
    int64_t permille[ADDRESS_GROUPS]; /* of the CPU time */
    struct address_object {
        char name[ADDRESS_NAME_SIZE]; /* "libtorch_cpu.so" */
        int64_t permille;
    } objects[ADDRESS_OBJECTS]; /* busiest first; "" none */
    struct address_function {
        char name[ADDRESS_NAME_SIZE], object[ADDRESS_NAME_SIZE]; /* "dequantize_row", "libggml-cpu.so" */
        int64_t permille;
    } functions[ADDRESS_OBJECTS]; /* of code that isn't Python's or the driver's, as far as files have names; "" none */
    bool functions_named;         /* false: not asked for */
};

/* Samples for `ms`, or returns at once if not permitted; `ret` has the reason. Functions are named from the program's own files,
 * with the rights of this process: not for a person who asks through a daemon. */
void address_samples_take(const struct env *env, int32_t pid, int64_t ms, bool functions, struct address_samples *ret);

/* A sampler that runs between two looks. 0 or -errno: not permitted, or no such thread. */
struct address_sampler;
int address_sampler_new(struct address_sampler **ret, const struct env *env, int32_t pid, const int32_t *tids, size_t count,
                        int frequency);
void address_sampler_free(struct address_sampler *s);
void address_sampler_read(struct address_sampler *s, struct address_samples *ret); /* since its creation or the last restart */
void address_sampler_restart(struct address_sampler *s);

/* "81% of its CPU time is Python code, 14% waits in libcuda", or why it is unknown. */
const char *address_samples_words(const struct address_samples *s, char out[ADDRESS_WORDS]);

const char *address_group_name(enum address_group group); /* "python", for the API */
/* By file name; `program`: the process's own executable. "" is memory without a file. */
enum address_group address_group_of(struct str path, bool program);

struct str address_file_name(struct str path); /* without directories */

/* ---- One executable mapping of /proc/PID/maps. A pure function of its text. ---- */

struct address_map {
    uint64_t from, to, offset; /* in the file */
    struct str path;           /* "" none; points into the text */
};
/* False: invalid, or not executable. */
bool address_map_parse(struct str line, struct address_map *ret);
