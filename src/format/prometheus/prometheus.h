/* SPDX-License-Identifier: Apache-2.0
 * A snapshot as Prometheus text exposition (version 0.0.4). A reading that is absent has no series: never a zero that nobody
 * measured. No pids in labels: processes are added up by name, user and container.
 */
#pragma once

#include "base/buf.h"
#include "base/str.h"
#include "model/snapshot.h"

#define PROMETHEUS_CONTENT_TYPE "text/plain; version=0.0.4; charset=utf-8"

enum { PROMETHEUS_MAX = 256 * 1024 * 1024 };

/* What the snapshot does not know. All zero is fine: no guard, nothing evicted. */
struct prometheus_extra {
    uint64_t evictions_total;
    int32_t own_pid;                  /* never counted among the other processes */
    bool others_counted;              /* by the guard; false: all processes but own_pid count */
    int64_t other_processes[GPU_MAX]; /* per GPU position */
};

void prometheus_write(struct buf *out, const struct snapshot *s, const struct prometheus_extra *extra);

/* Parts, for modules that add series of their own (the server, the guard, the store). */
void prometheus_head(struct buf *out, const char *name, const char *type, const char *help);
/* name="value" with the value escaped; a comma goes in front unless it is the first. */
void prometheus_label(struct buf *out, bool first, const char *name, const char *value);
void prometheus_value(struct buf *out, double value);

/* ---- Inside of the Prometheus text: labels of a GPU, and series of processes. ---- */

/* gpu, uuid and name of the card; those of the instance where it is one; simulated="true" only where it is. */
void prometheus_gpu_labels(struct buf *out, const struct gpu *card, const struct gpu *instance);

void prometheus_processes(struct buf *out, const struct snapshot *s);

/* ---- OpenMetrics 1.0: families of counters without "_total", units, quotes escaped in help texts, and an end that shows that
 * nothing was cut off. */

#define OPENMETRICS_TYPE "application/openmetrics-text"
#define OPENMETRICS_CONTENT_TYPE OPENMETRICS_TYPE "; version=1.0.0; charset=utf-8"

/* `text`: what prometheus_write() and its companions made, HELP and TYPE in front of each family. */
void openmetrics_from_prometheus(struct str text, struct buf *out);
