/* SPDX-License-Identifier: Apache-2.0
 * OTLP as JSON or Protocol Buffers. Metrics with OpenTelemetry names (hw.*, gen_ai.*) are sent once, under these; all others under
 * our own. hw.gpu.io only has counted bytes: the instantaneous rates of some drivers aren't summed up into it.
 */
#include <stdio.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json_writer.h"
#include "net/protobuf.h"
#include "push/push.h"

/* The wire format of OTLP metrics, as JSON or Protocol Buffers. Knows no metric names.
 *
 *   ResourceMetrics { Resource resource = 1; repeated ScopeMetrics scope_metrics = 2 }
 *   Resource        { repeated KeyValue attributes = 1 }
 *   ScopeMetrics    { InstrumentationScope scope = 1; repeated Metric metrics = 2 }
 *   Metric          { string name = 1; string unit = 3; Gauge gauge = 5; Sum sum = 7 }
 *   Gauge, Sum      { repeated NumberDataPoint data_points = 1; int32 aggregation_temporality = 2; bool is_monotonic = 3 }
 *   NumberDataPoint { fixed64 start_time_unix_nano = 2; fixed64 time_unix_nano = 3; double as_double = 4;
 *                     repeated KeyValue attributes = 7; uint32 flags = 8 }
 *   Histogram       { repeated HistogramDataPoint data_points = 1; int32 aggregation_temporality = 2 }, field 9 of Metric
 *   HistogramDataPoint { fixed64 start_time_unix_nano = 2; fixed64 time_unix_nano = 3; fixed64 count = 4; double sum = 5;
 *                        repeated KeyValue attributes = 9; uint32 flags = 10 }
 *   KeyValue        { string key = 1; AnyValue value = 2 }
 *   AnyValue        { string string_value = 1 } */

enum otlp_kind { GAUGE, COUNTER, UPDOWN, HISTOGRAM };

/* The output: JSON, or Protocol Buffers messages, each built separately until its length is known. */
struct otlp {
    struct json_writer *j; /* NULL: Protocol Buffers */
    struct buf attributes, points, metrics;
    unsigned attribute_field; /* in the current message */
    struct str name;          /* of the current metric */
    const char *unit;
    enum otlp_kind kind;
    struct wall started, first; /* start of our own sums, and of older ones */
};

/* For a histogram: sum and count; no buckets. */
struct otlp_value {
    bool stale; /* the series has ended */
    double value, count;
};

/* Field number of a point's attributes, by kind of metric. */
enum { ATTRIBUTES_OF_NUMBER = 7, ATTRIBUTES_OF_HISTOGRAM = 9 };

static void otlp_attribute(struct otlp *w, struct str key, struct str value)
{
    struct json_writer *j = w->j;
    if (!j) {
        size_t inner = pb_bytes_size(value.len);
        pb_begin(&w->attributes, w->attribute_field, pb_bytes_size(key.len) + pb_bytes_size(inner));
        pb_bytes(&w->attributes, 1, key);
        pb_begin(&w->attributes, 2, inner);
        pb_bytes(&w->attributes, 1, value);
        return;
    }
    jw_object(j);
    jw_key(j, "key");
    jw_str(j, key);
    jw_key(j, "value");
    jw_object(j);
    jw_key(j, "stringValue");
    jw_str(j, value);
    jw_end(j);
    jw_end(j);
}

/* A metric's points go between its begin and end, a point's attributes between its own. */
static void otlp_metric_begin(struct otlp *w, struct str name, const char *unit, enum otlp_kind kind)
{
    struct json_writer *j = w->j;
    w->name = name;
    w->unit = unit;
    w->kind = kind;
    if (!j)
        return;
    jw_object(j);
    jw_key(j, "name");
    jw_str(j, name);
    jw_key_text(j, "unit", unit);
    jw_key(j, kind == GAUGE ? "gauge" : kind == HISTOGRAM ? "histogram" : "sum");
    jw_object(j);
    if (kind != GAUGE)
        jw_key_int(j, "aggregationTemporality", 2); /* cumulative */
    if (kind == COUNTER || kind == UPDOWN)
        jw_key_bool(j, "isMonotonic", kind == COUNTER);
    jw_key(j, "dataPoints");
    jw_array(j);
}

