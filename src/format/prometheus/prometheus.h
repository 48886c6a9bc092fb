/* SPDX-License-Identifier: Apache-2.0
 * A snapshot as Prometheus text exposition (version 0.0.4). A reading that is absent has no series: never a zero that was not
 * measured. No pids in labels unless asked for: processes are added up by name, user and container.
 */
#pragma once

#include "base/buf.h"
#include "base/str.h"
#include "config/config.h"
#include "model/snapshot.h"

struct health;

#define PROMETHEUS_CONTENT_TYPE "text/plain; version=0.0.4; charset=utf-8"

enum { PROMETHEUS_MAX = 256 * 1024 * 1024, PROMETHEUS_LABELS_MAX = 16, PROMETHEUS_GROUPS = 64 };

/* Series under the names of other exporters. */
enum prometheus_set {
    PROMETHEUS_DCGM = 1 << 0,
    PROMETHEUS_NVIDIA_SMI = 1 << 1,
    PROMETHEUS_OLD_NAMES = 1 << 2, /* our own of 0.1; until 0.3 */
};

/* What a person chose: [metrics]. All zero is fine: our own series, by name. */
struct prometheus_options {
    unsigned sets;
    size_t process_groups; /* per GPU; 0: PROMETHEUS_GROUPS */
    bool no_process_groups, pids, old_hostname;
    struct prometheus_common {
        char name[64], value[128];   /* "" as value: this label is left out */
    } labels[PROMETHEUS_LABELS_MAX]; /* of every series, besides host */
    size_t label_count;
};

void prometheus_options_init(struct prometheus_options *o, const struct config_metrics *settings, const char *node);
/* 0: there is no such set. */
enum prometheus_set prometheus_set_from_name(const char *name);

/* What the snapshot does not know. All zero is fine: no guard, nothing evicted. */
struct prometheus_extra {
    uint64_t evictions_total;
    int32_t own_pid;                          /* never counted among the other processes */
    bool others_counted;                      /* by the guard; false: all processes but own_pid count */
    int64_t other_processes[GPU_MAX];         /* per GPU position */
    const struct health *health;              /* GPUs that are gone, driver errors; NULL: not known */
    const struct prometheus_options *options; /* NULL: the defaults */
};

void prometheus_write(struct buf *out, const struct snapshot *s, const struct prometheus_extra *extra);
/* NPUs and accelerators, as accelerator_*. */
void prometheus_accelerators(struct buf *out, const struct snapshot *s);
/* What was found in a snapshot. */
/* The host's GPUs added up. */
void prometheus_host_sums(struct buf *out, const struct snapshot *s);
void prometheus_findings(struct buf *out, const struct snapshot *s);

/* Gives all series of `text` the labels that all have: host, and those of the options. */
void prometheus_add_labels(struct buf *text, const char *host, const struct prometheus_options *o);

/* Parts, for modules that add series of their own (the server, the guard, the store). */
void prometheus_head(struct buf *out, const char *name, const char *type, const char *help);
/* In front of the first series only. */
void prometheus_head_once(struct buf *out, bool *headed, const char *name, const char *type, const char *help);
/* A metric under the name and in the unit of another exporter. */
struct prometheus_alias {
    const char *name, *type;
    enum metric metric;
    double scale;
    const char *help;
};
/* name="value" with the value escaped; a comma goes in front unless it is the first. */
void prometheus_label(struct buf *out, bool first, const char *name, const char *value);
void prometheus_label_str(struct buf *out, bool first, const char *name, struct str s);
/* A space, the number, and the end of the line. */
void prometheus_value(struct buf *out, double value);

/* name{labels} value; the labels as they are to stand there. */
void prometheus_series(struct buf *out, struct str name, struct str labels, double value);

/* ---- Inside of the Prometheus text: labels of a GPU, and series of processes. ---- */

/* Its index, UUID and name; simulated="true" only where it is. */
void prometheus_id_labels(struct buf *out, int index, const struct gpu_id *id, bool simulated);
/* gpu, uuid and name of the card; those of the instance where it is one; simulated="true" only where it is. */
void prometheus_gpu_labels(struct buf *out, const struct gpu *card, const struct gpu *instance);

/* Those of every GPU of a snapshot, written once. */
struct prometheus_labels {
    struct buf text;
    size_t end[GPU_MAX + 1];
};
/* A part of a text that still grows. */
struct prometheus_range {
    size_t from, to;
};
struct str prometheus_text_of(const struct buf *text, struct prometheus_range range);
void prometheus_all_labels(const struct snapshot *s, struct prometheus_labels *ret);
struct str prometheus_labels_of(const struct prometheus_labels *l, size_t gpu);

void prometheus_processes(struct buf *out, const struct snapshot *s, const struct prometheus_options *o,
                          const struct prometheus_labels *labels);

/* Who a process is, in labels. */
struct prometheus_who {
    struct str process, user, container, pod, space, job;
    int32_t pid; /* 0: not by pid */
};
void prometheus_who(const struct process *p, struct prometheus_who *ret);
int prometheus_who_compare(const struct prometheus_who *x, const struct prometheus_who *y);
/* Behind others: a comma goes in front. */
void prometheus_who_labels(struct buf *out, const struct prometheus_who *who);

/* What model servers say of themselves. */
void prometheus_serving(struct buf *out, const struct snapshot *s, const struct prometheus_options *o,
                        const struct prometheus_labels *labels);

/* The sets of other exporters, for the GPUs of their vendor. */
void prometheus_dcgm(struct buf *out, const struct snapshot *s, const struct prometheus_extra *extra);
void prometheus_nvidia_smi(struct buf *out, const struct snapshot *s, const struct prometheus_extra *extra);

/* ---- OpenMetrics 1.0: families of counters without "_total", units, quotes escaped in help texts, and an end that shows that
 * nothing was cut off. */

#define OPENMETRICS_TYPE "application/openmetrics-text"
#define OPENMETRICS_CONTENT_TYPE OPENMETRICS_TYPE "; version=1.0.0; charset=utf-8"

/* `text`: what prometheus_write() and its companions made, HELP and TYPE in front of each family. */
void openmetrics_from_prometheus(struct str text, struct buf *out);
