/* SPDX-License-Identifier: Apache-2.0
 * Reading the history. Every function walks over rows and calls `each` with one at a time, so that an answer of any size can be
 * streamed; `each` returns 0 to continue, 1 to stop, or -errno, which becomes the result.
 *
 * Use a store opened read-only (or the writer's own, between two writes). Pending buckets are computed on the fly: an answer never
 * depends on when the background work ran.
 */
#pragma once

#include <pthread.h>

#include "model/finding.h"
#include "store/store.h"

enum { QUERY_COLUMNS_MAX = SERIES_COLUMNS_MAX, QUERY_POINTS_DEFAULT = 2000, QUERY_POINTS_MAX = 10000 };

/* Row orders that a consumer may rely on. A query that promises one selects the keys of that order first and ends in its ORDER
 * BY; the consumer checks each row with order_holds(), so that a mismatch fails instead of producing wrong sums. */
#define ORDER_BY_TIME_AND_GPU " ORDER BY 1, 2, 3"                    /* minute or hour, GPU, process */
#define ORDER_BY_GPU_AND_STEP " ORDER BY 1, 2, sm DESC, memory DESC" /* GPU, step; busiest first */

/* The keys of the previous row; zero before the first. */
struct row_order {
    int64_t first, second;
    bool begun;
};

/* 0, or -EPROTO: the row belongs before the previous one. */
int order_holds(struct row_order *o, int64_t first, int64_t second);

/* A GPU in the database. */
struct store_gpu {
    int64_t id;
    int index; /* its last known index */
    struct gpu_id identity;
    char host[HOST_NAME_SIZE];
    bool simulated;
    struct wall first_seen, last_seen;
};

typedef int store_gpu_fn(void *user, const struct store_gpu *gpu);
/* host NULL: all hosts. Ordered by host and index. */
int store_gpus(struct store *s, const char *host, store_gpu_fn *each, void *user, struct error *err);
/* The same for frequent callers: last_seen may be hours old. */
int store_known_gpus(struct store *s, const char *host, store_gpu_fn *each, void *user, struct error *err);
/* Finds a GPU by index, UUID (or a unique prefix) or PCI address. -ENODEV and a sentence if none or more than one matches. */
int store_find_gpu(struct store *s, const char *host, const char *which, struct store_gpu *ret, struct error *err);

/* A host that writes into the database. */
struct store_host {
    int64_t id;
    char name[HOST_NAME_SIZE];
    struct wall first_seen, last_seen;
};

typedef int store_host_fn(void *user, const struct store_host *host);
/* Ordered by name. */
int store_hosts(struct store *s, store_host_fn *each, void *user, struct error *err);

/* Whether the column was ever stored. */
bool store_has(const struct store *s, enum series series, size_t column);

/* Older rows were cleaned up; 0: none were. */
int64_t store_horizon(const struct store *s, enum series series, enum level level);

/* Raw rows, oldest first. */
struct store_row {
    int64_t cursor; /* continues after this row */
    struct wall at;
    int gpu_index;               /* at that time; -1 for rows of a host */
    const struct store_gpu *gpu; /* NULL for rows of a host */
    const struct store_host *host;
    const struct reading *values; /* in the order of the requested columns; absent where NULL */
};

struct store_page {
    enum series series;         /* 0: GPUs */
    const char *host;           /* NULL: all */
    int64_t since_ms, until_ms; /* since <= row < until */
    int gpu_index;              /* rows with the GPU at this index; -1: all */
    int64_t gpu_id;             /* rows of this GPU; 0: all */
    int64_t cursor;             /* rows after this one; 0: from `since`. Stays valid while rows are added */
    size_t limit;
    const size_t *columns; /* of the series */
    size_t column_count;
};

typedef int store_row_fn(void *user, const struct store_row *row);
int store_rows(struct store *s, const struct store_page *page, store_row_fn *each, void *user, struct error *err);

/* One point of a plot. */
struct store_point {
    struct wall at;                 /* beginning of the step */
    size_t place;                   /* index of its subject in the plot */
    const struct aggregate *values; /* in column order; count 0 where unknown */
    enum limit limit;               /* for processes: the limit in most minutes of the step */
};

/* Requested beside the sum and the count of a column; an unrequested min or max is set to the mean. */
enum { WANTS_MIN = 1, WANTS_MAX = 2 };

struct store_plot {
    enum series series;
    int64_t subject;         /* ID of the GPU or host */
    const int64_t *subjects; /* several subjects of one series, instead of `subject` */
    size_t subject_count;
    int64_t since_ms, until_ms;
    int64_t step_ms; /* 0: chosen for at most `points` steps */
    size_t points;   /* 0: QUERY_POINTS_DEFAULT */
    const size_t *columns;
    size_t column_count;
    const unsigned char *wanted; /* per column: WANTS_MIN, WANTS_MAX; NULL: both */
};

