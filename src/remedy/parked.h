/* SPDX-License-Identifier: Apache-2.0
 * What open contexts cost while their GPU rests: the step that was measured when one came or went, at most what the GPU draws above
 * its power without any, and shared evenly by the programs that hold one. While the GPU works they cost nothing more. Pure.
 *
 *   power = idle + parked + work + what no process explains
 */
#pragma once

#include "model/gpu.h"
#include "remedy/effect.h"

/* The newest step of each GPU. */
struct parked_steps {
    size_t count;
    struct parked_step {
        char gpu[GPU_UUID_SIZE];
        int64_t step_mw, alone_mw; /* with a context above without one; without one */
    } list[GPU_MAX];
};

void parked_note(struct parked_steps *steps, const struct effect *e);
/* Adds to each process's power what its context costs. No step yet, or a list that is not whole: pending. */
void parked_charge(const struct parked_steps *steps, struct gpu *gpu);
