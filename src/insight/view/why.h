/* SPDX-License-Identifier: Apache-2.0
 * "Why is my GPU fan running?" A snapshot and the recent past become a sentence a person would say, ranked causes with their
 * evidence and confidence, and what you can do. A pure function of plain data: no clock, no I/O, no vendor.
 *
 *   snapshot ─┐                ┌─▶ each rule that applies makes a cause: ─┐             ┌─▶ answer of each GPU
 *             ├─▶ facts of a ──┤   evidence line by evidence line, each    ├─▶ ranked ───┤
 *   recent ───┘   GPU          └─▶ with the weight it adds to confidence ──┘             └─▶ answer of the machine
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "insight/area/part.h"
#include "insight/verdict/verdict.h"

struct why {
    struct verdict *verdict;      /* what was found, ranked; main, severity and claims follow it */
    char answer[WHY_ANSWER_SIZE]; /* about the GPU that matters most, with a word on the others */
    size_t main;                  /* the position of that GPU */
    struct why_part machine;      /* no GPU, no driver, hung source, ...; no causes when all is well */
    size_t gpu_count;
    struct why_part gpus[]; /* in the snapshot's order */
};

/* Judges and explains. The verdict that a snapshot carries already stands; otherwise one is made. NULL when memory is out. */
struct why *why_judge(const struct snapshot *now, const struct judge_basis *basis);
/* `past` may be NULL: then only the moment itself is weighed. NULL when memory is out. */
struct why *why_explain(const struct snapshot *now, const struct recent *past);
/* The same, held against what is usual for these GPUs; `usual` may be NULL. */
struct why *why_explain_usual(const struct snapshot *now, const struct recent *past, const struct baselines *usual);
/* Likewise for a moment that is over, in the past tense. */
struct why *why_explain_past(const struct snapshot *then, const struct recent *past, const struct baselines *usual);
/* "power limit 450 W (before 350 W), fan control automatic (before manual)"; false and "": nothing has changed. */
bool resume_changes(const struct recent_settings *before, const struct gpu *gpu, char *out, size_t size);
void why_free(struct why *why); /* NULL is fine */

/* The same about the GPUs of one job alone, with the snapshot that has only these; both are the caller's. -ENOENT: there is no
 * such job. */
int why_of_job(const struct snapshot *now, const struct why *why, const char *id, const struct snapshot **ret_now,
               struct why **ret);
int why_of_gpu(const struct snapshot *now, const struct why *why, int index, const struct snapshot **ret_now, struct why **ret);
/* Likewise those chosen; `why` and `ret` may be NULL. */
int why_of_gpus(const struct snapshot *now, const struct why *why, const struct gpu_choice *choice, const struct snapshot **ret_now,
                struct why **ret);

enum severity why_severity(const struct why *why);         /* of the first finding */
const char *why_likelihood(const struct why_cause *cause); /* "very likely", "likely", "possible", "can't tell" */
/* What to say about GPUs without findings. `only`: the position of one, or ALL_GPUS. */
const char *why_calm(const struct snapshot *s, const struct verdict *v, int only);

/* Why one finding was made of these readings, or was not. The judge is pure, so it is asked again, with one reading moved or taken
 * away: what changes its answer is what it used, and the smallest move is the nearest other answer. No clock, no I/O. */

enum { PROOF_READINGS_MAX = 24 };

struct proof_reading {
    const struct metric_info *info;
    bool of_host;
    struct reading value;
    int64_t age_ms; /* when the sample was taken */
    bool needed;    /* without it, the answer would be another */
    bool turns;     /* so it would with this value, the nearest one: */
    int64_t turn;   /* in the unit of the field */
    double distance;
};

struct proof {
    finding_code code;
    int gpu_index;        /* -1: the host */
    bool said;            /* it is in the verdict */
    struct finding found; /* then */
    bool by_moment;       /* these readings alone bring it about; else it rests on the time before, on programs or on the log */
    bool together;        /* each of these alone brings it about: only without all of them would the answer be another */
    size_t count;
    struct proof_reading readings[PROOF_READINGS_MAX]; /* what decides, the nearest first */
};

/* `only`: position of the GPU, or ALL_GPUS: the one that has it, else the one that comes nearest. The published verdict of `now`
 * says whether it was found; without one it is judged. Its basis may have no presence. -ENOMEM. */
int proof_make(const struct snapshot *now, const struct judge_basis *basis, int only, finding_code code, struct proof *ret);
