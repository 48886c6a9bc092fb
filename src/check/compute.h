/* SPDX-License-Identifier: Apache-2.0
 * A compute API behind a table of functions. Used in the helper process only: a driver that hangs or crashes ends nothing else.
 * Work is enqueued between begin() and end(), and is over when poll() says so; nothing here waits for a kernel.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/env.h"
#include "insight/check/judge.h"

enum compute_kernel {
    KERNEL_MEMORY_WRITE,
    KERNEL_MEMORY_VERIFY,
    KERNEL_STREAM_READ,
    KERNEL_STREAM_WRITE,
    KERNEL_STREAM_COPY,
    KERNEL_CHAIN_WRITE,
    KERNEL_CHAIN_FOLLOW,
    KERNEL_ANSWER_FLOATS,
    KERNEL_ANSWER_WHOLE,
    KERNEL_ANSWER_TENSOR,
    KERNEL_COUNT
};
extern const char *const compute_kernel_names[KERNEL_COUNT];

enum { COMPUTE_ARGUMENTS_MAX = 10 };
struct compute_argument {
    enum { ARGUMENT_U32, ARGUMENT_U64, ARGUMENT_BUFFER } kind;
    uint64_t value;
};
#define ARG_U32(v) ((struct compute_argument){ARGUMENT_U32, (v)})
#define ARG_U64(v) ((struct compute_argument){ARGUMENT_U64, (v)})
#define ARG_BUFFER(v) ((struct compute_argument){ARGUMENT_BUFFER, (v)})

struct compute_work {
    enum compute_kernel kernel;
    uint32_t groups, lanes;
    size_t count;
    struct compute_argument arguments[COMPUTE_ARGUMENTS_MAX];
};

struct compute;

/* Functions return 0 or -errno with the driver's own words: -ENOMEM no memory, -EBUSY another program has the GPU for itself, -EIO
 * the GPU failed. */
struct compute_ops {
    const char *name;
    /* The GPU with this UUID or PCI address, never a CPU. -ENOSYS: no such driver; -ENODEV: the driver does not show this GPU. */
    int (*open)(const struct env *env, const char *uuid, const char *pci, struct compute **ret, struct check_device *device,
                struct error *err);
    void (*close)(struct compute *c);
    int (*room)(struct compute *c, int64_t *free_bytes, struct error *err); /* now; -ENOTSUP: the API can't tell */
    int (*allocate)(struct compute *c, int64_t bytes, uint64_t *ret, struct error *err);
    void (*release)(struct compute *c, uint64_t buffer);
    int (*write)(struct compute *c, uint64_t to, const void *from, size_t bytes, struct error *err);
    int (*read)(struct compute *c, void *to, uint64_t from, size_t bytes, struct error *err);
    /* The host's memory that link tests copy from and to; NULL: none. Freed by close(). */
    void *(*pinned)(struct compute *c, size_t bytes);
    int (*copy)(struct compute *c, uint64_t buffer, void *host, size_t bytes, bool to_gpu, struct error *err); /* enqueues */
    int (*launch)(struct compute *c, const struct compute_work *w, struct error *err);                         /* enqueues */
    int (*begin)(struct compute *c, struct error *err);
    int (*end)(struct compute *c, struct error *err);
    int (*poll)(struct compute *c, double *ms, struct error *err); /* 1: over, and how long the GPU took; 0: not yet */
};

extern const struct compute_ops compute_cuda, compute_opencl;
extern const struct compute_ops *const compute_apis[]; /* NULL at the end */

/* ---- Known answers, and the sizes that kernels and CPU agree on ---- */

enum { GOLDEN_ROUNDS = 16, GOLDEN_STEPS = 1024, GOLDEN_PRODUCTS = 8, GOLDEN_RECORDS = 64, GOLDEN_STORM = 65536 };
enum { GOLDEN_TENSOR = GOLDEN_PRODUCTS * 32 * 4, FOUND_WORDS = 4 + GOLDEN_RECORDS * 4 };

void golden_floats(uint32_t *answers, uint32_t lanes, uint32_t seed, bool fold); /* GOLDEN_ROUNDS * lanes */
void golden_whole(uint32_t *answers, uint32_t lanes, uint32_t seed);
void golden_tensor(float *answers, uint32_t seed); /* GOLDEN_TENSOR */
uint32_t golden_mix(uint32_t h);