/* a histogram's point, or any other */
static void otlp_point_begin(struct otlp *w, enum otlp_kind kind)
{
    w->attribute_field = kind == HISTOGRAM ? ATTRIBUTES_OF_HISTOGRAM : ATTRIBUTES_OF_NUMBER;
    if (!w->j)
        return;
    jw_object(w->j);
    jw_key(w->j, "attributes");
    jw_array(w->j);
}

/* Start time of a sum; ms 0: not a sum, or unknown. For a counter older than us, only its growth since we first saw it is known:
 * starting there, nothing earlier counts as new. */
static struct wall counted_since(const struct otlp *w)
{
    if (w->kind == GAUGE)
        return (struct wall){0};
    return str_starts(w->name, "whirr_") || str_starts(w->name, "process_") ? w->started : w->first;
}

/* OTLP's JSON writes 64-bit numbers as strings. */
static void json_value(struct json_writer *j, enum otlp_kind kind, struct otlp_value value, struct wall since, struct wall at)
{
    char text[40];
    snprintf(text, sizeof text, "%lld000000", (long long)since.ms);
    if (since.ms)
        jw_key_text(j, "startTimeUnixNano", text);
    snprintf(text, sizeof text, "%lld000000", (long long)at.ms);
    jw_key_text(j, "timeUnixNano", text);
    if (value.stale) {
        jw_key_int(j, "flags", 1); /* no recorded value: the series ended */
        return;
    }
    if (kind == HISTOGRAM) {
        snprintf(text, sizeof text, "%.0f", value.count);
        jw_key_text(j, "count", text);
    }
    snprintf(text, sizeof text, "%.17g", value.value);
    jw_key(j, kind == HISTOGRAM ? "sum" : "asDouble");
    jw_raw(j, str_from(text));
}

static void pb_value(struct otlp *w, struct otlp_value value, struct wall at)
{
    bool histogram = w->kind == HISTOGRAM;
    struct wall since = counted_since(w);
    pb_begin(&w->points, 1, w->attributes.len + 9 + (since.ms ? 9 : 0) + (value.stale ? 2 : histogram ? 18 : 9));
    if (since.ms)
        pb_fixed64(&w->points, 2, (uint64_t)since.ms * NS_PER_MS);
    pb_fixed64(&w->points, 3, (uint64_t)at.ms * NS_PER_MS);
    if (!value.stale && histogram)
        pb_fixed64(&w->points, 4, (uint64_t)value.count);
    if (!value.stale)
        pb_double(&w->points, histogram ? 5 : 4, value.value);
    buf_str(&w->points, buf_view(&w->attributes));
    if (value.stale)
        pb_number(&w->points, histogram ? 10 : 8, 1);
    w->attributes.len = 0;
}

static void otlp_point_end(struct otlp *w, struct otlp_value value, struct wall at)
{
    if (!w->j) {
        pb_value(w, value, at);
        return;
    }
    jw_end(w->j);
    json_value(w->j, w->kind, value, counted_since(w), at);
    jw_end(w->j);
}

static void otlp_metric_end(struct otlp *w)
{
    if (w->j) {
        jw_end(w->j);
        jw_end(w->j);
        jw_end(w->j);
        return;
    }
    size_t inner = w->points.len + (w->kind == GAUGE ? 0 : w->kind == HISTOGRAM ? 2 : 4);
    pb_begin(&w->metrics, 2, pb_bytes_size(w->name.len) + pb_bytes_size(strlen(w->unit)) + pb_bytes_size(inner));
    pb_bytes(&w->metrics, 1, w->name);
    pb_text(&w->metrics, 3, w->unit);
    pb_begin(&w->metrics, w->kind == GAUGE ? 5 : w->kind == HISTOGRAM ? 9 : 7, inner);
    buf_str(&w->metrics, buf_view(&w->points));
    if (w->kind != GAUGE)
        pb_number(&w->metrics, 2, 2);
    if (w->kind == COUNTER || w->kind == UPDOWN)
        pb_number(&w->metrics, 3, w->kind == COUNTER);
    w->points.len = 0;
}

