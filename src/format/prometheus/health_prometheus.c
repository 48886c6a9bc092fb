/* SPDX-License-Identifier: Apache-2.0
 * Series of the GPUs' health.
 */
#include "format/health.h"

#include "format/prometheus/prometheus.h"

void prometheus_health(struct buf *out, const struct health *health)
{
    if (health->count == 0)
        return;
    prometheus_head(out, "whirr_gpu_health", "gauge", "Health of the GPU: 1 for the state that holds, 0 for the others");
    for (size_t i = 0; i < health->count; i++)
        for (enum health_state state = HEALTH_UNKNOWN; state <= HEALTH_LOST; state++) {
            const struct health_verdict *v = &health->verdicts[i];
            buf_text(out, "whirr_gpu_health{");
            prometheus_id_labels(out, v->gpu_index, &v->id, v->simulated);
            prometheus_label(out, false, "state", health_state_name(state));
            buf_printf(out, "} %d\n", v->state == state);
        }
}
