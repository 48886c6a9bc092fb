/* SPDX-License-Identifier: Apache-2.0
 * What changed on a GPU: driver, firmware, kernel and BIOS below it, settings, slot, displays. Pure functions of readings; the
 * history keeps one row for each change, and the last values over restarts.
 *
 *   value of this sample ─▶ other than the known one? ─▶ held for a minute (settings) ─▶ a change: before, after, since
 *   idle minutes, lanes on both sides of it ─▶ what came with it: 51 W when idle instead of 22 W
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "model/snapshot.h"

enum change_code {
    CHANGE_DRIVER,
    CHANGE_FIRMWARE,
    CHANGE_KERNEL, /* of the host, and its BIOS: below all of its GPUs */
    CHANGE_BIOS,
    CHANGE_SLOT,
    CHANGE_LANES, /* that slot and card could have */
    CHANGE_GENERATION,
    CHANGE_DISPLAY,
    CHANGE_POWER_LIMIT,
    CHANGE_PERSISTENCE,
    CHANGE_CLOCK, /* the application clock */
    CHANGE_MEMORY_CLOCK,
    CHANGE_COUNT
};

enum {
    CHANGE_VALUE_SIZE = 40,
    CHANGE_WORDS = 160,
    CHANGE_HOLD_MS = 60000, /* of settings: tools that set them act within seconds of a boot or a resume */
    CHANGES_A_DAY = 4,      /* of one setting; what changes more often is a course, not a setting */
    CHANGES_MAX = 64,       /* of a host; older ones are forgotten */
    CHANGES_DAYS = 30,
    CHANGE_AROUND_MS = 3 * 86400000, /* of minutes before it and since, to see what came with it */
};

struct gpu_change {
    struct gpu_id id;
    int gpu_index; /* the last one that the history knows */
    enum change_code code;
    struct wall since; /* the first sample with the new value */
    char before[CHANGE_VALUE_SIZE], after[CHANGE_VALUE_SIZE];
    struct reading idle_before_mw, idle_since_mw; /* mean power when idle; absent: too few idle minutes */
    struct reading lanes_before, lanes_since;     /* most that the link had; absent: not read */
};

/* Of all GPUs of a host, oldest first. */
struct changes {
    size_t count;
    struct gpu_change list[CHANGES_MAX];
};

const char *change_name(enum change_code code);                       /* "power_limit" */
const char *change_key(enum change_code code);                        /* of the fact that keeps its value: "driver_version" */
bool change_is_fact(enum change_code code);                           /* that fact is kept for its own sake, too */
void changes_add(struct changes *c, const struct gpu_change *change); /* the newest; the oldest makes room */
/* As it is kept: "350" of watts. False and "": not read. */
bool change_value(enum change_code code, const struct host *host, const struct gpu *gpu, char out[CHANGE_VALUE_SIZE]);
/* Whether a value is other than when it was last read; what is not read keeps it. */
struct values_seen {
    uint32_t hash[GPU_MAX][CHANGE_COUNT];
};
bool values_differ(struct values_seen *seen, const struct snapshot *s);

/* ---- One GPU, sample by sample. ---- */

struct change_watch {
    struct watched_value {
        char known[CHANGE_VALUE_SIZE], next[CHANGE_VALUE_SIZE]; /* "": none yet */
        int64_t number;                                         /* that reads as the known value */
        bool has_number;
        struct wall next_since, day;
        int today;
    } values[CHANGE_COUNT];
};

enum change_seen { WATCHED_SAME, WATCHED_FIRST, WATCHED_CHANGED, WATCHED_QUIETLY };
/* FIRST: it was never read before. CHANGED: `ret` has code, since, before and after. QUIETLY: it changed, but so
 * often that it is no news. A value that is not read, or that a lease of whirr holds for a time, compares nothing. */
enum change_seen change_watch_see(struct change_watch *w, enum change_code code, const struct host *host, const struct gpu *gpu,
                                  struct wall at, struct gpu_change *ret);

/* ---- What came with it. ---- */

struct change_row {
    struct wall at;
    struct reading power_mw, util_permille, lanes;
};
/* Rows of minutes around it, oldest first. */
void change_measure(struct gpu_change *c, const struct change_row *rows, size_t count);

/* "the driver went from 575.57 to 580.95" */
const char *change_words(const struct gpu_change *c, char out[CHANGE_WORDS]);
/* "at 14:05" of today, else "on Nov 12". */
enum { CHANGE_WHEN = 48 };
const char *change_when(const struct gpu_change *c, struct wall now, char out[CHANGE_WHEN]);
