/* SPDX-License-Identifier: Apache-2.0
 * The wire format of OTLP metrics, as JSON or Protocol Buffers. Knows no metric names.
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
 *   AnyValue        { string string_value = 1 }
 */
#pragma once

#include "base/buf.h"
#include "base/clock.h"
#include "base/json_writer.h"

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

void otlp_attribute(struct otlp *w, struct str key, struct str value);
/* A metric's points go between its begin and end, a point's attributes between its own. */
void otlp_metric_begin(struct otlp *w, struct str name, const char *unit, enum otlp_kind kind);
void otlp_point_begin(struct otlp *w, enum otlp_kind kind); /* a histogram's point, or any other */
void otlp_point_end(struct otlp *w, struct otlp_value value, struct wall at);
void otlp_metric_end(struct otlp *w);