/* Chooses the step and the level that answer a plot. A given step is rounded up to whole minutes (from 30 s on) and hours (from
 * two on), and to the finest level that still reaches back to `since`. */
void store_plan(struct store *s, const struct store_plot *plot, int64_t *ret_step_ms, enum level *ret_level);

typedef int store_point_fn(void *user, const struct store_point *point);
/* Steps without any row are skipped. Steps of one subject come in time order; those of several subjects are interleaved. */
int store_series(struct store *s, const struct store_plot *plot, store_point_fn *each, void *user, struct error *err);

/* One run of a process on a GPU. Sums cover its whole run, or the part within the requested time range. */
struct store_process_run {
    int64_t id, gpu_id;
    int gpu_index;
    char host[HOST_NAME_SIZE], gpu_uuid[GPU_UUID_SIZE];
    struct process process; /* identity; readings are means */
    struct wall first_seen, last_seen;
    bool ended, simulated;
    int64_t samples;
    struct reading memory_peak_bytes, memory_mean_bytes, sm_mean_permille;
    int64_t energy_mj;
    struct reading parked_mj; /* of it, what an open context cost while the GPU rested */
    bool limits_known;        /* they were requested */
    uint32_t limit_minutes[LIMIT_COUNT];
};

struct store_span {
    const char *host;
    int64_t gpu_id; /* 0: all */
    int64_t since_ms, until_ms;
    bool within;      /* count only the part within the time range (to the minute), where that is still stored */
    bool limits;      /* with `within`: also count the minutes of each limit */
    bool in_order;    /* oldest first, so that pages stay stable while runs are added */
    int64_t cursor;   /* with in_order: runs after this one; 0: from the first */
    int64_t run;      /* 0: all */
    int32_t pid;      /* 0: all */
    const char *name; /* of the process; NULL: all */
    size_t limit;
};

typedef int store_process_run_fn(void *user, const struct store_process_run *run);
/* Runs that overlap the time range, most energy first, or in order. */
int store_process_runs(struct store *s, const struct store_span *span, store_process_run_fn *each, void *user, struct error *err);

/* Which parts of a time range are read from hours and which from minutes: hours for long ranges, minutes at the edges and where
 * hours are still pending. In order, without gaps. */
enum { HOUR_SEGMENTS_MAX = 64, HOURS_WORTH = 14 * 24, HOURS_WORTH_OF_MANY = 2 };
struct hour_segment {
    int64_t from, to; /* minutes */
    bool hours;
};
struct hour_segments {
    struct hour_segment list[HOUR_SEGMENTS_MAX];
    size_t count;
    bool full;
};
/* worth: read whole hours if there are at least this many. High for one host, for its detail; low for a fleet. */
int store_hour_segments(struct store *s, int64_t from_minute, int64_t to_minute, int64_t worth, struct hour_segments *ret,
                        struct error *err);

/* Processes over time, from minutes: the total of all runs that `runs` selects (its time, order and limit don't matter). */
enum process_column {
    PROCESS_MEMORY_BYTES,
    PROCESS_SM_PERMILLE,
    PROCESS_ENERGY_MJ,
    PROCESS_POWER_MW,
    PROCESS_TOKENS_MILLI, /* of model servers, in minutes in which they reported it: generated and prompt tokens per second,
                             requests in progress */
    PROCESS_PROMPT_MILLI,
    PROCESS_RUNNING_MILLI,
    PROCESS_COLUMNS
};
struct store_process_plot {
    struct store_span runs;
    int64_t since_ms, until_ms;
    int64_t step_ms; /* whole minutes */
};
/* Sum, min and max are over the minutes of the step in which the GPU was watched, whether or not a run existed; for energy, the
 * sum is the energy used. The max of memory adds up the peaks of the runs in the minute. Steps without a run are skipped. */
int store_process_series(struct store *s, const struct store_process_plot *plot, store_point_fn *each, void *user,
                         struct error *err);

/* A GPU's energy, the part attributed to processes, and the part measured by the GPU's own counter. */
struct store_energy {
    int64_t energy_mj, attributed_mj, counter_mj;
};
/* Fills ret[i] for each GPU. */
int store_energy_of(struct store *s, const int64_t *gpu_ids, size_t count, int64_t since_ms, int64_t until_ms,
                    struct store_energy *ret, struct error *err);

