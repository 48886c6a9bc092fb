/* SPDX-License-Identifier: Apache-2.0
 * Reading the history back. Every function walks over rows and calls `each` with one at a time, so that an answer of any size can
 * be streamed; `each` returns 0 to go on, 1 to stop, or -errno, which becomes the result.
 *
 * Use a store opened read-only (or the writer's own, between two writes). What is not summed up yet is computed on the way: an
 * answer never depends on when the background work ran.
 */
#pragma once

#include "store/store.h"

enum { QUERY_COLUMNS_MAX = SERIES_COLUMNS_MAX, QUERY_POINTS_DEFAULT = 2000, QUERY_POINTS_MAX = 10000 };

/* Orders of rows that a consumer may rely on. A query that promises one selects the keys of that order first and ends in its words;
 * a consumer of such rows looks at each with order_holds(), so that sums are refused rather than wrong if the two ever part. */
#define ORDER_BY_TIME_AND_GPU " ORDER BY 1, 2, 3"                    /* minute or hour, GPU, process */
#define ORDER_BY_GPU_AND_STEP " ORDER BY 1, 2, sm DESC, memory DESC" /* GPU, step; the busiest first */

/* The keys of the row before; zero before the first. */
struct row_order {
    int64_t first, second;
    bool begun;
};

/* 0, or -EPROTO: the row belongs before the last one. */
int order_holds(struct row_order *o, int64_t first, int64_t second);

/* A GPU of the database. */
struct store_gpu {
    int64_t id;
    int index; /* the last one it had */
    struct gpu_id identity;
    char host[HOST_NAME_SIZE];
    bool simulated;
    struct wall first_seen, last_seen;
};

typedef int store_gpu_fn(void *user, const struct store_gpu *gpu);
/* host: of this host only; NULL: of all. In the order of host and index. */
int store_gpus(struct store *s, const char *host, store_gpu_fn *each, void *user, struct error *err);
/* The same for callers that ask often: last_seen may be hours old. */
int store_known_gpus(struct store *s, const char *host, store_gpu_fn *each, void *user, struct error *err);
/* By index, UUID (or a unique beginning) or PCI address. -ENODEV and a sentence when there is none, or more than one. */
int store_find_gpu(struct store *s, const char *host, const char *which, struct store_gpu *ret, struct error *err);

/* A machine that writes into the database. */
struct store_host {
    int64_t id;
    char name[HOST_NAME_SIZE];
    struct wall first_seen, last_seen;
};

typedef int store_host_fn(void *user, const struct store_host *host);
/* In the order of their names. */
int store_hosts(struct store *s, store_host_fn *each, void *user, struct error *err);

/* Whether a column was ever stored. */
bool store_has(const struct store *s, enum series series, size_t column);

/* What is older was cleaned up; 0: nothing was. */
int64_t store_horizon(const struct store *s, enum series series, enum level level);

/* Rows as they were stored, oldest first. */
struct store_row {
    int64_t cursor; /* to go on behind this row */
    struct wall at;
    int gpu_index;               /* at that time; -1 for rows of a host */
    const struct store_gpu *gpu; /* NULL for rows of a host */
    const struct store_host *host;
    const struct reading *values; /* in the order of the columns that were asked for; absent where NULL */
};

struct store_page {
    enum series series;         /* 0: of GPUs */
    const char *host;           /* NULL: all */
    int64_t since_ms, until_ms; /* since <= row < until */
    int gpu_index;              /* rows in which the GPU had this index; -1: all */
    int64_t gpu_id;             /* rows of this GPU; 0: all */
    int64_t cursor;             /* rows behind this one; 0: from `since`. Stays good while rows are added */
    size_t limit;
    const size_t *columns; /* of the series */
    size_t column_count;
};

typedef int store_row_fn(void *user, const struct store_row *row);
int store_rows(struct store *s, const struct store_page *page, store_row_fn *each, void *user, struct error *err);

/* One point of a plot. */
struct store_point {
    struct wall at;                 /* beginning of the step */
    size_t place;                   /* of its subject among those of the plot */
    const struct aggregate *values; /* in the order of the columns; count 0 where nothing was known */
    enum limit limit;               /* of a process: what limited it in most of the step's minutes */
};

/* What is asked for beside the sum and the count of a column; the other of the two is then its mean. */
enum { WANTS_MIN = 1, WANTS_MAX = 2 };

struct store_plot {
    enum series series;
    int64_t subject;         /* number of the GPU or host */
    const int64_t *subjects; /* instead of it: several of one kind */
    size_t subject_count;
    int64_t since_ms, until_ms;
    int64_t step_ms; /* 0: chosen so that there are at most `points` */
    size_t points;   /* 0: QUERY_POINTS_DEFAULT */
    const size_t *columns;
    size_t column_count;
    const unsigned char *wanted; /* of each column: WANTS_MIN, WANTS_MAX; NULL: both */
};

