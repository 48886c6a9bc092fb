/* SPDX-License-Identifier: Apache-2.0
 * Whether a scheduler should give work to this node, and how to report that: to Kubernetes by a condition and a taint, to Slurm by
 * scontrol. Only translates the verdict of health and findings.
 *
 *   health, findings ──▶ node_judge ──▶ fit / unfit / unknown ──▶ the scheduler's present state ──▶ the smallest change, or none
 */
#pragma once

#include "base/env.h"
#include "insight/verdict/health.h"

enum node_fitness { NODE_UNKNOWN, NODE_FIT, NODE_UNFIT };

enum { NODE_CODE_SIZE = 48, NODE_MESSAGE_SIZE = 512, NODE_STEPS_MAX = 8, NODE_STEP_SIZE = 384 };

struct node_verdict {
    enum node_fitness fitness;
    char code[NODE_CODE_SIZE];       /* of the worst problem: "fan_stopped", "gpus_missing"; otherwise "" */
    char message[NODE_MESSAGE_SIZE]; /* one sentence without a period */
    int64_t well_for_ms;             /* if fit: how long all GPUs have been healthy; -1: unknown */
};

/* The changes, or with a dry run the planned ones; and what was left alone on purpose. */
struct node_steps {
    size_t count;
    char list[NODE_STEPS_MAX][NODE_STEP_SIZE];
    char held[NODE_STEP_SIZE]; /* why the brake kept the node from being drained; "": it did not */
};
void node_step(struct node_steps *steps, const char *format, ...) __attribute__((format(gnu_printf, 2, 3)));

/* How to notify a scheduler. */
struct node_telling {
    const char *node;
    int64_t recover_ms; /* how long it must be healthy before it gets work again */
    bool dry_run;
    bool drain_only;      /* Slurm: never resume */
    int max_percent;      /* of the nodes, and at least one, may be drained by whirr at a time; 100: all */
    int64_t settling_ms;  /* a new version drains nothing for so long yet; 0: it may */
    struct mono deadline; /* for the whole operation */
    /* Kubernetes */
    const char *api, *token_file, *ca_file;
    const char *effect; /* of the taint; "none": no taint */
    /* Slurm */
    const char *scontrol;
};

/* 0, or -errno and a message with what to do. */
int node_tell_kubernetes(const struct env *env, const struct node_telling *t, const struct node_verdict *v,
                         struct node_steps *steps, struct error *err);
int node_tell_slurm(const struct env *env, const struct node_telling *t, const struct node_verdict *v, struct node_steps *steps,
                    struct error *err);
/* ms until the deadline, at least 1. */
int64_t node_time_left(const struct node_telling *t);

/* The brake. A fault of whirr, a driver or a rollout makes many nodes unfit at once: then people decide, not we. */
struct node_count {
    size_t nodes, drained; /* nodes with GPUs; those that whirr drained */
};
/* Whether one more of them may be drained; otherwise steps->held says why not. Pure. */
bool node_may_drain(const struct node_telling *t, const struct node_count *count, struct node_steps *steps);
/* The same, as far as the version alone decides. Pure. */
bool node_settled(const struct node_telling *t, struct node_steps *steps);
