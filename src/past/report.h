/* SPDX-License-Identifier: Apache-2.0
 * Who used the GPUs, for how long, with how much energy; who held memory without using it; when GPUs were hot.
 *
 *   energy of the GPUs    minute by minute: what each used, and whether its own counter was used
 *   process_minutes       minute by minute: what each process held, used, and its share of the energy
 *        └─▶ summed up by user, container, pod, job, command, model and limit; unattributed energy is a row of its own
 */
#pragma once

#include "base/units.h"
#include "model/finding.h"
#include "past/explain.h"
#include "store/query.h"

/* ---- what a kilowatt-hour emitted: one number for all hours, and a file that knows some of them better ---- */

struct carbon_hour {
    int64_t hour; /* since 1970 */
    double g_per_kwh;
};

struct carbon {
    double g_per_kwh; /* 0: unknown */
    struct carbon_hour *hours;
    size_t count;
};

/* Emissions of some energy, and how much of it they are known for. */
struct emitted {
    double g;
    int64_t mj;
};

/* `path`: lines "2026-11-19T10:00Z,312"; "": none. -EINVAL with the line that is wrong. */
int carbon_read(const char *path, double g_per_kwh, struct carbon *ret, struct error *err);
void carbon_done(struct carbon *c);
static inline bool carbon_is_known(const struct carbon *c)
{
    return c->g_per_kwh > 0 || c->count;
}
void carbon_add(const struct carbon *c, int64_t hour, int64_t energy_mj, struct emitted *sum);

enum {
    REPORT_RUNS_MAX = 65536, /* processes in the span; more are summed up in one group */
    REPORT_HELD_MAX = 20,
    REPORT_HOT_MAX = 20,
    REPORT_FINDINGS_MAX = 256,
    REPORT_LEASES_MAX = 64,
    REPORT_NAME_SIZE = 128,
};

enum report_by {
    REPORT_BY_USER,
    REPORT_BY_CONTAINER,
    REPORT_BY_POD,
    REPORT_BY_JOB,
    REPORT_BY_COMMAND,
    REPORT_BY_MODEL,
    REPORT_BY_LIMIT, /* limits of processes, minute by minute; the ones before are about whole processes */
    REPORT_BY_COUNT
};

struct report_group {
    char name[REPORT_NAME_SIZE]; /* "": unknown, or none */
    enum limit limit;            /* if grouped by limit */
    bool others;                 /* what did not fit into the lists */
    double hours;                /* time on a GPU; simultaneous processes on one GPU count once */
    double busy_hours;           /* ... while computing */
    int64_t energy_mj;
    struct reading parked_mj;         /* of it, what open contexts cost while the GPU rested; of limits not */
    struct emitted emitted;           /* by hour; of limits not */
    double gib_hours, idle_gib_hours; /* memory held, and held idle */
    int64_t memory_peak_bytes;
    size_t processes;
    struct reading generated_tokens, prompt_tokens, requests; /* by the counters of its model servers; absent: none reported */
    int64_t told_mj; /* energy at work in the minutes or hours with tokens, of all processes in the group */
};

struct report_gpu {
    int64_t id;
    int index;
    struct gpu_id identity;
    bool simulated;
    struct wall first_seen;
    double hours, busy_hours; /* with data, and with more than idle load */
    double idle_hours;        /* without load, if power is known ... */
    int64_t idle_mj;          /* ... and the energy meanwhile */
    struct reading util_permille, temp_max_mdegc;
    int64_t energy_mj, counter_mj, integrated_mj, attributed_mj;
    struct reading parked_mj;
    struct emitted emitted;
};

/* Memory that was held while nothing was computed. */
struct report_held {
    int gpu_index;
    struct process process;
    double hours, gib_hours;
    bool energy_known;
    int64_t energy_mj; /* drawn by the GPU meanwhile, while no process computed; divided by memory if several held some */
    struct wall since, until;
};

