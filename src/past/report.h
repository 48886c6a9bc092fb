/* SPDX-License-Identifier: Apache-2.0
 * Who used the GPUs, for how long, with how much energy; who held memory without using it; when cards were hot.
 *
 *   energy of the cards   minute by minute: what each used, and whether its own counter was heeded
 *   process_minutes       minute by minute: what each process held, used and was given of the energy
 *        └─▶ summed up by user, container, pod, job, command, model and limit; what no process was given is a row of its own
 */
#pragma once

#include "base/units.h"
#include "model/finding.h"
#include "past/explain.h"
#include "past/parallel_query.h"

enum {
    REPORT_RUNS_MAX = 65536, /* processes in the time; further ones are summed up as one group */
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
    REPORT_BY_LIMIT, /* what limited processes, minute by minute; those before it are of whole processes */
    REPORT_BY_COUNT
};

struct report_group {
    char name[REPORT_NAME_SIZE]; /* "": not known, or none */
    enum limit limit;            /* of those by limit */
    bool others;                 /* what did not fit into the lists */
    double hours;                /* time in which it was on a GPU; two processes on one card at once count once */
    double busy_hours;           /* ... and computed */
    int64_t energy_mj;
    double gib_hours, idle_gib_hours; /* memory held, and held without computing */
    int64_t memory_peak_bytes;
    size_t processes;
    struct reading generated_tokens, prompt_tokens; /* by the counters of its model servers; absent: none said it */
    int64_t told_mj; /* of energy_mj, in the minutes or hours in which they did, all processes of the group together */
};

struct report_gpu {
    int64_t id;
    int index;
    struct gpu_id identity;
    bool simulated;
    struct wall first_seen;
    double hours, busy_hours; /* stored, and with more than idle load */
    double idle_hours;        /* without load, as far as power is known for them ... */
    int64_t idle_mj;          /* ... and what it drew then */
    struct reading util_permille, temp_max_mdegc;
    int64_t energy_mj, counter_mj, integrated_mj, attributed_mj;
};

/* Memory that was held while nothing was computed. */
struct report_held {
    int gpu_index;
    struct process process;
    double hours, gib_hours;
    bool energy_known;
    int64_t
        energy_mj; /* what the GPU drew meanwhile without computing for any process; shared by memory with others who held some */
    struct wall since, until;
};

struct report_hot {
    int gpu_index;
    struct wall since, until;
    int64_t resolution_ms; /* it began and ended within so much of its times: that of the coarsest summary it was read from */
    int64_t temp_max_mdegc;
    double slowed;                                        /* part of the time in which the card was slowed down, 0 to 1 */
    char process[PROCESS_WORDS], user[PROCESS_USER_SIZE]; /* of the process that was given most of the energy; "": none */
};

/* What was found of one kind on one GPU. */
struct report_finding {
    int64_t gpu_id; /* 0: about the host */
    int gpu_index;  /* -1: about the host */
    enum finding_code code;
    enum severity severity; /* at its worst */
    size_t times;
    int64_t total_ms;
    struct wall since, until; /* the first of them, and the end of the last */
    char headline[FINDING_HEADLINE_SIZE];
};

/* GPUs that a user held by leases. Hours are those of GPUs: two for an hour are two. */
struct report_lease {
    char user[PROCESS_USER_SIZE];
    size_t leases;
    size_t open; /* of them not ended: for how long their programs ran is not known yet */
    double hours, used_hours;
};

struct report {
    struct wall since, until;
    int64_t hot_mdegc;
    struct report_gpu gpus[GPU_MAX];
    size_t gpu_count;
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
    struct wall processes_from; /* before that, what processes used is not kept any more; ms 0: all of it is there */
};

/* gpu_id 0: all of the host. */
int report_make(struct store *s, const char *host, int64_t gpu_id, struct wall since, struct wall until, int64_t hot_mdegc,
                struct report *ret, struct error *err);
void report_done(struct report *r);

/* ---- Shared by the files of the report. ---- */

/* Fills groups and held, the latter when the cards are known. */
int report_processes(struct store *s, const char *host, int64_t gpu_id, struct report *r, struct parallel_query *cards,
                     struct error *err);
/* Since when a GPU was watched, within the time. */
static inline int64_t report_watched_from(const struct report *r, const struct report_gpu *gpu)
{
    return gpu->first_seen.ms > r->since.ms ? gpu->first_seen.ms : r->since.ms;
}
/* What was found, from notice on. */
int report_findings(struct store *s, const char *host, int64_t gpu_id, struct report *r, struct error *err);
/* Who held GPUs by leases. */
int report_leases(struct store *s, const char *host, int64_t gpu_id, struct report *r, struct error *err);
/* Hours, load and hot spells. */
int report_cards(struct store *s, struct report *r, struct error *err);
