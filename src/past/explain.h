/* SPDX-License-Identifier: Apache-2.0
 * `why` about the past: a moment explained, and what happened in a span of time, from what is stored. Where nothing was stored,
 * that is the answer, with what is known about the gap.
 */
#pragma once

#include "insight/finding/episodes.h"
#include "model/recent.h"
#include "store/query.h"

struct why;

/* ---- A moment of the past as the engine would have shown it: a snapshot and the minutes before it, for explanations. */

/* Each GPU of the host at `at`: its last sample (where samples were cleaned up, the means of the minute or hour), the processes
 * that were on it, and the ten minutes before. *level says what it was made from; the snapshot has one reference. -ENODATA when
 * nothing was stored then: no sample is so near that it can speak for the moment. only: the processes of this GPU alone, of the
 * others their readings; 0: of all. */
int store_past(struct store *s, const char *host, struct wall at, int64_t only, struct snapshot **ret, struct recent *recent,
               enum level *level, struct error *err);

enum {
    EXPLAIN_EPISODES_MAX = 64, /* the most important ones are kept */
    EXPLAIN_GAPS_MAX = 64,
    EXPLAIN_ANSWER_SIZE = 1024,
};

/* A time in which nothing was stored. */
struct history_gap {
    struct wall since, until; /* the last sample before and the first one after; ms 0: none */
    bool not_running;         /* the daemon was started at the end of it */
    char text[200];           /* a sentence */
};

struct explained_moment {
    struct wall at;
    enum level level;
    struct snapshot *snapshot; /* NULL: nothing was stored then */
    struct why *why;
    struct history_gap gap; /* when nothing was */
    char note[200];         /* what the answer lacks: "Only minutes are left of that time ..."; "" nothing */
};

/* now: for moments that are still to come. */
int explain_moment(struct store *s, const char *host, struct wall at, struct wall now, struct explained_moment *ret,
                   struct error *err);
/* One of many moments, of which only one GPU is looked at, with its course. Nothing was stored then: no snapshot. */
struct usual_course;
int explain_moment_of(struct store *s, const struct store_gpu *gpu, struct wall at, struct usual_course *usual,
                      struct explained_moment *ret, struct error *err);
void explained_moment_done(struct explained_moment *m);

/* stored_findings.c: the verdict that was published then takes the place of the one that the rows give, where it is stored. */
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
    size_t times;     /* how often it came within the time */
    int64_t total_ms; /* how long it lasted, all times together */
    bool simulated;
    enum episode_kind kind;
    struct why_part part; /* the explanation */
    char process[PROCESS_NAME_SIZE], user[PROCESS_USER_SIZE], container[PROCESS_CONTAINER_SIZE];
    char words[PROCESS_WORDS]; /* the process's name for people */
    int32_t pid;               /* 0: no process is the cause */
    struct episode_numbers numbers;
    struct reading util_permille, temp_max_mdegc, power_mw; /* mean, highest, mean */
    double weight;
    char
        headline[FINDING_HEADLINE_SIZE]; /* of a finding that was stored at the time, in the past tense; "": judged from the rows */
    enum episode_end end;
    struct reading end_util_permille; /* right after it */
    char ended[EPISODE_END_SIZE];     /* a sentence; "" nothing is known */
};

struct explained_span {
    struct wall since, until;
    enum level level;
    int64_t step_ms;
    size_t gpu_count;                   /* that have anything stored in the time */
    struct explained_episode *episodes; /* the one that matters most first */
    size_t episode_count, left_out;
    struct history_gap gaps[EXPLAIN_GAPS_MAX]; /* oldest first */
    size_t gap_count;
    int64_t missing_ms; /* all gaps together */
    char answer[EXPLAIN_ANSWER_SIZE];
    char note[200];
};

/* Makes the answer and `ended` of all that is known about an episode. */
void episode_write_sentence(struct explained_episode *e);

/* gpu_id 0: all of the host. */
int explain_span(struct store *s, const char *host, int64_t gpu_id, struct wall since, struct wall until,
                 struct explained_span *ret, struct error *err);
void explained_span_done(struct explained_span *t);

/* The host that is meant: the one of that name; without a name, or one that never wrote, the only one there is. -ENODATA and a
 * sentence that names them when there are several; -ENOENT when there is none. */
int told_host(struct store *s, const char *wanted, const char *own, char ret[HOST_NAME_SIZE], struct error *err);

/* ---- Shared by the files of explanations: the gaps of a history. ---- */

/* The gap that a moment lies in. */
int gap_around(struct store *s, const char *host, struct wall at, struct wall now, struct history_gap *ret, struct error *err);
/* All gaps of the span. */
int gaps_within(struct store *s, const char *host, struct explained_span *told, struct error *err);
