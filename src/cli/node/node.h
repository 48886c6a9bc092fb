/* SPDX-License-Identifier: Apache-2.0
 * Whether a scheduler should give work to this node, and how it is told: Kubernetes by a condition and a taint, Slurm by scontrol.
 * The judgement is that of health and of the findings; here it is only translated.
 *
 *   health, findings ──▶ node_judge ──▶ fit / unfit / unknown ──▶ what the scheduler has now ──▶ the least change, or none
 */
#pragma once

#include "base/env.h"
#include "insight/finding/health.h"

struct finding_settings;

enum node_fitness { NODE_UNKNOWN, NODE_FIT, NODE_UNFIT };

enum { NODE_CODE_SIZE = 48, NODE_MESSAGE_SIZE = 512, NODE_STEPS_MAX = 8, NODE_STEP_SIZE = 384 };

struct node_verdict {
    enum node_fitness fitness;
    char code[NODE_CODE_SIZE];       /* of the worst: "fan_stopped", "gpus_missing"; "" otherwise */
    char message[NODE_MESSAGE_SIZE]; /* one sentence without a full stop */
    int64_t well_for_ms;             /* of one that is fit: for how long all GPUs have been as they are; -1: not known */
};

struct node_rules {
    enum health_state least;                 /* a GPU as bad as this makes the node unfit */
    int64_t gpus;                            /* that must be there; 0: not asked for */
    const struct finding_settings *settings; /* how long findings must hold */
};

/* Pure. `s` with its verdict. */
void node_judge(const struct health *health, const struct snapshot *s, const struct node_rules *rules, struct node_verdict *ret);

/* What was changed, or with a dry run would be; and what was left as it is on purpose. */
struct node_steps {
    size_t count;
    char list[NODE_STEPS_MAX][NODE_STEP_SIZE];
};
void node_step(struct node_steps *steps, const char *format, ...) __attribute__((format(gnu_printf, 2, 3)));

/* How a scheduler is told. */
struct node_telling {
    const char *node;
    int64_t recover_ms; /* how long it must be well before it gets work again */
    bool dry_run;
    bool drain_only;      /* Slurm: never brought back */
    struct mono deadline; /* of all of it */
    /* Kubernetes */
    const char *api, *token_file, *ca_file;
    const char *effect; /* of the taint; "none": no taint */
    /* Slurm */
    const char *scontrol;
};

/* 0, or -errno with what to do. */
int node_tell_kubernetes(const struct env *env, const struct node_telling *t, const struct node_verdict *v,
                         struct node_steps *steps, struct error *err);
int node_tell_slurm(const struct env *env, const struct node_telling *t, const struct node_verdict *v, struct node_steps *steps,
                    struct error *err);
/* ms until the deadline, at least 1. */
int64_t node_time_left(const struct node_telling *t);

/* ---- A Node object of Kubernetes: what has to be changed on it. Pure. ---- */

#define NODE_CONDITION "GpuUnhealthy"
#define NODE_TAINT "whirr/gpu-unhealthy"
#define NODE_ANNOTATION "whirr/taint" /* "CODE:EFFECT" of the taint that we set: no other is ever taken away */

/* The body of a merge patch of the node; "" nothing to change. */
void node_taint_patch(const void *node_json, const struct node_telling *t, const struct node_verdict *v, struct wall now,
                      struct buf *patch, struct node_steps *steps);
/* The same of its status, as a strategic merge patch. */
void node_condition_patch(const void *node_json, const struct node_verdict *v, struct wall now, struct buf *patch,
                          struct node_steps *steps);
