/* SPDX-License-Identifier: Apache-2.0
 * Series of alerts.
 */
#include "format/alert.h"

#include <stdio.h>
#include <string.h>

#include "format/prometheus/prometheus.h"

static bool same_series(const struct alert *a, const struct alert *b)
{
    return a->gpu_index == b->gpu_index && a->severity == b->severity && strcmp(a->rule, b->rule) == 0;
}

/* Alerts of several processes on one GPU form one series: PIDs are not labels. */
static void write_phase(struct buf *out, const struct alert_set *set, enum alert_phase phase, const char *name, const char *help)
{
    prometheus_head(out, name, "gauge", help);
    for (size_t i = 0; i < set->count; i++) {
        const struct alert *a = set->list[i];
        size_t before = 0, count = 0;
        char gpu[16] = "";
        for (size_t k = 0; k < set->count; k++)
            if (set->list[k]->state.phase == phase && same_series(a, set->list[k])) {
                before += k < i;
                count++;
            }
        if (a->state.phase != phase || before)
            continue;
        if (a->gpu_index >= 0)
            snprintf(gpu, sizeof gpu, "%d", a->gpu_index);
        buf_printf(out, "%s{", name);
        prometheus_label(out, true, "alert", a->rule);
        prometheus_label(out, false, "severity", severity_text(a->severity));
        prometheus_label(out, false, "gpu", gpu);
        buf_char(out, '}');
        prometheus_value(out, (double)count);
        buf_char(out, '\n');
    }
}

void prometheus_alerts(struct buf *out, const struct alert_set *set)
{
    size_t silenced = 0, rules = 0;
    for (size_t i = 0; i < set->count; i++)
        silenced += set->list[i]->state.phase == ALERT_FIRING && set->list[i]->silenced_by[0];
    for (size_t i = 0; i < set->rules->count; i++)
        rules += set->rules->list[i].enabled;
    write_phase(out, set, ALERT_FIRING, "whirr_alert_firing", "Alerts that fire, of one rule and GPU");
    write_phase(out, set, ALERT_PENDING, "whirr_alert_pending", "Alerts whose condition holds, but not long enough yet");
    prometheus_head(out, "whirr_alerts_silenced", "gauge", "Firing alerts whose notifications are silenced");
    buf_printf(out, "whirr_alerts_silenced %zu\n", silenced);
    prometheus_head(out, "whirr_alerts_fired_total", "counter", "Alerts that began to fire since the start");
    buf_printf(out, "whirr_alerts_fired_total %llu\n", (unsigned long long)set->fired_total);
    prometheus_head(out, "whirr_alert_rules", "gauge", "Alert rules that are evaluated");
    buf_printf(out, "whirr_alert_rules %zu\n", rules);
}
