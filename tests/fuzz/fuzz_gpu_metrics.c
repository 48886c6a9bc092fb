/* SPDX-License-Identifier: Apache-2.0
 * gpu_metrics: no byte of the table is trusted, and no field is made up beyond its end.
 */
#include <stdlib.h>

#include "source/amdgpu/amdgpu_read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct gpu_metrics m;
    struct throttle_memory memory = {0};
    struct reading none = reading_absent(READING_UNSUPPORTED);
    if (!gpu_metrics_decode(data, size, 0, &m))
        return 0;
    for (int field = 0; field < GM_COUNT; field++) {
        const struct gm_slot *slot = &m.slots[field];
        require((size_t)slot->offset + (size_t)slot->width * slot->count <= size);
        int64_t value;
        for (unsigned i = 0; i < slot->count; i++)
            gpu_metrics_raw(&m, (enum gm_field)field, i, &value);
        require(!gpu_metrics_raw(&m, (enum gm_field)field, slot->count, &value));
        struct reading share = gpu_metrics_permille(&m, (enum gm_field)field);
        require(share.state != READING_OK || (share.value >= 0 && share.value <= 1000));
        gpu_metrics_mdegc(&m, (enum gm_field)field);
    }
    for (unsigned i = 0; i < GPU_METRICS_PARTITIONS + 2; i++)
        gpu_metrics_partition_permille(&m, i);
    gpu_metrics_khz(&m, GM_GFXCLK_NOW, GM_GFXCLK_AVERAGE);
    gpu_metrics_pcie_generation(&m);
    gpu_metrics_power_mw(&m);
    for (int again = 0; again < 2; again++)
        amdgpu_throttle(&m, none, none, &memory);
    return 0;
}