/* One of our names may map to several of OpenTelemetry's, by its label `state`. */
static const struct hw {
    const char *ours, *name, *unit;
    enum otlp_kind kind;
    double scale;
    const char *type, *part; /* hw.type; a separate component with the GPU as parent */
    const char *key, *value; /* an attribute that distinguishes series of one name */
    const char *state;       /* only if our label `state` is this */
    const char *share_of;    /* the value is its share of this metric of ours; NULL: the value itself */
} table[] = {
    {"gpu_utilization_percent", "hw.gpu.utilization", "1", GAUGE, 0.01, "gpu", NULL, "hw.gpu.task", "general", NULL, NULL},
    {"gpu_encoder_utilization_percent", "hw.gpu.utilization", "1", GAUGE, 0.01, "gpu", NULL, "hw.gpu.task", "encoder", NULL, NULL},
    {"gpu_decoder_utilization_percent", "hw.gpu.utilization", "1", GAUGE, 0.01, "gpu", NULL, "hw.gpu.task", "decoder", NULL, NULL},
    {"gpu_memory_used_bytes", "hw.gpu.memory.utilization", "1", GAUGE, 1, "gpu", .share_of = "gpu_memory_total_bytes"},
    {"gpu_memory_used_bytes", "hw.gpu.memory.usage", "By", UPDOWN, 1, "gpu"},
    {"gpu_memory_total_bytes", "hw.gpu.memory.limit", "By", UPDOWN, 1, "gpu"},
    {"gpu_pcie_rx_bytes_total", "hw.gpu.io", "By", COUNTER, 1, "gpu", NULL, "network.io.direction", "receive", NULL, NULL},
    {"gpu_pcie_tx_bytes_total", "hw.gpu.io", "By", COUNTER, 1, "gpu", NULL, "network.io.direction", "transmit", NULL, NULL},
    {"gpu_temperature_celsius", "hw.temperature", "Cel", GAUGE, 1, "temperature", "temperature", "hw.sensor_location", "gpu", NULL,
     NULL},
    {"gpu_temperature_hotspot_celsius", "hw.temperature", "Cel", GAUGE, 1, "temperature", "hotspot", "hw.sensor_location",
     "hotspot", NULL, NULL},
    {"gpu_temperature_memory_celsius", "hw.temperature", "Cel", GAUGE, 1, "temperature", "memory", "hw.sensor_location", "memory",
     NULL, NULL},
    {"gpu_temperature_limit_celsius", "hw.temperature.limit", "Cel", GAUGE, 1, "temperature", "temperature", "hw.limit_type",
     "high.degraded", NULL, NULL},
    {"gpu_temperature_shutdown_celsius", "hw.temperature.limit", "Cel", GAUGE, 1, "temperature", "temperature", "hw.limit_type",
     "high.critical", NULL, NULL},
    {"gpu_fan_speed_rpm", "hw.fan.speed", "rpm", GAUGE, 1, "fan", "fan"},
    {"gpu_fan_speed_ratio", "hw.fan.speed_ratio", "1", GAUGE, 1, "fan", "fan"},
    {"gpu_voltage_volts", "hw.voltage", "V", GAUGE, 1, "voltage", "voltage"},
    {"gpu_power_watts", "hw.power", "W", GAUGE, 1, "gpu"},
    {"gpu_energy_joules_total", "hw.energy", "J", COUNTER, 1, "gpu"},
    {"gpu_ecc_corrected_total", "hw.errors", "{error}", COUNTER, 1, "gpu", NULL, "error.type", "corrected", NULL, NULL},
    {"gpu_ecc_uncorrected_total", "hw.errors", "{error}", COUNTER, 1, "gpu", NULL, "error.type", "uncorrected", NULL, NULL},
    {"whirr_gpu_health", "hw.status", "1", UPDOWN, 1, "gpu", NULL, "hw.state", "ok", "healthy", NULL},
    {"whirr_gpu_health", "hw.status", "1", UPDOWN, 1, "gpu", NULL, "hw.state", "degraded", "degraded", NULL},
    {"whirr_gpu_health", "hw.status", "1", UPDOWN, 1, "gpu", NULL, "hw.state", "predicted_failure", "failing", NULL},
    {"whirr_gpu_health", "hw.status", "1", UPDOWN, 1, "gpu", NULL, "hw.state", "failed", "lost", NULL},
    {"host_power_watts", "hw.host.power", "W", GAUGE, 1, NULL},
};

