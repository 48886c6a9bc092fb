/* SPDX-License-Identifier: Apache-2.0
 * OTLP as JSON. What OpenTelemetry has names for (hw.*) is sent under these, once; everything else under our own.
 */
#include <math.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/json_writer.h"
#include "push/push.h"

enum kind { GAUGE, COUNTER, UPDOWN };

/* `part`: a component of its own, whose parent is the GPU. */
static const struct hw {
    const char *ours, *name, *unit;
    enum kind kind;
    double scale;
    const char *part, *key, *value; /* an attribute that tells series of one name apart */
    bool of_gpu;                    /* a name for all hardware: hw.type says what it is */
} table[] = {
    {"gpu_utilization_percent", "hw.gpu.utilization", "1", GAUGE, 0.01, NULL, "hw.gpu.task", "general", false},
    {"gpu_encoder_utilization_percent", "hw.gpu.utilization", "1", GAUGE, 0.01, NULL, "hw.gpu.task", "encoder", false},
    {"gpu_decoder_utilization_percent", "hw.gpu.utilization", "1", GAUGE, 0.01, NULL, "hw.gpu.task", "decoder", false},
    {"gpu_memory_used_bytes", "hw.gpu.memory.usage", "By", UPDOWN, 1, NULL, NULL, NULL, false},
    {"gpu_memory_total_bytes", "hw.gpu.memory.limit", "By", UPDOWN, 1, NULL, NULL, NULL, false},
    {"gpu_temperature_celsius", "hw.temperature", "Cel", GAUGE, 1, "temperature", NULL, NULL, false},
    {"gpu_temperature_memory_celsius", "hw.temperature", "Cel", GAUGE, 1, "memory", NULL, NULL, false},
    {"gpu_temperature_limit_celsius", "hw.temperature.limit", "Cel", GAUGE, 1, "temperature", "hw.limit_type", "high.degraded",
     false},
    {"gpu_fan_speed_rpm", "hw.fan.speed", "rpm", GAUGE, 1, "fan", NULL, NULL, false},
    {"gpu_fan_speed_ratio", "hw.fan.speed_ratio", "1", GAUGE, 1, "fan", NULL, NULL, false},
    {"gpu_power_watts", "hw.power", "W", GAUGE, 1, NULL, NULL, NULL, true},
    {"gpu_energy_joules_total", "hw.energy", "J", COUNTER, 1, NULL, NULL, NULL, true},
    {"gpu_ecc_corrected_total", "hw.errors", "{error}", COUNTER, 1, NULL, "error.type", "ecc_corrected", true},
    {"gpu_ecc_uncorrected_total", "hw.errors", "{error}", COUNTER, 1, NULL, "error.type", "ecc_uncorrected", true},
    {"gpu_up", "hw.status", "1", UPDOWN, 1, NULL, "hw.state", "ok", true},
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

static const struct hw *find(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        if (str_is(name, table[i].ours))
            return &table[i];
    return NULL;
}

static struct str value_of(const struct push_labels *l, const char *name)
{
    for (size_t i = 0; i < l->count; i++)
        if (str_is(l->list[i].name, name))
            return l->list[i].value;
    return (struct str){0};
}

static void attribute(struct json_writer *j, struct str key, struct str value)
{
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

/* hw.id is the UUID, or what else tells this GPU from others. */
static void hw_attributes(struct json_writer *j, const struct hw *hw, const struct push_labels *l)
{
    struct str id = value_of(l, "mig_uuid"), name = value_of(l, "name");
    char part[192];
    id = id.len ? id : value_of(l, "uuid");
    id = id.len ? id : value_of(l, "gpu");
    snprintf(part, sizeof part, STR_FMT "/%s", STR_ARG(id), hw->part ? hw->part : "");
    attribute(j, STR("hw.id"), hw->part ? str_from(part) : id);
    if (hw->part)
        attribute(j, STR("hw.parent"), id);
    if (hw->of_gpu)
        attribute(j, STR("hw.type"), STR("gpu"));
    if (name.len)
        attribute(j, STR("hw.name"), name);
    if (hw->key)
        attribute(j, str_from(hw->key), str_from(hw->value));
    struct str index = value_of(l, "gpu");
    if (index.len)
        attribute(j, STR("whirr.gpu.index"), index);
}

static void own_attributes(struct json_writer *j, const struct push_labels *l)
{
    for (size_t i = 0; i < l->count; i++)
        if (!str_is(l->list[i].name, "__name__") && !str_is(l->list[i].name, "host"))
            attribute(j, l->list[i].name, l->list[i].value);
}

/* 64-bit numbers are texts in OTLP's JSON. */
static void point_value(struct json_writer *j, const struct push_line *line, double scale)
{
    char text[40];
    if (line->stale) {
        jw_key_int(j, "flags", 1); /* no recorded value: the series has ended */
        return;
    }
    snprintf(text, sizeof text, "%.17g", line->value * scale);
    jw_key(j, "asDouble");
    jw_raw(j, str_from(text));
}

static void point(struct json_writer *j, const struct hw *hw, const struct push_labels *l, const struct push_line *line,
                  struct wall at)
{
    char nanos[32];
    snprintf(nanos, sizeof nanos, "%lld000000", (long long)at.ms);
    jw_object(j);
    jw_key(j, "attributes");
    jw_array(j);
    if (hw)
        hw_attributes(j, hw, l);
    else
        own_attributes(j, l);
    jw_end(j);
    jw_key_text(j, "timeUnixNano", nanos);
    point_value(j, line, hw ? hw->scale : 1);
    jw_end(j);
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

static void metric_begin(struct json_writer *j, struct str name, const char *unit, enum kind kind)
{
    jw_object(j);
    jw_key(j, "name");
    jw_str(j, name);
    jw_key_text(j, "unit", unit);
    jw_key(j, kind == GAUGE ? "gauge" : "sum");
    jw_object(j);
    if (kind != GAUGE) {
        jw_key_int(j, "aggregationTemporality", 2); /* cumulative */
        jw_key_bool(j, "isMonotonic", kind == COUNTER);
    }
    jw_key(j, "dataPoints");
    jw_array(j);
}

static void metric_end(struct json_writer *j)
{
    jw_end(j);
    jw_end(j);
    jw_end(j);
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

/* Several of our names may be one of OpenTelemetry's: all of their points belong into one metric. */
static void hw_metric(struct json_writer *j, const struct hw *first, const struct otlp_lines *lines, struct push_labels *labels)
{
    bool open = false;
    for (size_t i = 0; i < lines->count; i++) {
        const struct hw *hw = find(name_of(&lines->list[i]));
        if (!hw || strcmp(hw->name, first->name) != 0 ||
            !push_labels_read(labels, lines->list[i].series, (struct str){0}, (struct str){0}))
            continue;
        if (!open)
            metric_begin(j, str_from(hw->name), hw->unit, hw->kind);
        open = true;
        point(j, hw, labels, &lines->list[i], lines->at);
    }
    if (open)
        metric_end(j);
}

/* Lines of one name follow each other, and those that have ended stand at the end: each run is one metric. */
static void own_metrics(struct json_writer *j, const struct otlp_lines *lines, struct push_labels *labels)
{
    struct str open = {0};
    for (size_t i = 0; i < lines->count; i++) {
        const struct push_line *line = &lines->list[i];
        struct str name = name_of(line);
        if (find(name) || !push_labels_read(labels, line->series, (struct str){0}, (struct str){0}))
            continue;
        if (!str_equal(name, open)) {
            if (open.len)
                metric_end(j);
            open = name;
            metric_begin(j, name, unit_of(name, line->counter), line->counter ? COUNTER : GAUGE);
        }
        point(j, NULL, labels, line, lines->at);
    }
    if (open.len)
        metric_end(j);
}

static void write_metrics(struct json_writer *j, const struct otlp_lines *lines)
{
    struct push_labels labels;
    push_labels_init(&labels);
    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        if (i == 0 || strcmp(table[i - 1].name, table[i].name) != 0)
            hw_metric(j, &table[i], lines, &labels);
    own_metrics(j, lines, &labels);
    push_labels_done(&labels);
}

void push_otlp(struct buf *out, const struct push_line *lines, size_t count, struct wall at, const struct push_identity *who)
{
    struct json_writer j = JSON_WRITER(out);
    jw_object(&j);
    jw_key(&j, "resourceMetrics");
    jw_array(&j);
    jw_object(&j);
    jw_key(&j, "resource");
    jw_object(&j);
    jw_key(&j, "attributes");
    jw_array(&j);
    attribute(&j, STR("service.name"), str_from(who->job));
    attribute(&j, STR("service.instance.id"), str_from(who->instance));
    attribute(&j, STR("host.name"), str_from(who->host));
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
    write_metrics(&j, &(struct otlp_lines){lines, count, at});
    while (j.depth)
        jw_end(&j);
    buf_char(out, '\n');
}
