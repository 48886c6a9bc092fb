/* SPDX-License-Identifier: Apache-2.0
 * Writes attributes, points and metrics.
 */
#include "push/otlp_wire.h"

#include <stdio.h>

#include "net/protobuf.h"

/* Field number of a point's attributes, by kind of metric. */
enum { ATTRIBUTES_OF_NUMBER = 7, ATTRIBUTES_OF_HISTOGRAM = 9 };

void otlp_attribute(struct otlp *w, struct str key, struct str value)
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

void otlp_metric_begin(struct otlp *w, struct str name, const char *unit, enum otlp_kind kind)
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

void otlp_point_begin(struct otlp *w, enum otlp_kind kind)
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

void otlp_point_end(struct otlp *w, struct otlp_value value, struct wall at)
{
    if (!w->j) {
        pb_value(w, value, at);
        return;
    }
    jw_end(w->j);
    json_value(w->j, w->kind, value, counted_since(w), at);
    jw_end(w->j);
}

void otlp_metric_end(struct otlp *w)
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