struct report_hot {
    int gpu_index;
    struct wall since, until;
    int64_t resolution_ms; /* precision of its times: the coarsest data it was read from */
    int64_t temp_max_mdegc;
    double slowed;                                        /* throttled fraction of the time, 0 to 1 */
    char process[PROCESS_WORDS], user[PROCESS_USER_SIZE]; /* of the process with the most energy; "": none */
};

/* All findings of one kind on one GPU. */
struct report_finding {
    int64_t gpu_id; /* 0: about the host */
    int gpu_index;  /* -1: about the host */
    finding_code code;
    enum severity severity; /* the worst */
    size_t times;
    int64_t total_ms;
    struct wall since, until; /* beginning of the first, end of the last */
    char headline[FINDING_HEADLINE_SIZE];
};

/* GPUs that a user leased. Hours are GPU hours: two GPUs for an hour are two. */
struct report_lease {
    char user[PROCESS_USER_SIZE];
    size_t leases;
    size_t open; /* not ended yet: the run time of their programs is unknown */
    double hours, used_hours;
};

struct report {
    struct wall since, until;
    int64_t hot_mdegc;
    const struct carbon *carbon; /* NULL: unknown */
    struct report_gpu gpus[GPU_MAX];
    size_t gpu_count, gpu_found;                  /* found: where the last one was */
    struct report_group *groups[REPORT_BY_COUNT]; /* most energy first */
    size_t group_count[REPORT_BY_COUNT];
    struct report_held held[REPORT_HELD_MAX]; /* most first */
    size_t held_count;
    struct report_hot hot[REPORT_HOT_MAX]; /* longest first */
    size_t hot_count;
    struct report_finding findings[REPORT_FINDINGS_MAX]; /* worst first */
    size_t finding_count;
    struct report_lease leases[REPORT_LEASES_MAX]; /* most hours first */
    size_t lease_count;
    struct history_gap gaps[EXPLAIN_GAPS_MAX];
    size_t gap_count;
    int64_t missing_ms;
    struct wall processes_from; /* process data before this has expired; ms 0: it is complete */
};

/* gpu_id 0: all GPUs of the host. */
int report_make(struct store *s, const char *host, int64_t gpu_id, struct wall since, struct wall until, int64_t hot_mdegc,
                const struct carbon *carbon, struct report *ret, struct error *err);
void report_done(struct report *r);

/* ---- Shared by the files of the report. ---- */

/* NULL: outside of the report. Rows come by GPU, so it tries the last one first. */
struct report_gpu *report_gpu_of(struct report *r, int64_t id);

/* Fills groups and held, the latter once the GPUs are known. */
int report_processes(struct store *s, const char *host, int64_t gpu_id, struct report *r, struct parallel_query *cards,
                     struct error *err);
/* Since when a GPU was watched, within the span. */
static inline int64_t report_watched_from(const struct report *r, const struct report_gpu *gpu)
{
    return gpu->first_seen.ms > r->since.ms ? gpu->first_seen.ms : r->since.ms;
}

/* ---- How long a group of processes was on GPUs: simultaneous ones on one GPU count once. Takes minutes or hours of each process,
 * in ORDER_BY_TIME_AND_GPU; knows nothing about the database. ---- */

/* A fraction of one minute in an hour. */
struct minute_part {
    int minute;
    double present, busy;
};

struct presence {
    struct row_order order;
    double hours, busy_hours; /* of everything before the current minute or hour */
    /* The current minute: its fractions. */
    double present, busy;
    /* The current hour: a bit for each minute with a process all the time, and the partial minutes. */
    uint64_t present_minutes, busy_minutes;
    struct minute_part *parts;
    size_t part_count, part_capacity;
};

/* `present`: the fraction of the minute with the process. -EPROTO: a row out of order. */
int presence_add_minute(struct presence *p, int64_t minute, int64_t gpu_id, double present, bool busy);
/* from_ms: the GPU was not watched before. */
int presence_add_hour(struct presence *p, const struct store_process_hour *hour, int64_t from_ms);
/* Call after the last row. */
void presence_end(struct presence *p);
void presence_done(struct presence *p);
/* The hours that these minutes amount to for one process. */
double presence_hours(const struct store_process_hour *hour, uint64_t minutes, int64_t from_ms);
