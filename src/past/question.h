/* SPDX-License-Identifier: Apache-2.0
 * A question about the past, as clients of the API and users of `whirr history` put it: which metrics, of what, when, how fine, in
 * which form. Only reads and checks; store/ answers.
 */
#pragma once

#include "base/moment.h"
#include "store/query.h"

enum {
    QUESTION_METRICS_MAX = 16, /* by name; `all` may be more */
    QUESTION_POINTS_DEFAULT = 1000,
    QUESTION_POINTS_MAX = 5000,    /* of one metric of one GPU, host or process */
    QUESTION_LIMIT_DEFAULT = 1000, /* of lists */
    QUESTION_LIMIT_MAX = 10000,
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
    bool bits;    /* flags: of a step, the share of samples in which the card was slowed down */
    bool total;   /* adds up: a step has its sum, not a mean */
};

struct history_question {
    enum history_kind kind;
    enum history_format format;
    int64_t since_ms, until_ms;
    int64_t step_ms; /* 0: chosen */
    bool raw;        /* rows as they were stored */
    bool finest;     /* an own step is kept: where it is not there any more, nothing is */
    size_t points;
    struct history_metric metrics[QUERY_COLUMNS_MAX];
    size_t metric_count;
    bool all_metrics;              /* that the database has, of GPUs or of hosts: metrics[0].of says which */
    char gpus[QUESTION_TEXT_SIZE]; /* "": all; "0,GPU-1234" */
    char host[HOST_NAME_SIZE];     /* "": own_host if the database knows it, else all; "*": all */
    char own_host[HOST_NAME_SIZE];
    char process[QUESTION_TEXT_SIZE]; /* name; "": any */
    int32_t pid;                      /* 0: any */
    int64_t run;                      /* 0: any */
    char event[32];                   /* kind of event; "": all */
    bool by_energy;                   /* processes: the most first, instead of page by page */
    size_t limit;
    int64_t cursor;
};

/* The value of a parameter; false: not given. */
typedef bool history_parameter_fn(void *user, const char *key, char *value, size_t size);

/* The moment `at`, as moment_parse reads it. *ret and *given as they were when it is not asked for. -EINVAL and a sentence. */
int question_read_moment(const char *key, history_parameter_fn *parameter, void *user, struct wall now, enum moment_zone zone,
                         bool *given, struct wall *ret, struct error *err);

/* `since`, which may be "all" (1970), and `until`, which is understood as the end of what began at `since`. Both are left as they
 * were when they are not given. -EINVAL and a sentence, also when the end is not after the beginning. */
struct question_span {
    struct wall since, until;
    bool has_since, has_until;
    bool any_order; /* an end before the beginning is a span with nothing in it, not a mistake */
};
int question_read_span(history_parameter_fn *parameter, void *user, struct wall now, enum moment_zone zone,
                       struct question_span *span, struct error *err);

/* -EINVAL and a sentence that names the parameter, and the nearest metric where one is not known. */
int history_question_read(struct history_question *q, enum history_kind kind, history_parameter_fn *parameter, void *user,
                          struct wall now, enum moment_zone zone, struct error *err);

static inline bool history_of_process(const struct history_question *q)
{
    return q->process[0] || q->pid || q->run;
}

/* A column of GPUs or hosts as a metric. */
struct history_metric history_metric_of(enum history_of of, size_t column);
/* "W", "%", "MiB", ... from the end of a metric's name; "" where it has none. */
const char *metric_unit(const char *name);
