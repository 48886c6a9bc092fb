/* SPDX-License-Identifier: Apache-2.0
 * `why` about the past: explains a moment, or what happened in a span of time, from stored data. If nothing was stored, the answer
 * says so, with what is known about the gap.
 */
#pragma once

#include "insight/baseline/changes.h"
#include "insight/view/episodes.h"
#include "model/recent.h"
#include "store/query.h"

struct why;

/* ---- A past moment as the engine would have shown it: a snapshot and the minutes before it, for explanations. ---- */

/* Each GPU of the host at `at`: its last sample (or the means of the minute or hour, if samples have expired), its processes,
 * and the previous ten minutes. *level says which data was used; the snapshot has one reference. -ENODATA: no sample is close
 * enough to represent the moment. only: processes of this GPU, and just readings of the others; 0: of all. */
int store_past(struct store *s, const char *host, struct wall at, int64_t only, struct snapshot **ret, struct recent *recent,
               enum level *level, struct error *err);

enum {
    EXPLAIN_EPISODES_MAX = 64, /* keeps the most important ones */
    EXPLAIN_GAPS_MAX = 64,
    EXPLAIN_ANSWER_SIZE = 1024,
};

/* A period without data. */
struct history_gap {
    struct wall since, until; /* the last sample before and the first one after; ms 0: none */
    bool not_running;         /* the daemon started at its end */
    char text[200];           /* a sentence */
};

struct explained_moment {
    struct wall at;
    enum level level;
    struct snapshot *snapshot; /* NULL: nothing was stored then */
    struct why *why;
    struct history_gap gap; /* if nothing was stored */
    char note[200];         /* what the answer lacks: "Only minutes are left of that time ..."; "": nothing */
};

/* now: to recognize moments in the future. */
int explain_moment(struct store *s, const char *host, struct wall at, struct wall now, struct explained_moment *ret,
                   struct error *err);
/* One of many moments, for a single GPU with its course. No snapshot if nothing was stored then. */
struct usual_course;
int explain_moment_of(struct store *s, const struct store_gpu *gpu, struct wall at, struct usual_course *usual,
                      struct explained_moment *ret, struct error *err);
void explained_moment_done(struct explained_moment *m);

/* stored_findings.c: the verdict published at that time replaces the one derived from rows, if it is stored. */
int stored_verdict(struct store *s, const char *host, const struct snapshot *then, struct why *why, struct error *err);

/* What ended an episode. */
enum episode_end { EPISODE_END_UNKNOWN, EPISODE_ONGOING, EPISODE_END_PROCESS, EPISODE_END_LOAD, EPISODE_END_RECORD };
enum { EPISODE_END_SIZE = 96 };

struct explained_episode {
    int64_t gpu_id;
    int gpu_index;
    char gpu_name[GPU_NAME_SIZE];
    struct wall since, until;
    struct wall at;   /* the moment that was explained */
    size_t times;     /* number of occurrences within the span */
    int64_t total_ms; /* total duration of all occurrences */
    bool simulated;
    enum episode_kind kind;
    struct why_part part; /* the explanation */
    char process[PROCESS_NAME_SIZE], user[PROCESS_USER_SIZE], container[PROCESS_CONTAINER_SIZE];
    char words[PROCESS_WORDS]; /* the process's name for people */
    int32_t pid;               /* 0: no process is the cause */
    struct episode_numbers numbers;
    struct reading util_permille, temp_max_mdegc, power_mw; /* mean, maximum, mean */
    double weight;
    char headline[FINDING_HEADLINE_SIZE]; /* of a finding stored at that time, in the past tense; "": derived from rows */
    enum episode_end end;
    struct reading end_util_permille; /* right after it */
    char ended[EPISODE_END_SIZE];     /* a sentence; "": unknown */
};

struct explained_span {
    struct wall since, until;
    enum level level;
    int64_t step_ms;
    size_t gpu_count;                   /* with data in the span */
    struct explained_episode *episodes; /* most important first */
    size_t episode_count, left_out;
    struct history_gap gaps[EXPLAIN_GAPS_MAX]; /* oldest first */
    size_t gap_count;
    int64_t missing_ms; /* of all gaps */
    struct changes changes;
    char answer[EXPLAIN_ANSWER_SIZE];
    char note[200];
};

/* Writes the answer and `ended` from all that is known about an episode. */
void episode_write_sentence(struct explained_episode *e);

/* gpu_id 0: all GPUs of the host. */
int explain_span(struct store *s, const char *host, int64_t gpu_id, struct wall since, struct wall until,
                 struct explained_span *ret, struct error *err);
void explained_span_done(struct explained_span *t);

/* Resolves a host name; without one, or if it never wrote, takes the only host there is. -ENODATA and a message that lists them
 * if there are several; -ENOENT if there is none. */
int told_host(struct store *s, const char *wanted, const char *own, char ret[HOST_NAME_SIZE], struct error *err);

/* ---- Shared by the files of explanations: gaps in a history. ---- */

/* The gap that contains a moment. */
int gap_around(struct store *s, const char *host, struct wall at, struct wall now, struct history_gap *ret, struct error *err);
/* All gaps in the span. */
int gaps_within(struct store *s, const char *host, struct explained_span *told, struct error *err);
