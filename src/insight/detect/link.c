/* SPDX-License-Identifier: Apache-2.0
 * The PCIe link under load. Links of idle GPUs rest, and a generation follows the load with a delay; the number of lanes does not
 * change while a GPU works. Health says the same after a minute, for both.
 */
#include "insight/detect/detect.h"
#include "insight/detect/health_look.h"

void detect_link(const struct facts *f, struct collection *c)
{
    const struct gpu *gpu = f->gpu;
    int64_t load, lanes, most;
    if (!reading_get(gpu->util_permille, &load) || load < HEALTH_LOAD || !reading_get(gpu->pcie_width, &lanes) || lanes <= 0 ||
        !reading_get(gpu->pcie_width_max, &most) || lanes >= most)
        return;
    collect(c, gpu, FINDING_PCIE_LINK, SEVERITY_WARNING, 0.95, 0, "GPU %d: its PCIe link has %lld of %lld lanes under load",
            gpu->index, (long long)lanes, (long long)most);
}