/* The energy of each of them in each hour. */
typedef void store_energy_hour_fn(void *user, int64_t gpu_id, int64_t hour, int64_t energy_mj);
int store_energy_by_hour(struct store *s, const int64_t *gpu_ids, size_t count, int64_t since_ms, int64_t until_ms,
                         store_energy_hour_fn *each, void *user, struct error *err);

struct store_event_row {
    int64_t cursor;
    int64_t id; /* unique within its kind: a finding has the ID of its episode */
    struct wall at;
    int64_t gpu_id; /* 0: none */
    int gpu_index;  /* -1: none */
    const char *host, *kind, *severity, *text;
    const char *data; /* JSON, or NULL */
    int64_t code;     /* 0: none */
};

struct store_event_page {
    const char *host;
    const char *kind; /* NULL: all */
    int64_t gpu_id;   /* 0: all, including those of no GPU */
    int64_t since_ms, until_ms;
    int64_t cursor; /* 0: from `since` */
    size_t limit;
};

typedef int store_event_fn(void *user, const struct store_event_row *event);
/* Oldest first. */
int store_events(struct store *s, const struct store_event_page *page, store_event_fn *each, void *user, struct error *err);

/* By name; id 0: none. */
int store_find_host(struct store *s, const char *name, struct store_host *ret, struct error *err);

/* The host's last sample before at_ms, or its first at or after it. From the finest level that still has one; 0: none. */
int store_neighbor(struct store *s, int64_t host_id, int64_t at_ms, bool before, struct wall *ret, struct error *err);

/* Rarely changing values (limits, driver, ...) of a host's GPUs, as set up to that time, oldest first. */
#define FACT_STATE "state"
#define FACT_PROCESSES "processes"
/* For a GPU that is or was partitioned: bytes of its largest instance; "none" once it is whole again. */
#define FACT_INSTANCES "largest_instance"
typedef int store_fact_fn(void *user, int64_t gpu_id, struct wall since, const char *key, const char *value);
int store_facts(struct store *s, const char *host, int64_t until_ms, store_fact_fn *each, void *user, struct error *err);

/* The processes in each step of a GPU, in ORDER_BY_GPU_AND_STEP. */
struct store_worker {
    int64_t gpu_id;
    int64_t step;    /* time / step_ms */
    int64_t process; /* its run; with by_program, the first run */
    int64_t sm_sum_permille, sm_count, memory_sum_bytes, samples;
};
struct store_workers {
    const char *host;
    int64_t gpu_id; /* 0: all GPUs of the host */
    int64_t since_ms, until_ms;
    int64_t step_ms; /* whole minutes */
    bool by_program; /* all runs of a program by the same user are one worker */
};
typedef int store_worker_fn(void *user, const struct store_worker *worker);
int store_workers(struct store *s, const struct store_workers *query, store_worker_fn *each, void *user, struct error *err);

/* Minutes and hours of processes, in ORDER_BY_TIME_AND_GPU. gpu_samples, from the GPU's own minute, is the number of samples
 * that could have had the process. */
struct store_process_minute {
    int64_t minute, process, gpu_id, samples, sm_sum_permille, sm_count, memory_sum_bytes, memory_count, memory_max_bytes,
        energy_mj;
    int64_t gpu_samples;                           /* -1: unknown */
    int64_t gpu_util_sum_permille, gpu_util_count; /* -1: unknown */
    enum limit limit;                              /* in most of its samples */
    int64_t unattributed_mj;                       /* the GPU's energy in the minute that no process was given */
    struct reading generated_tokens, prompt_tokens, requests, parked_mj;
};
struct store_process_hour {
    int64_t hour, process, gpu_id;
    uint64_t present_minutes, busy_minutes, held_minutes; /* one bit per minute */
    struct str partial_minutes; /* "17:3/12 18:7/12": in 3 of 12 samples of minute 17, ...; in every sample of all other minutes */
    struct str limits;          /* "disk:7:1250": limited by disk in the minutes of these bits, in which it used 1250 mJ; ... */
    int64_t byte_minutes, idle_byte_minutes, memory_max_bytes, energy_mj;
    int64_t unattributed_mj, watched_ms; /* of the GPU in the hour: energy given to no process; time watched */
    struct reading generated_tokens, prompt_tokens, requests, parked_mj; /* parked: the part of its energy that its context cost */
};
/* Parses the next entry of `limits`, or of a list for a single minute, "disk cpu_quota", which has 0 mJ. */
struct store_limit {
    enum limit limit;
    uint64_t minutes; /* one bit per minute */
    int64_t energy_mj;
};
bool store_next_limit(struct str *limits, struct store_limit *ret);
typedef int store_process_minute_fn(void *user, const struct store_process_minute *m);
typedef int store_process_hour_fn(void *user, const struct store_process_hour *h);
/* Minutes, and hours where these are worth it or minutes have expired, in order of time. */
int store_process_times(struct store *s, const char *host, int64_t since_ms, int64_t until_ms, store_process_minute_fn *minute,
                        store_process_hour_fn *hour, void *user, struct error *err);
