/* SPDX-License-Identifier: Apache-2.0
 * Doing a remedy, sample by sample: what was before, the change, what came of it, and what follows from that. Pure; who drives it
 * makes the change and takes it back when it says so (a command, or the daemon):
 *
 *   BEFORE ──▶ BEGIN ──▶ AFTER ──▶ OVER                    kept
 *                          ├─────▶ END ──▶ OVER            no effect, or not what --keep-if wants
 *                          └─────▶ END ──▶ AGAIN ──▶ OVER  whirr try
 */
#pragma once

#include "lease/lease.h"
#include "remedy/effect.h"

struct measured {
    struct remedy_values values;
    struct reading util_permille;
};

struct run_mean {
    int64_t sum, count;
};
enum { MEASURED_VALUES = 6 };
/* Counts only the last third of a time, in which readings have settled. */
struct measuring {
    struct wall from;
    int64_t ms;
    size_t samples, counted;
    struct reading limit_mw; /* at the first counted sample */
    bool limit_moved;
    struct run_mean means[MEASURED_VALUES];
};

/* 'fan < 70%' */
struct keep_if {
    size_t metric; /* of struct remedy_values */
    bool below;
    int64_t value;
};
bool keep_if_parse(const char *text, struct keep_if *ret);

enum doing_phase { DOING_BEFORE, DOING_BEGIN, DOING_AFTER, DOING_END, DOING_AGAIN, DOING_OVER, DOING_PHASES };
enum doing_outcome {
    DOING_RUNNING,
    DOING_MEASURED,
    DOING_AS_EXPECTED,
    DOING_UNEXPECTED,
    DOING_NO_EFFECT,
    DOING_UNCLEAR,
    DOING_FAILED,
    DOING_OUTCOMES
};

enum { DOING_ID_SIZE = 16, DOING_WHO_SIZE = 64, DOING_PLAN_SIZE = 256, DOING_TEXT_SIZE = 320 };

struct remedy_doing {
    char id[DOING_ID_SIZE]; /* "r1" */
    char who[DOING_WHO_SIZE];
    int gpu_index;
    char gpu[GPU_UUID_SIZE], gpu_name[GPU_NAME_SIZE];
    struct remedy remedy;
    bool trying, dry_run, simulated, told; /* told: its end was reported */
    struct wall since, until;              /* until: ms 0: until it is undone */
    int64_t measure_ms;
    bool has_keep_if;
    struct keep_if keep_if;
    char plan[DOING_PLAN_SIZE]; /* "GPU 0: power limit 450 W -> 330 W" */
    enum doing_phase phase;
    struct measuring run;
    bool has_before, has_after, has_again;
    struct measured before, after, again;
    enum doing_outcome outcome;
    bool kept;
    char text[DOING_TEXT_SIZE]; /* what came of it */
    char lease_id[LEASE_ID_SIZE];
};
extern const struct answer doing_answer;

/* Everything that is asked for is in *d. */
void doing_start(struct remedy_doing *d, struct wall now);
/* One sample; gpu NULL: it is gone. What is to be done next is in d->phase. */
void doing_sample(struct remedy_doing *d, const struct gpu *gpu, struct wall now);
/* The change was made; or taken back, with rc 0. */
void doing_began(struct remedy_doing *d, int rc, const struct error *err, struct wall now);
void doing_ended(struct remedy_doing *d, int rc, const struct error *err, struct wall now);
/* It was taken back by another door. */
void doing_undone(struct remedy_doing *d);
/* Takes it back instead of going on. */
void doing_stop(struct remedy_doing *d, const char *why);
/* The measured step of one that is over; false: nothing was measured. */
bool doing_effect(const struct remedy_doing *d, struct wall now, struct effect *ret);
/* "88% fan  448 W  79 °C  1870 MHz" */
enum { MEASURED_WORDS = 96 };
const char *measured_words(const struct measured *m, char out[MEASURED_WORDS]);
