/* SPDX-License-Identifier: Apache-2.0
 * When will the memory be full, when will the card slow itself down for heat, when will the store hit its cap? With an interval, or
 * the calm answer that nothing points there. Pure: the memory of what was seen is passed in, no clock, no I/O.
 *
 *   snapshots ──▶ tracks per GPU and process, cut at loads, unloads, changes of the process set, gaps ──▶ fits ──▶ verdicts
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/snapshot.h"

#include "base/words.h"

enum forecast_verdict {
    FORECAST_UNKNOWN,  /* too little was seen, or it cannot be read: the reason says which */
    FORECAST_NO_TREND, /* seen long enough, and nothing points there */
    FORECAST_NEVER,    /* it moves, and settles before */
    FORECAST_EXPECTED, /* as things go: when */
    FORECAST_REACHED,  /* it is there */
};

enum { FORECAST_TEXT_SIZE = 256, FORECAST_PROCESSES_MAX = 16 /* per GPU; those with most memory are followed */ };

/* The interval is meant to hold the truth in four of five cases (docs/forecast.md has how often it does). */
struct forecast_when {
    enum forecast_verdict verdict;
    double likely_s, earliest_s, latest_s; /* from now; for EXPECTED. latest_s HUGE_VAL: it may also settle before */
    double basis_s;                        /* how long the stretch is that it was seen on */
    bool rising;                           /* not EXPECTED, but on its way: too early to say when, or whether */
    char reason[FORECAST_TEXT_SIZE];       /* why, in words, no full stop */
};

struct forecast_vram {
    struct forecast_when when;
    struct reading used_bytes, room_bytes; /* room: what processes can have in all */
    double bytes_per_s;                    /* of the trend; 0 without one */
    int32_t pid;                           /* of the process that grows; 0: none, several, or not known */
    char name[PROCESS_NAME_SIZE], user[PROCESS_USER_SIZE], words[PROCESS_WORDS]; /* words: its short name */
};

struct forecast_heat {
    struct forecast_when when;
    struct reading now_mdegc, limit_mdegc;
    double final_c, tau_s; /* where it settles as things are, and the time constant; NAN where not known */
};

struct forecast_store {
    struct forecast_when when;
    bool of_disk; /* the disk is full before the cap is hit */
    struct reading used_bytes, cap_bytes, disk_free_bytes;
    double bytes_per_s;
};

struct forecast_gpu {
    int gpu_index;
    struct gpu_id id;
    bool simulated;
    struct forecast_vram vram;
    struct forecast_heat heat;
};

struct forecast {
    bool starting; /* there was no sample yet: whether there is a GPU is not known */
    struct wall at;
    bool has_store;
    struct forecast_store store;
    size_t count; /* GPUs, in the order of the snapshot */
    struct forecast_gpu gpus[];
};

/* What was seen, bounded: at most some 150 KiB a GPU. */
struct forecast_memory;
struct forecast_memory *forecast_memory_new(void); /* NULL: out of memory */
void forecast_memory_free(struct forecast_memory *m);

/* Takes a snapshot into account. The monotonic time counts, so that a clock that is set does no harm. False: out of memory, and a
 * GPU or process is not followed. */
bool forecast_see(struct forecast_memory *m, const struct snapshot *s);

/* What the store takes up. cap 0: none is set; retention_ms: after which raw samples are cleaned up, 0 unknown; oldest: the first
 * that is stored. */
struct forecast_store_facts {
    struct mono at;
    struct reading used_bytes, cap_bytes, disk_free_bytes;
    int64_t retention_ms, kept_ms; /* kept: how far back it reaches */
};
void forecast_see_store(struct forecast_memory *m, const struct forecast_store_facts *facts);

/* From what was seen up to the snapshot, which was seen last. NULL: out of memory. */
struct forecast *forecast_make(const struct forecast_memory *m, const struct snapshot *now);
struct forecast *forecast_copy(const struct forecast *f); /* NULL: out of memory */
void forecast_free(struct forecast *f);                   /* NULL is fine */

/* "40 s", "12 min", "3.1 h", "2 days"; "312 MiB", "1.4 GiB". */
const char *forecast_span_words(double seconds, char text[WORDS_SIZE]);
/* Whole seconds until then, 0 when it is reached; absent without a time. */
struct reading forecast_seconds(const struct forecast_when *when);
const char *forecast_verdict_name(enum forecast_verdict verdict); /* "no_trend" */
/* The share of the room at which the memory counts as full. */
#define FORECAST_FULL_SHARE 0.995
