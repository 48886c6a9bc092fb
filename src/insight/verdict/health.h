/* SPDX-License-Identifier: Apache-2.0
 * The health of each GPU: a view of the verdict. State, reason and action are those of the findings that degrade a GPU, once they
 * have held for their time, roots before what they bring about. Nothing is judged, worded or advised here.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "insight/verdict/health_memory.h"

enum health_check {
#define HEALTH_CHECK(name, ...) HEALTH_CHECK_##name,
#include "insight/verdict/health_checks.def"
#undef HEALTH_CHECK
    HEALTH_CHECK_COUNT
};

enum { HEALTH_FINDINGS_MAX = 12, HEALTH_TEXT_SIZE = 256 };

struct health_finding {
    enum health_check check;
    finding_code code;
    enum health_state state; /* what it makes of the card; HEALTHY: worth a line only */
    int32_t fault;           /* the XID; 0 otherwise */
    struct wall since;
    char reason[HEALTH_TEXT_SIZE]; /* sentences */
    char action[HEALTH_TEXT_SIZE];
};

/* An XID that is remembered of a card. */
struct health_xid {
    int32_t code;
    uint64_t total;
    struct wall last_at;
};

struct health_verdict {
    int gpu_index;
    struct gpu_id id;
    bool simulated;
    struct activity activity; /* what it is doing, beside how it is */
    struct usual usual;       /* days 0: nothing is known */
    enum health_state state;
    struct wall since;
    bool changed; /* since the judgement before */
    enum health_state before;
    char reason[HEALTH_TEXT_SIZE]; /* sentences */
    char action[HEALTH_TEXT_SIZE];
    size_t finding_count; /* in the verdict's order, roots before their effects */
    struct health_finding findings[HEALTH_FINDINGS_MAX];
    size_t xid_count;
    struct health_xid xids[HEALTH_FAULTS_MAX];
};

struct health {
    enum health_state worst;
    size_t count; /* cards of the snapshot in its order */
    struct health_verdict verdicts[];
};

/* Of a snapshot with its verdict; the cards remember their state and since when. NULL: out of memory. */
struct health *health_view(struct health_history *h, const struct snapshot *now);
struct health *health_copy(const struct health *health); /* NULL: out of memory */
void health_free(struct health *health);                 /* NULL is fine */
static inline void cleanup_health(struct health **health)
{
    health_free(*health);
}
#define AUTO_HEALTH __attribute__((cleanup(cleanup_health)))

#define HEALTH_NOTHING_TO_DO "Nothing to do."

const char *health_state_name(enum health_state state); /* "healthy" */
bool health_state_from_name(const char *name, enum health_state *ret);
const char *health_check_name(enum health_check check);     /* "pcie_link" */
finding_code health_check_finding(enum health_check check); /* the finding that a check looks for */
/* The check that a finding belongs to; HEALTH_CHECK_COUNT: none. */
enum health_check health_check_of(finding_code code);
/* Whether readings of this moment decide it: a reading that is absent says neither that all is well nor that it is not. */
bool health_can_judge(enum health_check check, const struct gpu *gpu, const struct usual *usual); /* NULL: what is usual is known */
/* It has lasted for the time of its kind. Errors count at once, and so does what is worse than its kind usually is: a GPU that is
 * about to switch itself off. */
bool health_has_held(const struct finding *f, struct wall now);
/* Exit code of a check plugin: 0 fine (also asleep), 1 degraded, 2 failing or lost, 3 unknown. */
int health_exit_code(enum health_state state);
