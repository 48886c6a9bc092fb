/* SPDX-License-Identifier: Apache-2.0
 * Prometheus text from the metric table. HELP and TYPE precede all series of a name.
 */
#include "format/prometheus/prometheus.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "insight/verdict/health.h"
#include "model/finding.h"
#include "model/finding_code.h"

void prometheus_head(struct buf *out, const char *name, const char *type, const char *help)
{
    buf_text(out, "# HELP ");
    buf_text(out, name);
    buf_char(out, ' ');
    while (*help) {
        size_t plain = strcspn(help, "\\\n");
        buf_add(out, help, plain);
        help += plain;
        if (*help)
            buf_text(out, *help++ == '\\' ? "\\\\" : "\\n");
    }
    buf_text(out, "\n# TYPE ");
    buf_text(out, name);
    buf_char(out, ' ');
    buf_text(out, type);
    buf_char(out, '\n');
}

void prometheus_head_once(struct buf *out, bool *headed, const char *name, const char *type, const char *help)
{
    if (!*headed)
        prometheus_head(out, name, type, help);
    *headed = true;
}

/* Length of the prefix that needs no escape. */
static size_t plain_bytes(struct str s)
{
    size_t len = 0;
    while (len < s.len && (unsigned char)s.at[len] >= ' ' && (unsigned char)s.at[len] < 0x80 && s.at[len] != '"' &&
           s.at[len] != '\\')
        len++;
    return len;
}

void prometheus_label(struct buf *out, bool first, const char *name, const char *value)
{
    prometheus_label_str(out, first, name, str_from(value));
}

void prometheus_label_str(struct buf *out, bool first, const char *name, struct str s)
{
    if (!first)
        buf_char(out, ',');
    buf_text(out, name);
    buf_add(out, "=\"", 2);
    while (s.len) {
        size_t len = plain_bytes(s);
        buf_add(out, s.at, len);
        s = (struct str){s.at + len, s.len - len};
        if (!s.len)
            break;
        len = str_utf8(s);
        if (s.at[0] == '\\' || s.at[0] == '"')
            buf_printf(out, "\\%c", s.at[0]);
        else if (s.at[0] == '\n')
            buf_text(out, "\\n");
        else if (len == 0)
            buf_text(out, "\xef\xbf\xbd");
        else
            buf_add(out, s.at, len);
        len = len ? len : 1;
        s = (struct str){s.at + len, s.len - len};
    }
    buf_char(out, '"');
}

/* Writes digits backwards from `end`; returns where they begin. */
static char *put_digits(uint64_t number, char *end)
{
    do
        *--end = (char)('0' + number % 10);
    while (number /= 10);
    return end;
}

/* Values are integers with a scale: six decimals suffice for nearly all of them, three for large ones, like %.12g; printf()
 * would cost more than the rest of a scrape. */
void prometheus_value(struct buf *out, double value)
{
    char text[64], *end = text + sizeof text, *at = end;
    double size = fabs(value);
    bool whole = size < 9.0e15 && size == floor(size);
    uint64_t number = whole ? (uint64_t)size : 0;
    int decimals = whole ? 0 : size < 1e6 ? 6 : 3;
    if (!whole) {
        double scaled = size * (decimals == 6 ? 1e6 : 1e3), near = nearbyint(scaled);
        if (!(size < 1e9) || size < 1e-3 || fabs(scaled - near) > (decimals == 6 ? 1e-4 : 1e-3)) {
            buf_printf(out, " %.12g\n", value);
            return;
        }
        number = (uint64_t)near;
    }
    *--at = '\n';
    for (; decimals && number % 10 == 0; decimals--)
        number /= 10;
    if (decimals) {
        for (; decimals; decimals--, number /= 10)
            *--at = (char)('0' + number % 10);
        *--at = '.';
    }
    at = put_digits(number, at);
    if (value < 0)
        *--at = '-';
    *--at = ' ';
    buf_add(out, at, (size_t)(end - at));
}

void prometheus_end(struct buf *out, double value)
{
    buf_char(out, '}');
    prometheus_value(out, value);
}

void prometheus_plain(struct buf *out, const char *name, const char *type, const char *help, double value)
{
    prometheus_head(out, name, type, help);
    buf_text(out, name);
    prometheus_value(out, value);
}