/* Ours have only the sum and the count. */
static const struct {
    const char *count, *sum, *bucket, *name;
} histograms[] = {
#define GEN_AI(ours, theirs)                               \
    {                                                      \
        ours "_count", ours "_sum", ours "_bucket", theirs \
    }
    GEN_AI("gen_ai_server_time_to_first_token_seconds", "gen_ai.server.time_to_first_token"),
    GEN_AI("gen_ai_server_time_per_output_token_seconds", "gen_ai.server.time_per_output_token"),
    GEN_AI("gen_ai_server_request_duration_seconds", "gen_ai.server.request.duration"),
};

static const struct {
    const char *ending, *unit;
} units[] = {{"_bytes_per_second", "By/s"},
             {"_bytes", "By"},
             {"_seconds", "s"},
             {"_celsius", "Cel"},
             {"_watts", "W"},
             {"_joules", "J"},
             {"_hertz", "Hz"},
             {"_percent", "%"},
             {"_ratio", "1"},
             {"_volts", "V"}};

static struct str value_of(const struct push_labels *l, const char *name)
{
    for (size_t i = 0; i < l->count; i++)
        if (str_is(l->list[i].name, name))
            return l->list[i].value;
    return (struct str){0};
}

/* By `as` and labels; with both NULL, by name only. */
static const struct hw *otlp_find(struct str name, const char *as, const struct push_labels *l)
{
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        const struct hw *hw = &table[i];
        if (!str_is(name, hw->ours) || (as && strcmp(hw->name, as) != 0))
            continue;
        if (!l || !hw->state || str_is(value_of(l, "state"), hw->state))
            return hw;
    }
    return NULL;
}

/* hw.id is the GPU's UUID or another unique ID; for the host, its name. */
static void hw_attributes(struct otlp *w, const struct hw *hw, const struct push_labels *l)
{
    struct str card = value_of(l, "uuid"), id = value_of(l, "mig_uuid"), name = value_of(l, "name"), index = value_of(l, "gpu");
    char part[192];
    card = card.len ? card : index;
    struct str parent = hw->part && id.len ? id : id.len || hw->part ? card : (struct str){0};
    id = id.len ? id : card.len ? card : value_of(l, "host");
    snprintf(part, sizeof part, STR_FMT "/%s", STR_ARG(id), hw->part ? hw->part : "");
    otlp_attribute(w, STR("hw.id"), hw->part ? str_from(part) : id);
    if (parent.len)
        otlp_attribute(w, STR("hw.parent"), parent);
    if (hw->type)
        otlp_attribute(w, STR("hw.type"), str_from(hw->type));
    if (name.len)
        otlp_attribute(w, STR("hw.name"), name);
    if (hw->key)
        otlp_attribute(w, str_from(hw->key), str_from(hw->value));
    if (index.len)
        otlp_attribute(w, STR("whirr.gpu.index"), index);
}

/* OpenTelemetry's spelling. */
static struct str attribute_name(struct str label)
{
    static const char *const names[][2] = {{"gen_ai_operation_name", "gen_ai.operation.name"},
                                           {"gen_ai_provider_name", "gen_ai.provider.name"},
                                           {"gen_ai_request_model", "gen_ai.request.model"}};
    size_t i = NAME_FIND(names, label);
    return i < ARRAY_LEN(names) ? str_from(names[i][1]) : label;
}

