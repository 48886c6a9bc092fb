/* SPDX-License-Identifier: Apache-2.0
 * The compute APIs in the order in which a GPU is looked for, the names of the kernels, and their known answers, computed on the
 * CPU by the very lines that the GPU runs.
 */
#include "check/compute.h"

#include <stdint.h>

const char *const compute_kernel_names[KERNEL_COUNT] = {
    [KERNEL_MEMORY_WRITE] = "memory_write",   [KERNEL_MEMORY_VERIFY] = "memory_verify", [KERNEL_STREAM_READ] = "stream_read",
    [KERNEL_STREAM_WRITE] = "stream_write",   [KERNEL_STREAM_COPY] = "stream_copy",     [KERNEL_CHAIN_WRITE] = "chain_write",
    [KERNEL_CHAIN_FOLLOW] = "chain_follow",   [KERNEL_ANSWER_FLOATS] = "answer_floats", [KERNEL_ANSWER_WHOLE] = "answer_whole",
    [KERNEL_ANSWER_TENSOR] = "answer_tensor",
};

const struct compute_ops *const compute_apis[] = {&compute_cuda, &compute_opencl, NULL};

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#include "check/kernels.h"
#pragma GCC diagnostic pop

_Static_assert(GOLDEN_ROUNDS == ROUNDS && GOLDEN_STEPS == STEPS && GOLDEN_PRODUCTS == PRODUCTS && GOLDEN_RECORDS == RECORDS &&
                   GOLDEN_STORM == STORM,
               "as the kernels have it");

void golden_floats(uint32_t *answers, uint32_t lanes, uint32_t seed, bool fold)
{
    for (uint32_t i = 0; i < lanes * ROUNDS; i++)
        answers[i] = map_floats(seed + i, fold);
}

void golden_whole(uint32_t *answers, uint32_t lanes, uint32_t seed)
{
    for (uint32_t i = 0; i < lanes * ROUNDS; i++)
        answers[i] = map_whole(seed + i);
}

void golden_tensor(float *answers, uint32_t seed)
{
    for (uint32_t p = 0; p < PRODUCTS; p++)
        for (uint32_t lane = 0; lane < 32; lane++)
            for (uint32_t n = 0; n < 4; n++)
                answers[(p * 32 + lane) * 4 + n] = matrix_answer(seed, p, lane, n);
}

uint32_t golden_mix(uint32_t h)
{
    return mix(h);
}
