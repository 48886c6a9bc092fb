/* SPDX-License-Identifier: Apache-2.0
 * The kernel's trace of drm's scheduler, with names that programs choose.
 */
#include "host/gpu_queue.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct queue_look look;
    if (queue_judge((struct str){(const char *)data, size}, &look) == 0)
        for (size_t i = 0; i < look.count; i++)
            if (look.pairs[i].waited_ns <= 0)
                __builtin_trap();
    return 0;
}