void prometheus_id_labels(struct buf *out, int index, const struct gpu_id *id, bool simulated)
{
    char number[16];
    snprintf(number, sizeof number, "%d", index);
    prometheus_label(out, true, "gpu", number);
    prometheus_label(out, false, "uuid", id->uuid);
    prometheus_label(out, false, "name", id->name);
    if (simulated)
        prometheus_label(out, false, "simulated", "true");
}

void prometheus_gpu_labels(struct buf *out, const struct gpu *card, const struct gpu *instance)
{
    prometheus_id_labels(out, card->index, &card->id, card->simulated && !instance);
    if (!instance)
        return;
    prometheus_label(out, false, "mig_uuid", instance->id.uuid);
    prometheus_label(out, false, "profile", instance->profile);
    if (card->simulated)
        prometheus_label(out, false, "simulated", "true");
}

void prometheus_all_labels(const struct snapshot *s, struct prometheus_labels *ret)
{
    *ret = (struct prometheus_labels){.text = BUF(GPU_MAX * 2048)};
    for (size_t i = 0; i < s->gpu_count && i < GPU_MAX; i++) {
        prometheus_gpu_labels(&ret->text, &s->gpus[i], NULL);
        ret->end[i + 1] = ret->text.len;
    }
}

struct str prometheus_labels_of(const struct prometheus_labels *l, size_t gpu)
{
    return l->text.failed ? (struct str){0} : (struct str){l->text.at + l->end[gpu], l->end[gpu + 1] - l->end[gpu]};
}

struct str prometheus_text_of(const struct buf *text, struct prometheus_range range)
{
    return text->failed ? (struct str){0} : (struct str){text->at + range.from, range.to - range.from};
}

void prometheus_series(struct buf *out, struct str name, struct str labels, double value)
{
    if (!buf_reserve(out, name.len + labels.len + 2))
        return;
    buf_str(out, name);
    buf_char(out, '{');
    buf_str(out, labels);
    prometheus_end(out, value);
}

static void instance_series(struct buf *out, const char *name, const struct gpu *card, const struct gpu *instance, double value)
{
    buf_text(out, name);
    buf_char(out, '{');
    prometheus_gpu_labels(out, card, instance);
    prometheus_end(out, value);
}

static bool have_metric(const struct snapshot *s, size_t metric)
{
    for (size_t i = 0; i < s->gpu_count; i++) {
        if (s->gpus[i].metric[metric].state == READING_OK)
            return true;
        for (size_t k = 0; k < s->gpus[i].instance_count; k++)
            if (s->gpus[i].instances[k].metric[metric].state == READING_OK)
                return true;
    }
    return false;
}

static void metrics(struct buf *out, const struct snapshot *s, const struct prometheus_labels *labels)
{
    for (size_t m = 0; m < METRIC_COUNT; m++) {
        const struct metric_info *info = &metric_table[m];
        if (!info->prometheus[0] || !have_metric(s, m))
            continue;
        struct str name = str_from(info->prometheus);
        prometheus_head(out, info->prometheus, info->type == TYPE_COUNTER ? "counter" : "gauge", info->help);
        for (size_t i = 0; i < s->gpu_count; i++) {
            const struct gpu *gpu = &s->gpus[i];
            if (gpu->metric[m].state == READING_OK)
                prometheus_series(out, name, prometheus_labels_of(labels, i),
                                  (double)gpu->metric[m].value * info->prometheus_scale);
            for (size_t k = 0; k < gpu->instance_count; k++)
                if (gpu->instances[k].metric[m].state == READING_OK)
                    instance_series(out, info->prometheus, gpu, &gpu->instances[k],
                                    (double)gpu->instances[k].metric[m].value * info->prometheus_scale);
        }
    }
}

