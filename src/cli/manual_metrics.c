/* SPDX-License-Identifier: Apache-2.0
 * Every metric with its names and meaning, from the metric table.
 */
#include <stdio.h>

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

/* How often it is read, where that is not with every sample. */
static const char *group_word(enum metric_group group)
{
    switch (group) {
    case GROUP_STATIC: return " (once)";
    case GROUP_SLOW: return " (10 s)";
    case GROUP_RARE: return " (30 s)";
    default: return "";
    }
}

static void markdown_item(struct buf *out, const char *json, const char *prometheus, const char *help, const char *when)
{
    buf_printf(out, "- `%s`", json);
    if (prometheus[0])
        buf_printf(out, ", `%s`", prometheus);
    buf_printf(out, ": %s%s\n", help, when);
}

void manual_metrics_markdown(struct buf *out)
{
    buf_text(out,
             "# Metrics\n\n"
             "Every reading of whirr: its key in JSON, its name in Prometheus if it has a series, its meaning, and how often it is "
             "read if not with every sample. A reading that is absent is `null` in JSON, with its reason in `absent`, and has no "
             "series in Prometheus. Written by `whirr help metrics --markdown` from `src/model/*.def`.\n\n## Of a GPU\n\n");
    for (size_t i = 0; i < METRIC_COUNT; i++) {
        const struct metric_info *m = &metric_table[i];
        markdown_item(out, m->json, m->prometheus, m->help, group_word(m->group));
    }
    buf_text(out, "\n## Properties of a GPU\n\nAlso labels of `gpu_info` in Prometheus.\n\n");
    for (size_t i = 0; i < PROPERTY_COUNT; i++)
        markdown_item(out, property_table[i].json, "", property_table[i].help, "");
    buf_text(out, "\n## Of a process on a GPU\n\n"
                  "In Prometheus, processes of the same name, user and container are added up: `gpu_processes`, "
                  "`gpu_process_memory_bytes`, `gpu_process_utilization_percent`, `gpu_process_power_watts`. `gpu_process_limit` "
                  "is the share of the time, 0 to 1, in which what its label `limit` names limited them.\n\n");
    for (size_t i = 0; i < PROCESS_METRIC_COUNT; i++)
        markdown_item(out, process_metric_table[i].json, "", process_metric_table[i].help, "");
    buf_text(out, "\n## Of the host\n\nIn the object `machine` of `/api/gpu/metrics`, and as `host.NAME` in alert rules. Rates and "
                  "shares of CPU time need a second sample.\n\n");
    for (size_t i = 0; i < HOST_METRIC_COUNT; i++)
        markdown_item(out, host_metric_table[i].json, host_metric_table[i].prometheus, host_metric_table[i].help, "");
}
