/* SPDX-License-Identifier: Apache-2.0
 * What only Linux has: a readable kernel log, samples of where a program's CPU time goes, and the lines of one that runs. Each
 * reports in a sentence that it is missing.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "host/calls/calls.h"
#include "host/evidence/address_samples.h"
#include "host/frames/looks.h"
#include "host/gpu_queue.h"
#include "host/kernel_log.h"

struct kernel_log {
    char message[128];
};

struct kernel_log *kernel_log_open(const struct env *env)
{
    struct kernel_log *log = calloc(1, sizeof *log);
    if (log)
        snprintf(log->message, sizeof log->message, "whirr doesn't read the kernel's log of %s yet", calls_of(env)->name);
    return log;
}

void kernel_log_close(struct kernel_log *log)
{
    free(log);
}

enum kernel_log_state kernel_log_state(const struct kernel_log *log)
{
    (void)log;
    return KERNEL_LOG_ABSENT;
}

const char *kernel_log_message(const struct kernel_log *log)
{
    return log->message;
}

bool kernel_log_next(struct kernel_log *log, struct kernel_line *ret)
{
    (void)log, (void)ret;
    return false;
}

void address_samples_take(const struct env *env, int32_t pid, int64_t ms, bool functions, struct address_samples *ret)
{
    (void)pid, (void)ms, (void)functions;
    *ret = (struct address_samples){.state = READING_UNSUPPORTED};
    snprintf(ret->why, sizeof ret->why, "where it spends its CPU time can't be sampled: whirr doesn't do that on %s yet",
             calls_of(env)->name);
}

int lines_take(const struct env *env, const struct lines_request *request, struct looks *ret, struct error *err)
{
    (void)request, (void)ret;
    return error_set(err, -ENOTSUP, "whirr doesn't look into programs on %s yet", calls_of(env)->name);
}

int queue_take(const struct env *env, int64_t ms, struct queue_look *ret, struct error *err)
{
    (void)ms, (void)ret;
    return error_set(err, -ENOTSUP, "whirr doesn't trace queues on %s", calls_of(env)->name);
}