/* Every reason is a series if the GPU reports any, so that a graph shows when one begins and ends. */
static void throttle(struct buf *out, const struct snapshot *s, const struct prometheus_labels *labels)
{
    if (!have_metric(s, METRIC_throttle_bits))
        return;
    prometheus_head(out, "gpu_throttle_reason", "gauge", "1 while the clocks are lowered for this reason");
    for (size_t i = 0; i < s->gpu_count; i++) {
        int64_t bits;
        if (!reading_get(s->gpus[i].throttle_bits, &bits))
            continue;
        for (unsigned b = 0; b < THROTTLE_COUNT; b++) {
            buf_text(out, "gpu_throttle_reason{");
            buf_str(out, prometheus_labels_of(labels, i));
            prometheus_label(out, false, "reason", throttle_name(b));
            buf_text(out, bits & (1 << b) ? "} 1\n" : "} 0\n");
        }
    }
    prometheus_head(out, "gpu_throttle_mask", "gauge", "All reasons for which the clocks are lowered, as one number: a bit each");
    for (size_t i = 0; i < s->gpu_count; i++) {
        int64_t bits;
        if (reading_get(s->gpus[i].throttle_bits, &bits))
            prometheus_series(out, STR("gpu_throttle_mask"), prometheus_labels_of(labels, i), (double)bits);
    }
}

static void traffic(struct buf *out, const struct snapshot *s, const struct prometheus_labels *labels, const char *name,
                    const char *help, bool received)
{
    bool headed = false;
    for (size_t i = 0; i < s->gpu_count; i++) {
        int64_t bytes;
        if (!reading_get(received ? s->gpus[i].pcie_rx_bytes : s->gpus[i].pcie_tx_bytes, &bytes))
            continue;
        prometheus_head_once(out, &headed, name, "counter", help);
        prometheus_series(out, str_from(name), prometheus_labels_of(labels, i), (double)bytes);
    }
}

static void info(struct buf *out, const struct snapshot *s, const struct prometheus_labels *labels)
{
    prometheus_head(out, "gpu_info", "gauge", "What is known about the GPU, in labels");
    for (size_t i = 0; i < s->gpu_count; i++) {
        const struct gpu *gpu = &s->gpus[i];
        buf_text(out, "gpu_info{");
        buf_str(out, prometheus_labels_of(labels, i));
        prometheus_label(out, false, "vendor", gpu->id.vendor);
        prometheus_label(out, false, "pci_address", gpu->id.pci_address);
        prometheus_label(out, false, "source", gpu->source);
        for (size_t p = 0; p < PROPERTY_COUNT; p++)
            if (gpu->property[p].state == READING_OK)
                prometheus_label(out, false, property_table[p].json, gpu->property[p].value);
        buf_text(out, "} 1\n");
    }
    prometheus_head(out, "gpu_up", "gauge", "1 while the GPU can be read or sleeps, 0 when it is lost or fails");
    for (size_t i = 0; i < s->gpu_count; i++)
        prometheus_series(out, STR("gpu_up"), prometheus_labels_of(labels, i),
                          s->gpus[i].state == GPU_OK || s->gpus[i].state == GPU_ASLEEP);
    prometheus_head(out, "whirr_expected", "gauge", "1 for each GPU that should be there, until it is forgotten (whirr forget)");
    for (size_t i = 0; i < s->gpu_count; i++)
        prometheus_series(out, STR("whirr_expected"), prometheus_labels_of(labels, i), 1);
    prometheus_head(out, "gpu_asleep", "gauge", "1 while the GPU is asleep and is left alone");
    for (size_t i = 0; i < s->gpu_count; i++)
        prometheus_series(out, STR("gpu_asleep"), prometheus_labels_of(labels, i), s->gpus[i].state == GPU_ASLEEP);
}

/* Driver errors, each code with its count and last time: a gauge alone would hide a repetition. */
static void xids(struct buf *out, const struct health *health, const char *name, const char *type, const char *help, bool when)
{
    bool headed = false;
    for (size_t i = 0; health && i < health->count; i++)
        for (size_t k = 0; k < health->verdicts[i].xid_count; k++) {
            const struct health_verdict *v = &health->verdicts[i];
            const struct gpu gpu = {.id = v->id, .index = v->gpu_index, .simulated = v->simulated};
            char code[16];
            prometheus_head_once(out, &headed, name, type, help);
            snprintf(code, sizeof code, "%d", (int)v->xids[k].code);
            buf_printf(out, "%s{", name);
            prometheus_gpu_labels(out, &gpu, NULL);
            prometheus_label(out, false, "xid", code);
            prometheus_end(out, when ? (double)v->xids[k].last_at.ms / MS_PER_S : (double)v->xids[k].total);
        }
}

