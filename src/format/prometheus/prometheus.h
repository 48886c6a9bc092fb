/* SPDX-License-Identifier: Apache-2.0
 * A snapshot as Prometheus text exposition (version 0.0.4). An absent reading has no series: never a zero that was not measured. No
 * PIDs in labels unless requested: processes are added up by name, user and container.
 */
#pragma once

#include "base/buf.h"
#include "base/digest.h"
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
    PROMETHEUS_DCGM_OLD = 1 << 3,
    PROMETHEUS_OLD_NAMES = 1 << 2, /* our own of 0.1; until 0.4 */
};

/* The settings of [metrics]. All zero is fine: our own series, by name. */
struct prometheus_options {
    unsigned sets;
    size_t process_groups; /* per GPU; 0: PROMETHEUS_GROUPS */
    bool no_process_groups, pids, old_hostname;
    char machine[HEX_SIZE(8)]; /* identifies the host, whatever its name; "": unknown */
    struct prometheus_common {
        char name[64], value[128];   /* value "": omit this label */
    } labels[PROMETHEUS_LABELS_MAX]; /* of every series, besides host */
    size_t label_count;
};

/* An ID of the host, whatever its name; "": unknown, as in a container. */
void prometheus_machine(const struct env *env, char text[HEX_SIZE(8)]);
void prometheus_options_init(struct prometheus_options *o, const struct config_metrics *settings, const struct env *env);
/* 0: no such set. */
enum prometheus_set prometheus_set_from_name(const char *name);

/* What the snapshot does not contain. All zero is fine: no guard, no evictions. */
struct prometheus_extra {
    uint64_t evictions_total;
    int32_t own_pid;                          /* never counts as another process */
    bool others_counted;                      /* by the guard; false: all processes except own_pid count */
    int64_t other_processes[GPU_MAX];         /* per GPU position */
    const struct health *health;              /* lost GPUs, driver errors; NULL: unknown */
    const struct prometheus_options *options; /* NULL: the defaults */
};

void prometheus_write(struct buf *out, const struct snapshot *s, const struct prometheus_extra *extra);
/* The findings of a snapshot. */
void prometheus_findings(struct buf *out, const struct snapshot *s);

/* Adds the common labels to all series in `text`: host, and those of the options. */
void prometheus_add_labels(struct buf *text, const char *host, const struct prometheus_options *o);

/* Building blocks for modules that add their own series (the server, the guard, the store). */
void prometheus_head(struct buf *out, const char *name, const char *type, const char *help);
/* Only before the first series. */
void prometheus_head_once(struct buf *out, bool *headed, const char *name, const char *type, const char *help);
/* A metric under the name and in the unit of another exporter. */
struct prometheus_alias {
    const char *name, *type;
    enum metric metric;
    double scale;
    const char *help;
};
/* name="value" with the value escaped; preceded by a comma unless it is the first. */
void prometheus_label(struct buf *out, bool first, const char *name, const char *value);
void prometheus_label_str(struct buf *out, bool first, const char *name, struct str s);
/* A space, the number and a newline; and after labels, whose brace it closes. */
void prometheus_value(struct buf *out, double value);
void prometheus_end(struct buf *out, double value);

/* A series without labels, with its head. */
void prometheus_plain(struct buf *out, const char *name, const char *type, const char *help, double value);
/* name{labels} value; writes the labels as they are. */
void prometheus_series(struct buf *out, struct str name, struct str labels, double value);

/* ---- Internals of the Prometheus text: labels of a GPU, and series of processes. ---- */

/* Its index, UUID and name; simulated="true" only if it is. */
void prometheus_id_labels(struct buf *out, int index, const struct gpu_id *id, bool simulated);
/* gpu, uuid and name of the GPU; those of the instance, if it is one; simulated="true" only if it is. */
void prometheus_gpu_labels(struct buf *out, const struct gpu *card, const struct gpu *instance);

/* The labels of every GPU in a snapshot, written once. */
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

/* A process's identity as labels. */
struct prometheus_who {
    struct str process, user, container, pod, space, job;
    int32_t pid; /* 0: not by PID */
};
void prometheus_who(const struct process *p, struct prometheus_who *ret);
int prometheus_who_compare(const struct prometheus_who *x, const struct prometheus_who *y);
/* Follows other labels: begins with a comma. */
void prometheus_who_labels(struct buf *out, const struct prometheus_who *who);

/* Figures of model servers. */
void prometheus_serving(struct buf *out, const struct snapshot *s, const struct prometheus_options *o,
                        const struct prometheus_labels *labels);

/* The sets of other exporters, for the GPUs of their vendor. */
void prometheus_dcgm(struct buf *out, const struct snapshot *s, const struct prometheus_extra *extra, bool old);
void prometheus_nvidia_smi(struct buf *out, const struct snapshot *s, const struct prometheus_extra *extra);

/* ---- OpenMetrics 1.0: counter families without "_total", units, escaped quotes in help texts, and an end marker that proves
 * that nothing was cut off. */

#define OPENMETRICS_TYPE "application/openmetrics-text"
#define OPENMETRICS_CONTENT_TYPE OPENMETRICS_TYPE "; version=1.0.0; charset=utf-8"

/* `text`: the output of prometheus_write() and related functions, with HELP and TYPE before each family. */
void openmetrics_from_prometheus(struct str text, struct buf *out);
