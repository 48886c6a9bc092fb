/* SPDX-License-Identifier: Apache-2.0
 * GET /api/why/cpu: where a program on a GPU spends its CPU time. Sampling takes a second, so a thread of its own does it and the
 * request is parked meanwhile; one at a time.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/env.h"
#include "base/mailbox.h"
#include "host/evidence/address_samples.h"
#include "http/conn.h"

struct exchange;
struct loop;

struct cpu_samples {
    struct env env;
    struct mailbox *done;
    struct watch *watch;
    struct conn *conn; /* who asked, and still waits */
    pthread_t thread;
    bool running;
    bool finished; /* the result is for `conn` */
    int32_t pid;
    struct address_samples result;
};

int cpu_samples_init(struct cpu_samples *s, struct loop *loop);
/* Waits for the thread: a second at most. */
void cpu_samples_end(struct cpu_samples *s);
void cpu_samples_done(struct cpu_samples *s);

void get_why_cpu(struct exchange *x);
