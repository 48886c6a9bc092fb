/* SPDX-License-Identifier: Apache-2.0
 * Memory size of an Intel card. No file has it: ask the driver through the render node. These parse the drivers' answers: device
 * memory of all regions; 0: none.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

uint64_t intel_vram_from_i915(const void *answer, size_t size);
uint64_t intel_vram_from_xe(const void *answer, size_t size);