/* The step and the level that a plot is answered from. An own step is rounded up to whole minutes (from 30 s on) and hours
 * (from two on), and to what the levels that still reach back to `since` can give. */
void store_plan(struct store *s, const struct store_plot *plot, int64_t *ret_step_ms, enum level *ret_level);

typedef int store_point_fn(void *user, const struct store_point *point);
/* Steps without any row are left out. Those of one subject come in the order of time; of several, they come mixed. */
int store_series(struct store *s, const struct store_plot *plot, store_point_fn *each, void *user, struct error *err);

/* One run of a process on a GPU. Sums are of its whole run, or of the part within the time that was asked for. */
struct store_process_run {
    int64_t id, gpu_id;
    int gpu_index;
    char host[HOST_NAME_SIZE], gpu_uuid[GPU_UUID_SIZE];
    struct process process; /* identity; the readings are means */
    struct wall first_seen, last_seen;
    bool ended, simulated;
    int64_t samples;
    struct reading memory_peak_bytes, memory_mean_bytes, sm_mean_permille;
    int64_t energy_mj;
    bool limits_known; /* they were asked for */
    uint32_t limit_minutes[LIMIT_COUNT];
};

struct store_span {
    const char *host;
    int64_t gpu_id; /* 0: all */
    int64_t since_ms, until_ms;
    bool within;      /* count only what happened within the time (to the minute), where that is still known */
    bool limits;      /* within the time: also in how many minutes what limited it */
    bool in_order;    /* oldest first, for pages that stay as they are while runs are added */
    int64_t cursor;   /* in order: runs behind this one; 0: from the first */
    int64_t run;      /* 0: all */
    int32_t pid;      /* 0: all */
    const char *name; /* of the process; NULL: all */
    size_t limit;
};

typedef int store_process_run_fn(void *user, const struct store_process_run *run);
/* Runs that overlap the time, most energy first, or in order. */
int store_process_runs(struct store *s, const struct store_span *span, store_process_run_fn *each, void *user, struct error *err);

/* Minutes of processes and energy by what they are read from: hours where a long time is asked about, minutes at its edges and
 * where the hours are not summed up yet. In order, without gaps. */
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
/* worth: from so many whole hours on they are read as such. Of one host late, for the sake of its minutes; of a fleet early. */
int store_hour_segments(struct store *s, int64_t from_minute, int64_t to_minute, int64_t worth, struct hour_segments *ret,
                        struct error *err);

/* Processes over time, from minutes: what all runs that `runs` describes (its time, order and limit do not matter) had together.
 */
enum process_column {
    PROCESS_MEMORY_BYTES,
    PROCESS_SM_PERMILLE,
    PROCESS_ENERGY_MJ,
    PROCESS_POWER_MW,
    PROCESS_TOKENS_MILLI, /* of model servers, in minutes in which they said it: tokens a second, of answers and prompts, requests
                           */
    PROCESS_PROMPT_MILLI,
    PROCESS_RUNNING_MILLI,
    PROCESS_COLUMNS
};
struct store_process_plot {
    struct store_span runs;
    int64_t since_ms, until_ms;
    int64_t step_ms; /* whole minutes */
};
/* Sum, least and most are over the minutes of the step in which the GPU was watched, whether or not a run was there; of energy,
 * the sum is what was used. The most of memory is the sum of what each run held at most in the minute. Steps without a run are
 * left out. */
int store_process_series(struct store *s, const struct store_process_plot *plot, store_point_fn *each, void *user,
                         struct error *err);

/* What a card used, how much of it went to processes, and how much of it the card's own counter said. */
struct store_energy {
    int64_t energy_mj, attributed_mj, counter_mj;
};
/* Of each in `ret`. */
int store_energy_of(struct store *s, const int64_t *gpu_ids, size_t count, int64_t since_ms, int64_t until_ms,
                    struct store_energy *ret, struct error *err);

struct store_event_row {
    int64_t cursor;
    int64_t id; /* of its kind: a finding has the number of its episode */
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
    int64_t gpu_id;   /* 0: all, also those of no GPU */
    int64_t since_ms, until_ms;
    int64_t cursor; /* 0: from `since` */
    size_t limit;
};

typedef int store_event_fn(void *user, const struct store_event_row *event);
/* Oldest first. */
int store_events(struct store *s, const struct store_event_page *page, store_event_fn *each, void *user, struct error *err);

/* By its name; id 0: there is none. */
int store_find_host(struct store *s, const char *name, struct store_host *ret, struct error *err);

/* The sample of a host next to a moment: before it, or at it and after. From the level that still has one; 0: none. */
int store_neighbor(struct store *s, int64_t host_id, int64_t at_ms, bool before, struct wall *ret, struct error *err);

