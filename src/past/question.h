/* SPDX-License-Identifier: Apache-2.0
 * A query about the past, from clients of the API and users of `whirr history`: which metrics, of what, when, how fine, in which
 * format. Only parses and checks; store/ answers.
 */
#pragma once

#include "base/moment.h"
#include "store/query.h"

enum {
    QUESTION_METRICS_MAX = 16, /* by name; `all` may be more */
    QUESTION_POINTS_DEFAULT = 1000,
    QUESTION_POINTS_MAX = 5000,    /* of one metric of one GPU, host or process */
    QUESTION_LIMIT_DEFAULT = 1000, /* of lists */
    QUESTION_TEXT_SIZE = 512,
};

enum history_kind { HISTORY_SERIES, HISTORY_PROCESSES, HISTORY_EVENTS, HISTORY_LIMITS };
enum history_format { HISTORY_JSON, HISTORY_CSV, HISTORY_JSONL };
enum history_of { OF_GPU, OF_HOST, OF_PROCESS };

struct history_metric {
    enum history_of of;
    size_t column; /* of the series, or enum process_column */
    const char *name, *unit;
    double scale; /* of the column */
    bool bits;    /* flags: in a step, the share of throttled samples */
    bool total;   /* a step has its sum, not a mean */
};

struct history_question {
    enum history_kind kind;
    enum history_format format;
    int64_t since_ms, until_ms;
    int64_t step_ms; /* 0: automatic */
    bool raw;        /* rows as stored */
    bool finest;     /* keep the requested step, even if it has expired and the result is empty */
    size_t points;
    struct history_metric metrics[QUERY_COLUMNS_MAX];
    size_t metric_count;
    bool all_metrics;              /* everything in the database about GPUs or hosts: see metrics[0].of */
    char gpus[QUESTION_TEXT_SIZE]; /* "": all; "0,GPU-1234" */
    char host[HOST_NAME_SIZE];     /* "": own_host if the database knows it, otherwise all; "*": all */
    char own_host[HOST_NAME_SIZE];
    char process[QUESTION_TEXT_SIZE]; /* name; "": any */
    int32_t pid;                      /* 0: any */
    int64_t run;                      /* 0: any */
    char event[32];                   /* kind of event; "": all */
    bool by_energy;                   /* processes: sorted by energy instead of paged */
    size_t limit;
    int64_t cursor;
};

/* The value of a parameter; false: not given. */
typedef bool history_parameter_fn(void *user, const char *key, char *value, size_t size);

/* Reads `since`, which may be "all" (1970), and `until`, which is interpreted relative to `since`. Leaves both alone if not
 * given. -EINVAL and a message, also if the end is not after the beginning. */
struct question_span {
    struct wall since, until;
    bool has_since, has_until;
    bool any_order; /* an end before the beginning is an empty span, not a mistake */
};
int question_read_span(history_parameter_fn *parameter, void *user, struct wall now, enum moment_zone zone,
                       struct question_span *span, struct error *err);

/* -EINVAL and a message that names the parameter, and suggests a metric for an unknown one. */
int history_question_read(struct history_question *q, enum history_kind kind, history_parameter_fn *parameter, void *user,
                          struct wall now, enum moment_zone zone, struct error *err);

static inline bool history_of_process(const struct history_question *q)
{
    return q->process[0] || q->pid || q->run;
}

/* The runs of processes that it is about. */
static inline struct store_span history_runs_of(const struct history_question *q, const char *host, int64_t gpu_id)
{
    return (struct store_span){.host = host,
                               .gpu_id = gpu_id,
                               .since_ms = q->since_ms,
                               .until_ms = q->until_ms,
                               .run = q->run,
                               .pid = q->pid,
                               .name = q->process[0] ? q->process : NULL};
}

/* A column of GPUs or hosts as a metric. */
struct history_metric history_metric_of(enum history_of of, size_t column);
/* "W", "%", "MiB", ... from the suffix of a metric's name; "" without one. */
const char *metric_unit(const char *name);
