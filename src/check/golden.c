/* SPDX-License-Identifier: Apache-2.0
 * Known answers, computed on the CPU by the very lines that the GPU runs.
 */
#include <stdint.h>

#include "check/compute.h"
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