/* What seldom changes (limits, driver, ...) of the GPUs of a host, as it was set up to that time, oldest first. */
#define FACT_STATE "state"
#define FACT_PROCESSES "processes"
/* Of a GPU that is or was divided into instances: the size of the largest in bytes; "none" when it is whole again. */
#define FACT_INSTANCES "largest_instance"
typedef int store_fact_fn(void *user, int64_t gpu_id, struct wall since, const char *key, const char *value);
int store_facts(struct store *s, const char *host, int64_t until_ms, store_fact_fn *each, void *user, struct error *err);

/* Who took part in each step of a GPU, in ORDER_BY_GPU_AND_STEP. */
struct store_worker {
    int64_t gpu_id;
    int64_t step;    /* time / step_ms */
    int64_t process; /* its run; of a program that is taken as one, the first */
    int64_t sm_sum_permille, sm_count, memory_sum_bytes, samples;
};
struct store_workers {
    const char *host;
    int64_t gpu_id; /* 0: all of the host */
    int64_t since_ms, until_ms;
    int64_t step_ms; /* whole minutes */
    bool by_program; /* the same program of the same user is the same worker */
};
typedef int store_worker_fn(void *user, const struct store_worker *worker);
int store_workers(struct store *s, const struct store_workers *query, store_worker_fn *each, void *user, struct error *err);

/* Minutes and hours of processes, in ORDER_BY_TIME_AND_GPU. The GPU's own minute says how many samples there were to be in. */
struct store_process_minute {
    int64_t minute, process, gpu_id, samples, sm_sum_permille, sm_count, memory_sum_bytes, memory_count, memory_max_bytes,
        energy_mj;
    int64_t gpu_samples;                           /* -1: not known */
    int64_t gpu_util_sum_permille, gpu_util_count; /* -1: not known */
    enum limit limit;                              /* in most of its samples */
    int64_t unattributed_mj;                       /* what the GPU used in the minute and no process was given */
    struct reading generated_tokens, prompt_tokens;
};
struct store_process_hour {
    int64_t hour, process, gpu_id;
    uint64_t present_minutes, busy_minutes, held_minutes; /* one bit a minute */
    struct str partial_minutes; /* "17:3/12 18:7/12": was there in 3 of 12 samples of minute 17, ...; all the others wholly */
    struct str limits; /* "disk:7:1250": limited by disk in the minutes of these bits, in which it used so many millijoules; ... */
    int64_t byte_minutes, idle_byte_minutes, memory_max_bytes, energy_mj;
    int64_t unattributed_mj, watched_ms; /* of the GPU in the hour: used and given to no process; watched for so long */
    struct reading generated_tokens, prompt_tokens;
};
/* The next of `limits`, or of a list of single minutes, "disk cpu_quota": 0 mJ then. */
struct store_limit {
    enum limit limit;
    uint64_t minutes; /* one bit a minute */
    int64_t energy_mj;
};
bool store_next_limit(struct str *limits, struct store_limit *ret);
typedef int store_process_minute_fn(void *user, const struct store_process_minute *m);
typedef int store_process_hour_fn(void *user, const struct store_process_hour *h);
int store_process_minutes(struct store *s, const char *host, int64_t from_minute, int64_t to_minute, store_process_minute_fn *each,
                          void *user, struct error *err);
int store_process_hours(struct store *s, const char *host, int64_t from_hour, int64_t to_hour, store_process_hour_fn *each,
                        void *user, struct error *err);
/* Minutes in which model servers counted tokens, by model and oldest first: sums over all servers of that model on GPUs of one
 * name, and the energy of all processes of it. What has no model is left out. */
struct store_serving_minute {
    int64_t minute;
    const char *model, *gpu_name; /* live until the next */
    int64_t servers, processes, samples, running_sum, running_samples, generated_tokens, energy_mj;
    struct reading prompt_tokens;
};
typedef int store_serving_minute_fn(void *user, const struct store_serving_minute *m);
int store_serving_minutes(struct store *s, const char *host, int64_t from_minute, int64_t to_minute, store_serving_minute_fn *each,
                          void *user, struct error *err);
/* How long a GPU was watched within an hour, and what it did then, minute by minute; in no order. Hours that an earlier version
 * summed up, and those in which its power was never read, are left out. */
struct store_watched_hour {
    int64_t gpu_id, hour, watched_ms, busy_ms, idle_ms, idle_mj;
    int64_t util_sum_permille, util_minutes; /* of the means of its minutes */
};
typedef int store_watched_hour_fn(void *user, const struct store_watched_hour *h);
int store_watched_hours(struct store *s, const int64_t *gpu_ids, size_t count, int64_t from_hour, int64_t to_hour,
                        store_watched_hour_fn *each, void *user, struct error *err);
/* Since when the energy of GPUs, and what processes used, is known; 0: nothing is. */
int store_process_horizon(struct store *s, int64_t *ret_energy_ms, int64_t *ret_processes_ms, struct error *err);

/* The columns that a series has in this database, in its order; how many. */
size_t store_columns(const struct store *s, enum series series, size_t columns[SERIES_COLUMNS_MAX]);
