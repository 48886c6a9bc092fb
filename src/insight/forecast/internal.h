/* SPDX-License-Identifier: Apache-2.0
 * What the parts of a forecast share: the memory of one GPU, and how each kind is judged.
 */
#pragma once

#include "insight/forecast/forecast.h"
#include "insight/forecast/track.h"

enum { FORECAST_POWER_BINS = 10 };

struct forecast_process {
    int32_t pid;
    int64_t start_key;
    char name[PROCESS_NAME_SIZE], user[PROCESS_USER_SIZE], words[PROCESS_WORDS];
    bool seen;      /* in the last snapshot */
    int64_t age_ms; /* in it; INT64_MAX: unknown */
    struct track track;
};

/* What is remembered of one GPU. */
struct forecast_card {
    struct gpu_id id;
    bool seen;
    int64_t last_ms; /* of the last sample that could be read */
    int64_t interval_ms;
    uint64_t process_set; /* digest of the processes; 0 unknown */
    double room_bytes;    /* what processes can have in all; 0 not known */
    struct track vram;
    struct track heat;     /* since the load changed */
    struct track heat_all; /* whatever the load did */
    double power_w, power_limit_w;
    int odd_power; /* samples in a row whose power was another */
    /* Where the temperature settled before, by the share of the power limit; 0: never seen */
    double settled_c[FORECAST_POWER_BINS];
    struct forecast_process *processes[FORECAST_PROCESSES_MAX];
};

struct forecast_memory {
    size_t card_count;
    struct forecast_card *cards[GPU_MAX];
    bool has_store;
    struct forecast_store_facts store_facts;
    struct track store, disk;
};

/* A rising line on a track: how it was found. */
struct rise {
    struct fit_line line;
    double basis_s;
    double low, high; /* slopes of the interval */
    bool cyclic;      /* from the peaks of a sawtooth, not from the stretch */
};

enum rise_result { RISE_UNKNOWN, RISE_NONE, RISE_SWINGS, RISE_FOUND };
/* Seeks a rise in the current stretch or, where it goes up and down, in its peaks. `scale`: what counts as large (the room). */
enum rise_result rise_find(const struct track *t, double scale, double resolution, struct rise *ret);
/* When the rise meets the limit. */
void rise_when(const struct rise *rise, const struct track *t, double limit, struct forecast_when *ret);

void forecast_judge_vram(const struct forecast_card *card, const struct gpu *gpu, struct forecast_vram *ret);
void forecast_judge_heat(const struct forecast_card *card, const struct gpu *gpu, struct forecast_heat *ret);
/* Remembers where the temperature settles under which power. */
void forecast_learn_heat(struct forecast_card *card, const struct gpu *gpu);
void forecast_judge_store(const struct forecast_memory *m, struct forecast_store *ret);

/* Sets verdict and reason. */
void forecast_explain(struct forecast_when *when, enum forecast_verdict verdict, const char *format, ...)
    __attribute__((format(gnu_printf, 3, 4)));