static void own_attributes(struct otlp *w, const struct push_labels *l)
{
    for (size_t i = 0; i < l->count; i++)
        if (!str_is(l->list[i].name, "__name__") && !str_is(l->list[i].name, "host"))
            otlp_attribute(w, attribute_name(l->list[i].name), l->list[i].value);
}

static void point(struct otlp *w, const struct hw *hw, const struct push_labels *l, const struct push_line *line, double value,
                  struct wall at)
{
    otlp_point_begin(w, GAUGE);
    if (hw)
        hw_attributes(w, hw, l);
    else
        own_attributes(w, l);
    otlp_point_end(w, (struct otlp_value){.stale = line->stale, .value = value}, at);
}

static const char *unit_of(struct str name, bool counter)
{
    if (counter && str_ends(name, "_total"))
        name.len -= strlen("_total");
    for (size_t i = 0; i < ARRAY_LEN(units); i++)
        if (str_ends(name, units[i].ending))
            return units[i].unit;
    return "1";
}

static struct str name_of(const struct push_line *line)
{
    const char *end = memchr(line->series.at, '{', line->series.len);
    return (struct str){line->series.at, end ? (size_t)(end - line->series.at) : line->series.len};
}

struct otlp_lines {
    const struct push_line *list;
    size_t count;
    struct wall at;
};

/* The value of `ours` with the same labels. */
static bool value_beside(const struct otlp_lines *lines, const struct push_line *line, const char *ours, double *ret)
{
    struct str name = name_of(line), labels = {line->series.at + name.len, line->series.len - name.len};
    for (size_t i = 0; i < lines->count; i++) {
        const struct push_line *other = &lines->list[i];
        struct str its = name_of(other);
        if (str_is(its, ours) && str_equal((struct str){other->series.at + its.len, other->series.len - its.len}, labels)) {
            *ret = other->value;
            return true;
        }
    }
    return false;
}

/* Several of our names may map to one of OpenTelemetry's: put all their points into one metric. */
static void hw_metric(struct otlp *w, const struct hw *first, const struct otlp_lines *lines, struct push_labels *labels)
{
    bool open = false;
    for (size_t i = 0; i < lines->count; i++) {
        const struct push_line *line = &lines->list[i];
        double whole = 1;
        if (!otlp_find(name_of(line), first->name, NULL) ||
            !push_labels_read(labels, line->series, (struct str){0}, (struct str){0}))
            continue;
        const struct hw *hw = otlp_find(name_of(line), first->name, labels);
        if (!hw)
            continue;
        if (hw->share_of && !line->stale && (!value_beside(lines, line, hw->share_of, &whole) || whole <= 0))
            continue;
        if (!open)
            otlp_metric_begin(w, str_from(hw->name), hw->unit, hw->kind);
        open = true;
        point(w, hw, labels, line, line->value * hw->scale / whole, lines->at);
    }
    if (open)
        otlp_metric_end(w);
}

static void histogram_metric(struct otlp *w, size_t which, const struct otlp_lines *lines, struct push_labels *labels)
{
    bool open = false;
    for (size_t i = 0; i < lines->count; i++) {
        const struct push_line *line = &lines->list[i];
        double sum = 0;
        if (!str_is(name_of(line), histograms[which].count) ||
            !push_labels_read(labels, line->series, (struct str){0}, (struct str){0}) ||
            (!line->stale && !value_beside(lines, line, histograms[which].sum, &sum)))
            continue;
        if (!open)
            otlp_metric_begin(w, str_from(histograms[which].name), "s", HISTOGRAM);
        open = true;
        otlp_point_begin(w, HISTOGRAM);
        own_attributes(w, labels);
        otlp_point_end(w, (struct otlp_value){line->stale, sum, line->value}, lines->at);
    }
    if (open)
        otlp_metric_end(w);
}

static bool is_of_histogram(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(histograms); i++)
        if (str_is(name, histograms[i].count) || str_is(name, histograms[i].sum) || str_is(name, histograms[i].bucket))
            return true;
    return false;
}

