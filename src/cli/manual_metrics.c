/* SPDX-License-Identifier: Apache-2.0
 * Every metric with its names and meaning, from the metric table.
 */

#include "cli/command.h"
#include "model/metric.h"

static void item(struct buf *out, const struct page *page, const char *key, const char *prometheus, const char *help)
{
    buf_text(out, "  ");
    page_cell(out, page, INK_STRONG, LEFT, key, width_of(key));
    if (prometheus[0]) {
        buf_text(out, "  ");
        page_ink(out, page, INK_FAINT, str_from(prometheus));
    }
    buf_text(out, "\n      ");
    page_wrap(out, page, INK_PLAIN, help, 6, 6);
}

static void heading(struct buf *out, const struct page *page, const char *text)
{
    page_wrap(out, page, INK_STRONG, text, 0, 0);
}

void manual_metrics(struct buf *out, const struct page *page)
{
    heading(out, page, "Metrics of a GPU: key in JSON, and name in Prometheus");
    for (size_t i = 0; i < METRIC_COUNT; i++)
        item(out, page, metric_table[i].json, metric_table[i].prometheus, metric_table[i].help);
    buf_char(out, '\n');
    heading(out, page, "Properties of a GPU");
    for (size_t i = 0; i < PROPERTY_COUNT; i++)
        item(out, page, property_table[i].json, "", property_table[i].help);
    buf_char(out, '\n');
    heading(out, page, "Metrics of a process on a GPU");
    for (size_t i = 0; i < PROCESS_METRIC_COUNT; i++)
        item(out, page, process_metric_table[i].json, "", process_metric_table[i].help);
    buf_char(out, '\n');
    heading(out, page, "Metrics of the host, host.NAME in alert rules");
    for (size_t i = 0; i < HOST_METRIC_COUNT; i++)
        item(out, page, host_metric_table[i].json, host_metric_table[i].prometheus, host_metric_table[i].help);
}
