/* SPDX-License-Identifier: Apache-2.0
 * Every metric with its names and meaning, from the metric table.
 */
#include <stdio.h>

#include "cli/command.h"
#include "model/metric.h"

static const char *group_word(enum metric_group group)
{
    switch (group) {
    case GROUP_STATIC: return "once";
    case GROUP_FAST: return "every sample";
    case GROUP_PROCESS: return "every sample";
    case GROUP_SLOW: return "10 s";
    case GROUP_RARE: return "30 s";
    default: return "";
    }
}

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

void manual_metrics_markdown(struct buf *out)
{
    buf_text(
        out,
        "# Metrics\n\n"
        "Every reading of whirr, from `src/model/*.def`; written by `whirr help metrics --markdown`. A reading that is absent is "
        "`null` in JSON, with its reason in `absent`, and has no series in Prometheus.\n\n"
        "## Of a GPU\n\n| JSON | Prometheus | read | meaning |\n|---|---|---|---|\n");
    for (size_t i = 0; i < METRIC_COUNT; i++) {
        const struct metric_info *m = &metric_table[i];
        const char *tick = m->prometheus[0] ? "`" : "";
        buf_printf(out, "| `%s` | %s%s%s | %s | %s |\n", m->json, tick, m->prometheus, tick, group_word(m->group), m->help);
    }
    buf_text(out, "\n## Properties of a GPU\n\nAlso labels of `gpu_info` in Prometheus.\n\n| JSON | meaning |\n|---|---|\n");
    for (size_t i = 0; i < PROPERTY_COUNT; i++)
        buf_printf(out, "| `%s` | %s |\n", property_table[i].json, property_table[i].help);
    buf_text(out, "\n## Of a process on a GPU\n\n"
                  "In Prometheus, processes of the same name, user and container are added up: `gpu_processes`, "
                  "`gpu_process_memory_bytes`, `gpu_process_utilization_percent`, `gpu_process_power_watts`. `gpu_process_limit` "
                  "is the share "
                  "of the time, 0 to 1, in which what its label `limit` names limited them.\n\n"
                  "| JSON | meaning |\n|---|---|\n");
    for (size_t i = 0; i < PROCESS_METRIC_COUNT; i++)
        buf_printf(out, "| `%s` | %s |\n", process_metric_table[i].json, process_metric_table[i].help);
    buf_text(out, "\n## Of the host\n\nIn the object `machine` of `/api/gpu/metrics`, and as `host.NAME` in alert rules. Rates and "
                  "shares of CPU time need a second sample.\n\n| JSON | Prometheus | meaning |\n|---|---|---|\n");
    for (size_t i = 0; i < HOST_METRIC_COUNT; i++)
        buf_printf(out, "| `%s` | `%s` | %s |\n", host_metric_table[i].json, host_metric_table[i].prometheus,
                   host_metric_table[i].help);
}
