/* SPDX-License-Identifier: Apache-2.0
 * What a scrape costs here: 8 GPUs with every reading and 100 processes, as Prometheus text with the labels of all series, and
 * as OpenMetrics.
 */
#include <stdio.h>

#include "base/cleanup.h"
#include "figure.h"
#include "format/prometheus/prometheus.h"
#include "host.h"

enum { GPUS = 8, PROCESSES = 100, ROUNDS = 200 };
#define LIMIT_MS 0.8

/* The fields of dcgm-exporter that we have under our own names, too. */
static const enum metric fields[] = {
    METRIC_clock_sm_khz,
    METRIC_clock_memory_khz,
    METRIC_temp_mdegc,
    METRIC_temp_memory_mdegc,
    METRIC_power_mw,
    METRIC_energy_mj,
    METRIC_pcie_replays,
    METRIC_util_permille,
    METRIC_mem_util_permille,
    METRIC_encoder_permille,
    METRIC_decoder_permille,
    METRIC_mem_free_bytes,
    METRIC_mem_used_bytes,
    METRIC_graphics_active_permille,
    METRIC_tensor_active_permille,
    METRIC_dram_active_permille,
    METRIC_pcie_tx_bytes_per_s,
    METRIC_pcie_rx_bytes_per_s,
};
static const char *const theirs[] = {
    "SM_CLOCK",
    "MEM_CLOCK",
    "GPU_TEMP",
    "MEMORY_TEMP",
    "POWER_USAGE",
    "TOTAL_ENERGY_CONSUMPTION",
    "PCIE_REPLAY_COUNTER",
    "GPU_UTIL",
    "MEM_COPY_UTIL",
    "ENC_UTIL",
    "DEC_UTIL",
    "FB_FREE",
    "FB_USED",
    "GR_ENGINE_ACTIVE",
    "PIPE_TENSOR_ACTIVE",
    "DRAM_ACTIVE",
    "PCIE_TX_BYTES",
    "PCIE_RX_BYTES",
};
_Static_assert(ARRAY_LEN(fields) == ARRAY_LEN(theirs), "one name each");

/* Whether the line, or what its family says of itself, is about a series of this name. */
static bool is_about(struct str line, const char *name)
{
    for (size_t i = 0; i < 2; i++)
        if (str_starts(line, i ? "# TYPE " : "# HELP "))
            line = (struct str){line.at + 7, line.len - 7};
    size_t len = strlen(name);
    return str_starts(line, name) && line.len > len && (line.at[len] == '{' || line.at[len] == ' ');
}

static size_t bytes_of(struct str text, bool dcgm)
{
    size_t bytes = 0;
    struct str line;
    char name[96];
    while (str_cut(&text, '\n', &line))
        for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
            snprintf(name, sizeof name, "DCGM_FI_%s_%s", i < 13 ? "DEV" : "PROF", theirs[i]);
            if (is_about(line, dcgm ? name : metric_table[fields[i]].prometheus))
                bytes += line.len + 1;
        }
    return bytes;
}

/* The same readings under our names with our labels, and under dcgm-exporter's with its own: a scrape must not cost more. */
static bool compare_bytes(const struct snapshot *s)
{
    const struct prometheus_options options = {.sets = PROMETHEUS_DCGM_OLD};
    const struct prometheus_extra extra = {.options = &options};
    AUTO_BUF struct buf text = BUF(PROMETHEUS_MAX);
    prometheus_write(&text, s, &extra);
    size_t dcgm = bytes_of(buf_view(&text), true); /* its labels are complete */
    prometheus_add_labels(&text, s->host.name, NULL);
    size_t own = bytes_of(buf_view(&text), false);
    printf("%zu fields of %d GPUs: %zu bytes, under dcgm-exporter's names and labels %zu\n", ARRAY_LEN(fields), GPUS, own, dcgm);
    return figure("bytes of /metrics, as part of dcgm-exporter's for the same fields",
                  100.0 * (double)own / (double)MAX_OF(dcgm, (size_t)1), "%", false, 100, "dcgm-exporter");
}

static double round_ms(const struct snapshot *s, size_t *bytes)
{
    struct mono start = clock_mono(&clock_system);
    AUTO_BUF struct buf text = BUF(PROMETHEUS_MAX);
    AUTO_BUF struct buf open = BUF(PROMETHEUS_MAX);
    prometheus_write(&text, s, NULL);
    prometheus_add_labels(&text, s->host.name, NULL);
    openmetrics_from_prometheus(buf_view(&text), &open);
    *bytes = open.len;
    return (double)(clock_mono(&clock_system).ns - start.ns) / 1e6;
}

int main(void)
{
    struct snapshot *s = full_host(GPUS, PROCESSES);
    if (!s)
        return 1;
    size_t bytes = 0, lines = 0;
    double best = 1e9, sum = 0;
    for (int i = 0; i < ROUNDS; i++) {
        double ms = round_ms(s, &bytes);
        best = MIN_OF(best, ms);
        sum += ms;
    }
    AUTO_BUF struct buf text = BUF(PROMETHEUS_MAX);
    prometheus_write(&text, s, NULL);
    for (size_t i = 0; i < text.len; i++)
        lines += text.at[i] == '\n' && i + 1 < text.len && text.at[i + 1] != '#';
    bool fine = compare_bytes(s);
    snapshot_unref(s);
    printf("a scrape of %d GPUs and %d processes: %zu series, %zu bytes, best %.3f ms, mean %.3f ms (limit %.1f ms)%s\n", GPUS,
           PROCESSES, lines, bytes, best, sum / ROUNDS, LIMIT_MS, best <= LIMIT_MS ? "" : "   OVER THE LIMIT");
    return figure("CPU of a scrape of /metrics, 8 GPUs and 100 processes", best, "ms", false, LIMIT_MS, "") && fine ? 0 : 1;
}
