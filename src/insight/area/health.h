/* SPDX-License-Identifier: Apache-2.0
 * The health of each GPU: a state, the reason in words, and what to do. Readings of the moment and what is remembered of the card
 * decide together: a slowdown counts when it lasts, a link is judged under load only, an error stays until the card was reset, and
 * one that comes back after a reset is worse. Pure: the memory is passed in and out, no clock, no I/O.
 *
 *   snapshot ──▶ checks ──▶ faults in the card's memory ──▶ findings ──▶ verdict: the worst of them
 *                               ▲ resets (the counters began anew, the card was lost and came back)
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "insight/baseline/baseline.h"
#include "model/finding.h"
#include "model/snapshot.h"

/* From best to worst; what is worse outranks in a verdict. */
enum health_state { HEALTH_UNKNOWN, HEALTH_ASLEEP, HEALTH_HEALTHY, HEALTH_DEGRADED, HEALTH_FAILING, HEALTH_LOST };

enum health_check {
#define HEALTH_CHECK(name, ...) HEALTH_CHECK_##name,
#include "insight/area/health_checks.def"
#undef HEALTH_CHECK
    HEALTH_CHECK_COUNT
};

/* What to do about a fault; health_advice_text() has the sentences. */
enum health_advice {
    ADVICE_NONE,
    ADVICE_COOL,
    ADVICE_POWER,
    ADVICE_FAN,
    ADVICE_SEAT,
    ADVICE_LINKS,
    ADVICE_LOOK,
    ADVICE_WATCH,
    ADVICE_DRAIN,
    ADVICE_RESET,
    ADVICE_REBOOT,
    ADVICE_REPLACE,
    ADVICE_DRIVER,
    ADVICE_COUNT
};

enum {
    HEALTH_FAULTS_MAX = 24, /* per card; the oldest that is over falls out */
    HEALTH_FINDINGS_MAX = 12,
    HEALTH_TEXT_SIZE = 256,
};

/* Something that was found wrong with a card, now or before. Plain data: can be kept over a restart. */
struct health_fault {
    enum health_check check;
    int32_t code; /* the XID, the driver's fault; 0 otherwise */
    struct wall first_at, last_at;
    uint32_t times;
    uint64_t total;   /* ever seen: what a counter shows, while `times` begins anew */
    uint32_t resets;  /* of the card, when it was seen last */
    bool returned;    /* came back after a reset */
    bool active;      /* the readings of the moment still show it */
    struct wall held; /* since when the readings show it without a break; 0: they do not */
    enum health_state state;
    enum health_advice advice;
    char reason[160]; /* what the readings showed when they could last be judged */
};

struct health_card {
    struct gpu_id id;
    int index;
    char source[SOURCE_NAME_SIZE];
    bool listed; /* in the last snapshot */
    bool simulated;
    struct wall last_seen;
    enum gpu_state last_state;
    uint32_t resets;
    struct reading energy_mj, ecc_corrected, ecc_uncorrected; /* as last read: going back means a reset */
    struct reading replays;                                   /* at the start of the window that is counted in */
    struct wall replays_at;
    int64_t nvlinks_most; /* links seen active */
    size_t fault_count;
    struct health_fault faults[HEALTH_FAULTS_MAX];
    enum health_state state;
    struct wall state_since;
};

struct health_history {
    int64_t same_ms;               /* the same XID from driver and log, when both are looked at so far apart; 0: 5 s */
    const struct baselines *usual; /* borrowed; NULL: nothing is known */
    size_t card_count;
    struct health_card cards[GPU_MAX];
};

struct health_finding {
    enum health_check check;
    enum health_state state; /* what it makes of the card; HEALTHY: worth a line only */
    int32_t code;            /* the XID; 0 otherwise */
    struct wall since;
    struct wall until;             /* of what is over; ms 0: it is not */
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
    size_t finding_count; /* the worst first */
    struct health_finding findings[HEALTH_FINDINGS_MAX];
    size_t xid_count;
    struct health_xid xids[HEALTH_FAULTS_MAX];
};

struct health {
    enum health_state worst;
    size_t count; /* cards of the snapshot in its order, then those that are missing */
    struct health_verdict verdicts[];
};

const char *health_state_name(enum health_state state); /* "healthy" */
bool health_state_from_name(const char *name, enum health_state *ret);
bool health_check_from_name(const char *name, enum health_check *ret);
const char *health_check_name(enum health_check check); /* "pcie_link" */
const char *health_advice_text(enum health_advice advice);
/* Exit code of a check plugin: 0 fine (also asleep), 1 degraded, 2 failing or lost, 3 unknown. */
int health_exit_code(enum health_state state);
/* The finding of the verdict that a finding of a check is. */
enum finding_code health_finding_code(const struct health_finding *h);

/* ---- one look at a card: what each check says of the readings of this moment, before the memory has its say ---- */

enum look { LOOK_UNJUDGED, LOOK_CLEAR, LOOK_PRESENT };

struct health_look {
    enum look look;
    enum health_state state; /* when present */
    enum health_advice advice;
    int64_t hold_ms; /* must be present for so long before it counts */
    char reason[160];
};

/* Permille from which on a GPU is awake, and so are all lanes of its link; a state in which it works. */
enum { HEALTH_LANES_LOAD = 50, HEALTH_WORKING_STATE_MAX = 2 };

/* Fills looks for every check that readings decide; the card's memory is used for rates and brought up to date. */
void health_look_at(const struct gpu *gpu, struct wall now, struct health_card *card, struct health_look looks[HEALTH_CHECK_COUNT]);
/* What months of history say about its cooling; nothing without them. */
void health_look_cooling(const struct baseline_drift *d, struct health_look *look);
