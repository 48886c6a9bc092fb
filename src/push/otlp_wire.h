/* SPDX-License-Identifier: Apache-2.0
 * Metrics of OTLP on the wire, as JSON or as Protocol Buffers. Knows no name of a metric.
 *
 *   ResourceMetrics { Resource resource = 1; repeated ScopeMetrics scope_metrics = 2 }
 *   Resource        { repeated KeyValue attributes = 1 }
 *   ScopeMetrics    { InstrumentationScope scope = 1; repeated Metric metrics = 2 }
 *   Metric          { string name = 1; string unit = 3; Gauge gauge = 5; Sum sum = 7 }
 *   Gauge, Sum      { repeated NumberDataPoint data_points = 1; int32 aggregation_temporality = 2; bool is_monotonic = 3 }
 *   NumberDataPoint { fixed64 start_time_unix_nano = 2; fixed64 time_unix_nano = 3; double as_double = 4; repeated KeyValue
 * attributes = 7; uint32 flags = 8 } Histogram       { repeated HistogramDataPoint data_points = 1; int32 aggregation_temporality =
 * 2 }, 9 of Metric HistogramDataPoint { fixed64 start_time_unix_nano = 2; fixed64 time_unix_nano = 3; fixed64 count = 4; double sum
 * = 5; repeated KeyValue attributes = 9; uint32 flags = 10 } KeyValue        { string key = 1; AnyValue value = 2 } AnyValue {
 * string string_value = 1 }
 */
#pragma once

#include "base/buf.h"
#include "base/clock.h"
#include "base/json_writer.h"

enum otlp_kind { GAUGE, COUNTER, UPDOWN, HISTOGRAM };

/* Where it is written to: JSON, or messages of Protocol Buffers, each of which is written aside until its length is known. */
struct otlp {
    struct json_writer *j; /* NULL: Protocol Buffers */
    struct buf attributes, points, metrics;
    unsigned attribute_field; /* of the message that is being written */
    struct str name;          /* of the metric that is being written */
    const char *unit;
    enum otlp_kind kind;
    struct wall started, first; /* since when sums are counted: our own, and those that were there before */
};

/* Of a histogram: the sum, and of how many; no bucket is known. */
struct otlp_value {
    bool stale; /* the series has ended */
    double value, count;
};

void otlp_attribute(struct otlp *w, struct str key, struct str value);
/* Points of one metric stand between its beginning and its end, attributes of a point between its own. */
void otlp_metric_begin(struct otlp *w, struct str name, const char *unit, enum otlp_kind kind);
void otlp_point_begin(struct otlp *w, enum otlp_kind kind); /* a histogram's point, or any other */
void otlp_point_end(struct otlp *w, struct otlp_value value, struct wall at);
void otlp_metric_end(struct otlp *w);