/* Lines of one name are adjacent, with ended series last: each run is one metric. */
static void own_metrics(struct otlp *w, const struct otlp_lines *lines, struct push_labels *labels)
{
    struct str open = {0};
    for (size_t i = 0; i < lines->count; i++) {
        const struct push_line *line = &lines->list[i];
        struct str name = name_of(line);
        if (otlp_find(name, NULL, NULL) || is_of_histogram(name) ||
            !push_labels_read(labels, line->series, (struct str){0}, (struct str){0}))
            continue;
        if (!str_equal(name, open)) {
            if (open.len)
                otlp_metric_end(w);
            open = name;
            otlp_metric_begin(w, name, unit_of(name, line->counter), line->counter ? COUNTER : GAUGE);
        }
        point(w, NULL, labels, line, line->value, lines->at);
    }
    if (open.len)
        otlp_metric_end(w);
}

static void write_metrics(struct otlp *w, const struct otlp_lines *lines)
{
    struct push_labels labels;
    push_labels_init(&labels);
    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        if (i == 0 || strcmp(table[i - 1].name, table[i].name) != 0)
            hw_metric(w, &table[i], lines, &labels);
    for (size_t i = 0; i < ARRAY_LEN(histograms); i++)
        histogram_metric(w, i, lines, &labels);
    own_metrics(w, lines, &labels);
    push_labels_done(&labels);
}

static void resource(struct otlp *w, const struct push_identity *who)
{
    otlp_attribute(w, STR("service.name"), str_from(who->job));
    otlp_attribute(w, STR("service.instance.id"), str_from(who->instance));
    otlp_attribute(w, STR("host.name"), str_from(who->host));
}

void push_otlp(struct buf *out, const struct push_line *lines, size_t count, struct wall at, const struct push_identity *who)
{
    struct json_writer j = JSON_WRITER(out);
    struct otlp w = {.j = &j, .started = who->started, .first = who->first};
    jw_object(&j);
    jw_key(&j, "resourceMetrics");
    jw_array(&j);
    jw_object(&j);
    jw_key(&j, "resource");
    jw_object(&j);
    jw_key(&j, "attributes");
    jw_array(&j);
    resource(&w, who);
    jw_end(&j);
    jw_end(&j);
    jw_key(&j, "scopeMetrics");
    jw_array(&j);
    jw_object(&j);
    jw_key(&j, "scope");
    jw_object(&j);
    jw_key_text(&j, "name", "whirr");
    jw_key_text(&j, "version", WHIRR_VERSION);
    jw_end(&j);
    jw_key(&j, "metrics");
    jw_array(&j);
    write_metrics(&w, &(struct otlp_lines){lines, count, at});
    while (j.depth)
        jw_end(&j);
    buf_char(out, '\n');
}

void push_otlp_protobuf(struct buf *out, const struct push_line *lines, size_t count, struct wall at,
                        const struct push_identity *who)
{
    struct otlp w = {.started = who->started,
                     .first = who->first,
                     .attributes = BUF(PUSH_BODY_MAX),
                     .points = BUF(PUSH_BODY_MAX),
                     .metrics = BUF(PUSH_BODY_MAX),
                     .attribute_field = 1};
    AUTO_BUF struct buf about = BUF(1 << 20), scope = BUF(1 << 10);
    resource(&w, who);
    buf_str(&about, buf_view(&w.attributes));
    w.attributes.len = 0;
    w.attribute_field = 7;
    write_metrics(&w, &(struct otlp_lines){lines, count, at});
    pb_text(&scope, 1, "whirr");
    pb_text(&scope, 2, WHIRR_VERSION);
    size_t scope_metrics = pb_bytes_size(scope.len) + w.metrics.len;
    pb_begin(out, 1, pb_bytes_size(about.len) + pb_bytes_size(scope_metrics));
    pb_bytes(out, 1, buf_view(&about));
    pb_begin(out, 2, scope_metrics);
    pb_bytes(out, 1, buf_view(&scope));
    buf_str(out, buf_view(&w.metrics));
    out->failed |= w.attributes.failed || w.points.failed || w.metrics.failed || about.failed || scope.failed;
    buf_done(&w.attributes);
    buf_done(&w.points);
    buf_done(&w.metrics);
}