static void other_processes(struct buf *out, const struct snapshot *s, const struct prometheus_labels *labels,
                            const struct prometheus_extra *extra)
{
    prometheus_head(out, "gpu_other_processes_count", "gauge", "Processes on the GPU that are neither whirr nor its worker");
    for (size_t i = 0; i < s->gpu_count; i++) {
        const struct gpu *gpu = &s->gpus[i];
        if (gpu->processes_state != READING_OK)
            continue;
        int64_t count = (int64_t)(gpu->process_count + gpu->processes_left_out);
        if (extra->others_counted)
            count = extra->other_processes[i];
        else if (extra->own_pid && gpu_find_process(gpu, extra->own_pid))
            count--;
        prometheus_series(out, STR("gpu_other_processes_count"), prometheus_labels_of(labels, i), (double)count);
    }
}

static void source_series(struct buf *out, const struct snapshot *s, const char *name, const char *type, const char *help,
                          double (*value)(const struct source_status *))
{
    prometheus_head(out, name, type, help);
    for (size_t i = 0; i < s->source_count; i++) {
        if (s->sources[i].state == SOURCE_OFF && !s->sources[i].init_failures_total)
            continue;
        buf_printf(out, "%s{", name);
        prometheus_label(out, true, "source", s->sources[i].name);
        prometheus_end(out, value(&s->sources[i]));
    }
}

static double source_up(const struct source_status *source)
{
    return source->state == SOURCE_OK || source->state == SOURCE_ASLEEP;
}

static double source_errors(const struct source_status *source)
{
    return (double)source->errors_total;
}

static double source_init_failures(const struct source_status *source)
{
    return (double)source->init_failures_total;
}

static double source_implausible(const struct source_status *source)
{
    return (double)source->implausible_total;
}

static void machine(struct buf *out, const struct host *host)
{
    for (size_t i = 0; i < HOST_METRIC_COUNT; i++) {
        const struct metric_info *info = &host_metric_table[i];
        if (info->prometheus[0] && host->metric[i].state == READING_OK)
            prometheus_plain(out, info->prometheus, "gauge", info->help, (double)host->metric[i].value * info->prometheus_scale);
    }
}

static void old_names(struct buf *out, const struct snapshot *s)
{
    prometheus_plain(out, "gpu_count", "gauge", "Old name of gpu_devices, until 0.4", (double)s->gpu_count);
    if (s->host.cpu_count.state == READING_OK)
        prometheus_plain(out, "host_cpu_count", "gauge", "Old name of host_cpus, until 0.4", (double)s->host.cpu_count.value);
}

static void sources_and_self(struct buf *out, const struct snapshot *s, const struct prometheus_extra *extra)
{
    double nvml_errors = 0, nvml_init_failures = 0;
    for (size_t i = 0; i < s->source_count; i++) {
        if (!s->sources[i].names_driver)
            continue;
        nvml_errors += (double)s->sources[i].errors_total;
        nvml_init_failures += (double)s->sources[i].init_failures_total;
    }
    prometheus_plain(out, "gpu_devices", "gauge", "GPUs of this host", (double)s->gpu_count);
    prometheus_plain(out, "gpu_evictions_total", "counter", "Times that a worker's models were evicted for others",
                     (double)extra->evictions_total);
    prometheus_plain(out, "nvml_query_errors_total", "counter", "Queries to NVML that failed", nvml_errors);
    prometheus_plain(out, "nvml_init_failures_total", "counter", "Times that NVML could not be started", nvml_init_failures);
    source_series(out, s, "whirr_source_up", "gauge", "1 while the source answers", source_up);
    source_series(out, s, "whirr_source_errors_total", "counter", "Queries that failed, by source", source_errors);
    source_series(out, s, "whirr_source_init_failures_total", "counter", "Starts that failed, by source", source_init_failures);
    source_series(out, s, "whirr_source_implausible_total", "counter", "Readings that could not be true, by source",
                  source_implausible);
    prometheus_plain(out, "whirr_host_implausible_total", "counter", "Readings of the host that could not be true",
                     (double)s->host_implausible_total);
    prometheus_plain(out, "whirr_last_sample_timestamp_seconds", "gauge", "When the readings were taken",
                     (double)s->taken_at.ms / MS_PER_S);
    prometheus_head(out, "whirr_build_info", "gauge", "The program that answers");
    buf_text(out, "whirr_build_info{");
    prometheus_label(out, true, "version", WHIRR_VERSION);
    if (extra->options && extra->options->machine[0])
        prometheus_label(out, false, "machine", extra->options->machine);
    buf_text(out, "} 1\n");
}

