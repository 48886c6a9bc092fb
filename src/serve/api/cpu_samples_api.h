/* SPDX-License-Identifier: Apache-2.0
 * GET /api/why/cpu: where a program on a GPU spends its CPU time. Sampling takes a second, so a thread does it while the request is
 * parked; one at a time.
 */
#pragma once

#include <stdint.h>

#include "base/env.h"
#include "host/evidence/address_samples.h"
#include "serve/api/errand.h"

struct cpu_samples {
    struct errand errand;
    struct env env;
    int32_t pid;
    struct address_samples result;
};

int cpu_samples_init(struct cpu_samples *s, struct loop *loop); /* ends with its errand, after at most a second */

void get_why_cpu(struct exchange *x);