/* Minutes in which model servers counted tokens, by model, oldest first: sums over all servers of a model on GPUs of one name,
 * and the energy of all its processes. Processes without a model are skipped. */
struct store_serving_minute {
    int64_t minute;
    const char *model, *gpu_name; /* valid until the next row */
    int64_t servers, processes, samples, running_sum, running_samples, generated_tokens, energy_mj;
    struct reading prompt_tokens;
};
typedef int store_serving_minute_fn(void *user, const struct store_serving_minute *m);
int store_serving_minutes(struct store *s, const char *host, int64_t from_minute, int64_t to_minute, store_serving_minute_fn *each,
                          void *user, struct error *err);
/* How long a GPU was watched within an hour, and its activity by minutes; unordered. Skips hours that an earlier version summed
 * up, and those in which its power was never read. */
struct store_watched_hour {
    int64_t gpu_id, hour, watched_ms, busy_ms, idle_ms, idle_mj;
    int64_t util_sum_permille, util_minutes; /* of its minute means */
};
typedef int store_watched_hour_fn(void *user, const struct store_watched_hour *h);
int store_watched_hours(struct store *s, const int64_t *gpu_ids, size_t count, int64_t from_hour, int64_t to_hour,
                        store_watched_hour_fn *each, void *user, struct error *err);
/* Since when the energy of GPUs and of processes is recorded; 0: not at all. */
int store_process_horizon(struct store *s, int64_t *ret_energy_ms, int64_t *ret_processes_ms, struct error *err);

/* The columns of a series in this database, in order; returns their number. */
size_t store_columns(const struct store *s, enum series series, size_t columns[SERIES_COLUMNS_MAX]);

/* ---- past findings ---- */

/* An episode of a finding: from the first sample that had it to the last. Sums and means cover only its samples. */
struct store_finding {
    int64_t id, gpu_id, process_id; /* 0: about the host, about no process */
    char host[HOST_NAME_SIZE];
    int gpu_index; /* -1: about the host */
    int32_t pid;   /* 0: about no process */
    finding_code code;
    enum severity severity, severity_now; /* at its worst; in its last sample */
    double confidence;                    /* at its worst */
    struct wall since;                    /* as the finding states: may predate the history */
    struct wall first_seen, last_seen, worst_at;
    bool ended; /* false: the newest sample, or one just before it, had the finding */
    char headline[FINDING_HEADLINE_SIZE];
    char process[PROCESS_NAME_SIZE], user[PROCESS_USER_SIZE], container[PROCESS_CONTAINER_NAME_SIZE];
    int64_t samples;
    struct reading util_permille, power_mw, temp_max_mdegc; /* mean, mean, highest */
};

struct store_finding_page {
    const char *host; /* NULL: all */
    int64_t gpu_id;   /* 0: all, including those of no GPU */
    int64_t since_ms, until_ms;
    enum severity least;
    int64_t cursor; /* episodes after this one; 0: from the first */
    size_t limit;
};

typedef int store_finding_fn(void *user, const struct store_finding *finding);
/* Episodes that overlap the time range, in the order of their beginnings. Skips codes of a later version. */
int store_findings(struct store *s, const struct store_finding_page *page, store_finding_fn *each, void *user, struct error *err);

/* ---- parallel_query.c: a second connection to a server or a large file, so that each answers half of a long query. A small file,
 * or a server without a free connection, uses one: then the query runs when its result is requested. ---- */

/* 0 or -errno with a message. */
typedef int parallel_query_fn(struct store *s, void *user, struct error *err);

struct parallel_query {
    parallel_query_fn *run;
    void *user;
    struct store *first;
    pthread_t thread;
    bool started, done;
    int rc;
    struct error err;
};

/* Whether two connections are faster than one. */
bool parallel_query_is_faster(const struct store *s);
void parallel_query_begin(struct parallel_query *a, struct store *s, parallel_query_fn *run, void *user);
/* Returns the result. Must be called at least once; until then, `user` belongs to the query. */
int parallel_query_end(struct parallel_query *a, struct error *err);
/* Runs the first in this thread and the second in another; reports the first failure. */
int parallel_query_both(struct store *s, parallel_query_fn *first, void *first_user, parallel_query_fn *second, void *second_user,
                        struct error *err);
