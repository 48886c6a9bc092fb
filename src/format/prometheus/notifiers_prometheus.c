/* SPDX-License-Identifier: Apache-2.0
 * Series of notifiers.
 */
#include "format/notifiers.h"

#include "base/cleanup.h"
#include "format/prometheus/prometheus.h"

static void notifiers_series(struct buf *out, const char *name, const struct notifier_stats *s, uint64_t value)
{
    buf_printf(out, "%s{", name);
    prometheus_label(out, true, "notifier", s->name);
    prometheus_label(out, false, "type", s->type);
    buf_printf(out, "} %llu\n", (unsigned long long)value);
}

void prometheus_notifiers(struct buf *out, const struct notifier_stats *list, size_t count)
{
    if (count == 0)
        return;
    const struct {
        const char *name, *type, *help;
    } metrics[] = {
        {"whirr_notifications_sent_total", "counter", "Notices of alerts that arrived at their target"},
        {"whirr_notifications_failed_total", "counter",
         "Notices that were given up: refused, too old, or pushed out of a full queue"},
        {"whirr_notification_attempts_total", "counter", "Messages to a target, with and without success"},
        {"whirr_notification_errors_total", "counter", "Messages to a target that did not arrive; most are tried again"},
        {"whirr_notifications_queued", "gauge", "Notices that wait for their target"},
    };
    for (size_t m = 0; m < ARRAY_LEN(metrics); m++) {
        prometheus_head(out, metrics[m].name, metrics[m].type, metrics[m].help);
        for (size_t i = 0; i < count; i++) {
            const struct notifier_stats *s = &list[i];
            const uint64_t values[] = {s->sent_total, s->failed_total, s->attempts_total, s->errors_total, s->queued};
            notifiers_series(out, metrics[m].name, s, values[m]);
        }
    }
}
