/* SPDX-License-Identifier: Apache-2.0
 * The list of processes that a driver of accelerators keeps, and the fdinfo of an NPU's client. Every PID is positive and there
 * once; no sum of memory is more than a file may say.
 */
#include <stdlib.h>

#include "source/drm/card_source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = {(const char *)data, size};
    struct gpu gpu = {0};
    struct fdinfo info;
    card_take_pids(text, &gpu);
    for (size_t i = 0; i < gpu.process_count; i++)
        if (gpu.processes[i].pid <= 0 || gpu_find_process(&gpu, gpu.processes[i].pid) != &gpu.processes[i])
            abort();
    gpu_done(&gpu);
    if (fdinfo_parse(text, &info) && (info.engine_count > FDINFO_ENGINES || info.system_bytes > (UINT64_C(16) << 52)))
        abort();
    return 0;
}