/* ---- NPUs and accelerators: the same metrics under separate names, so that sums of GPUs leave them out ---- */

static void accelerator_series(struct buf *out, const char *name, const struct gpu *a, double value)
{
    char number[16];
    snprintf(number, sizeof number, "%d", a->index);
    buf_text(out, name);
    buf_char(out, '{');
    prometheus_label(out, true, "accelerator", number);
    prometheus_label(out, false, "kind", device_kind_name(a->id.kind));
    prometheus_label(out, false, "name", a->id.name);
    prometheus_label(out, false, "pci_address", a->id.pci_address);
    prometheus_end(out, value);
}

static void accelerators(struct buf *out, const struct snapshot *s)
{
    char name[128];
    for (size_t m = 0; m < METRIC_COUNT; m++) {
        const struct metric_info *info = &metric_table[m];
        bool headed = false;
        if (strncmp(info->prometheus, "gpu_", 4) != 0)
            continue;
        snprintf(name, sizeof name, "accelerator_%s", info->prometheus + 4);
        for (size_t i = 0; i < s->accelerator_count; i++) {
            struct reading r = s->accelerators[i].metric[m];
            if (r.state != READING_OK)
                continue;
            prometheus_head_once(out, &headed, name, info->type == TYPE_COUNTER ? "counter" : "gauge", info->help);
            accelerator_series(out, name, &s->accelerators[i], (double)r.value * info->prometheus_scale);
        }
    }
    if (s->accelerator_count == 0)
        return;
    prometheus_head(out, "accelerator_up", "gauge",
                    "1 while the NPU or accelerator can be read or sleeps, 0 when it is lost or fails");
    for (size_t i = 0; i < s->accelerator_count; i++)
        accelerator_series(out, "accelerator_up", &s->accelerators[i],
                           s->accelerators[i].state == GPU_OK || s->accelerators[i].state == GPU_ASLEEP);
}

/* ---- the GPUs of the host in a few series, so that a database can answer for a thousand hosts ---- */

/* Identifies the set of GPUs, in any order: differs between two hosts with the same name. */
static uint64_t set_of(const struct snapshot *s)
{
    uint64_t all = 0;
    for (size_t i = 0; i < s->gpu_count; i++) {
        uint64_t h = 14695981039346656037ULL;
        for (const char *c = s->gpus[i].id.uuid; *c; c++)
            h = (h ^ (unsigned char)*c) * 1099511628211ULL;
        all += h;
    }
    return all;
}

static bool is_held_idle(const struct snapshot *s, int index)
{
    for (size_t i = 0; s->verdict && i < s->verdict->count; i++) {
        const struct finding *f = &s->verdict->findings[i];
        if (f->gpu_index == index && (f->code == FINDING_CONTEXT_HELD || f->code == FINDING_VRAM_HELD) && f->since.ms &&
            s->taken_at.ms - f->since.ms >= f->hold_ms)
            return true;
    }
    return false;
}

struct host_sums {
    int64_t judged, util, util_known, used, total, power, held, hottest;
    bool has_used, has_total, has_power, has_hottest;
};

static void add_gpu(struct host_sums *sums, const struct snapshot *s, const struct gpu *gpu)
{
    int64_t value;
    sums->judged += s->verdict && verdict_first(s->verdict, gpu->index);
    if (reading_get(gpu->util_permille, &value)) {
        sums->util += value;
        sums->util_known++;
    }
    if (reading_get(gpu->mem_used_bytes, &value)) {
        sums->used += value;
        sums->has_used = true;
        sums->held += is_held_idle(s, gpu->index) ? value : 0;
    }
    if (reading_get(gpu->mem_total_bytes, &value)) {
        sums->total += value;
        sums->has_total = true;
    }
    if (reading_get(gpu->power_mw, &value)) {
        sums->power += value;
        sums->has_power = true;
    }
    if (reading_get(gpu->temp_mdegc, &value) && (!sums->has_hottest || value > sums->hottest)) {
        sums->hottest = value;
        sums->has_hottest = true;
    }
}

static void sum_series(struct buf *out, bool known, const char *name, const char *help, double value)
{
    if (known)
        prometheus_plain(out, name, "gauge", help, value);
}

