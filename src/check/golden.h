/* SPDX-License-Identifier: Apache-2.0
 * Known answers, and the sizes that kernels and CPU agree on.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { GOLDEN_ROUNDS = 16, GOLDEN_STEPS = 1024, GOLDEN_PRODUCTS = 8, GOLDEN_RECORDS = 64, GOLDEN_STORM = 65536 };
enum { GOLDEN_TENSOR = GOLDEN_PRODUCTS * 32 * 4, FOUND_WORDS = 4 + GOLDEN_RECORDS * 4 };

void golden_floats(uint32_t *answers, uint32_t lanes, uint32_t seed, bool fold); /* GOLDEN_ROUNDS * lanes */
void golden_whole(uint32_t *answers, uint32_t lanes, uint32_t seed);
void golden_tensor(float *answers, uint32_t seed); /* GOLDEN_TENSOR */
uint32_t golden_mix(uint32_t h);
