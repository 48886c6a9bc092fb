/* SPDX-License-Identifier: Apache-2.0
 * Parts that several answers are made of.
 */
#pragma once

#include "answer/answer.h"
#include "model/finding.h"
#include "model/severity.h"
#include "model/snapshot.h"

extern const struct answer_names finding_codes, severities, throttles, gpu_states, limit_codes;
extern const struct answer event_answer, activity_answer, limit_answer, usual_answer;

/* Of a metric, whose reading is at that offset. */
struct answer_field metric_field(const struct metric_info *m, size_t offset);
/* SHORT_NAME of a struct process. */
bool make_short_name(const struct answer_at *at, union answer_value *ret);

/* A process; with its GPU (struct process_row); `gpu_index`, `gpu_name` and `simulated` of a GPU. */
extern const struct answer process_answer, process_row_answer, gpu_of_answer;
/* Of a struct snapshot: `timestamp`, `host` and `sources`; `sources` alone. */
extern const struct answer snapshot_head_answer, source_names_answer;
extern const struct answer source_answer, machine_answer;

struct told_devices {
    const struct gpu *list;
    size_t count;
};
extern const struct answer device_answer;

struct told_totals {
    struct reading used, total, power, processes;
};
struct told_totals told_totals(const struct snapshot *s);
extern const struct answer totals_answer;

struct told_driver {
    const struct driver_info *info;
    bool cuda_available;
    const char *error;
    size_t count;
    struct gpu_driver list[DRIVERS_MAX];
};
struct told_driver told_driver(const struct snapshot *s);

struct told_resources {
    const struct host *host;
    struct reading memory_permille;
    int64_t vram_bytes;
    bool available, simulated;
    size_t gpu_count;
    const struct gpu *best; /* NULL: none */
};
struct told_resources told_resources(const struct snapshot *s, const struct host *host);

struct finding_told {
    const struct finding *f;
    const struct verdict *v;
};

/* Findings of one GPU, of the host alone (-1), or EVERY_GPU and the host. `v` may be NULL: there are none. */
struct findings_told {
    const struct verdict *v;
    int gpu_index;
    struct finding_told first;
    bool judged;
    enum severity severity; /* of the first */
};
struct findings_told told_findings(const struct verdict *v, int gpu_index);
/* `findings`; `finding`, the first of them; `severity` and `findings`. */
extern const struct answer findings_answer, first_finding_answer, verdict_answer;

/* `looked`, `not_looked`: the areas that a GPU's verdict is based on. */
extern const struct answer looked_answer;
const struct gpu_looked *told_looked(const struct verdict *v, int gpu_index);

/* A page of rows from the history, which were written while they were read. */
struct told_page {
    struct str list;
    size_t count;
    char next_cursor[32]; /* "": the last page */
};
extern const struct answer stats_history_answer, live_stats_answer;