static void host_sums(struct buf *out, const struct snapshot *s)
{
    struct host_sums sums = {0};
    char set[24];
    for (size_t i = 0; i < s->gpu_count; i++)
        add_gpu(&sums, s, &s->gpus[i]);
    snprintf(set, sizeof set, "%016" PRIx64, set_of(s));
    prometheus_head(out, "whirr_host_gpus", "gauge", "GPUs of the host; `set` differs between hosts that share a name");
    buf_text(out, "whirr_host_gpus{");
    prometheus_label(out, true, "set", set);
    prometheus_end(out, (double)s->gpu_count);
    sum_series(out, true, "whirr_host_gpus_judged", "GPUs of the host that have a finding", (double)sums.judged);
    sum_series(out, true, "whirr_host_gpus_with_utilization", "GPUs of the host that report their utilization",
               (double)sums.util_known);
    sum_series(out, sums.util_known, "whirr_host_gpu_utilization_percent", "Mean utilization of the host's GPUs",
               sums.util_known ? (double)sums.util / 10 / (double)sums.util_known : 0);
    sum_series(out, sums.has_used, "whirr_host_gpu_memory_used_bytes", "Memory in use on all GPUs of the host", (double)sums.used);
    sum_series(out, sums.has_total, "whirr_host_gpu_memory_total_bytes", "Memory of all GPUs of the host", (double)sums.total);
    sum_series(out, sums.has_used, "whirr_host_gpu_memory_held_idle_bytes", "Memory in use on GPUs that are held but idle",
               (double)sums.held);
    sum_series(out, sums.has_hottest, "whirr_host_gpu_temperature_celsius", "Temperature of the host's hottest GPU",
               (double)sums.hottest / 1000);
    sum_series(out, sums.has_power, "whirr_host_gpu_power_watts", "Power draw of all GPUs of the host", (double)sums.power / 1000);
}

/* ---- all of it ---- */

/* Reserves about the final size: growing a text of this size by doubling would copy it several times. */
static void reserve_for(struct buf *out, const struct snapshot *s)
{
    enum { A_GPU = 24 << 10, A_PROCESS = 3 << 10 };
    size_t bytes = 0;
    for (size_t i = 0; i < s->gpu_count; i++)
        bytes += A_GPU + s->gpus[i].process_count * A_PROCESS;
    buf_reserve(out, MIN_OF(bytes, (out->max - out->len) / 2));
}

void prometheus_write(struct buf *out, const struct snapshot *s, const struct prometheus_extra *extra)
{
    static const struct prometheus_extra nothing;
    static const struct prometheus_options defaults;
    extra = extra ? extra : &nothing;
    const struct prometheus_options *o = extra->options ? extra->options : &defaults;
    reserve_for(out, s);
    if (s->gpu_count) {
        struct prometheus_labels labels;
        prometheus_all_labels(s, &labels);
        info(out, s, &labels);
        metrics(out, s, &labels);
        throttle(out, s, &labels);
        traffic(out, s, &labels, "gpu_pcie_rx_bytes_total",
                "Bytes that the GPU received over PCIe since whirr has been watching it", true);
        traffic(out, s, &labels, "gpu_pcie_tx_bytes_total", "Bytes that the GPU sent over PCIe since whirr has been watching it",
                false);
        other_processes(out, s, &labels, extra);
        prometheus_processes(out, s, o, &labels);
        prometheus_serving(out, s, o, &labels);
        out->failed |= labels.text.failed;
        buf_done(&labels.text);
    }
    accelerators(out, s);
    prometheus_findings(out, s);
    host_sums(out, s);
    xids(out, extra->health, "gpu_xid_errors_total", "counter", "Critical errors of the driver (XID), by code", false);
    xids(out, extra->health, "gpu_xid_last_timestamp_seconds", "gauge", "When a critical error of the driver (XID) came last",
         true);
    machine(out, &s->host);
    sources_and_self(out, s, extra);
    if (o->sets & PROMETHEUS_OLD_NAMES)
        old_names(out, s);
    if (o->sets & PROMETHEUS_DCGM)
        prometheus_dcgm(out, s, extra, false);
    if (o->sets & PROMETHEUS_DCGM_OLD)
        prometheus_dcgm(out, s, extra, true);
    if (o->sets & PROMETHEUS_NVIDIA_SMI)
        prometheus_nvidia_smi(out, s, extra);
}
