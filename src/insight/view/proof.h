/* SPDX-License-Identifier: Apache-2.0
 * Why one finding was made of these readings, or was not. The judge is pure, so it is asked again, with one reading moved or taken
 * away: what changes its answer is what it used, and the smallest move is the nearest other answer. No clock, no I/O.
 */
#pragma once

#include "insight/verdict/verdict.h"

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
