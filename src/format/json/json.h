/* SPDX-License-Identifier: Apache-2.0
 * Snapshots as JSON: the bodies of the API and of `--json`. Every key is always present; unknown values are null, and `absent` says
 * why. Keys come from the metric table. Does not know where the text goes (file, socket, terminal).
 *
 * Bodies with GPUs take `only`: the position of the requested GPU, or ALL_GPUS.
 */
#pragma once

#include "answer/answer.h"
#include "guard/guard.h"
#include "host/evidence/address_samples.h"
#include "host/frames/looks.h"
#include "model/snapshot.h"
#include "store/query.h"

struct gpu_looked;
struct why;
struct why_part;
struct finding_settings;

/* Room for the largest body: 256 GPUs with instances and processes. */
enum { JSON_BODY_MAX = 512 * 1024 * 1024 };

/* GET /api/gpu/metrics, `whirr status --json`: everything known. */
void json_metrics(struct json_writer *j, const struct snapshot *s, int only);
struct process_rows;
/* `whirr why PID`: these processes with their limits, evidence and advice. The rest is about the first of them, on request. */
struct limits_told {
    const char *cpu_time;              /* where it spends its CPU time, in words; "": unknown */
    const struct program_lines *lines; /* on which it spends its time; NULL: unknown */
    const char *missing;               /* why no line is known; "": they were not asked for */
};
void json_limits(struct json_writer *j, const struct snapshot *s, const struct process_rows *rows, const struct limits_told *told);
/* Lines as a part of an answer. */
struct told_lines {
    const struct place *places; /* NULL: unknown */
    size_t count;
    const char *of, *missing;
    bool few_cores;
    int64_t looks;
};
struct told_lines told_lines(const struct program_lines *l, const char *missing);
extern const struct answer lines_answer;

/* GET /api/why/cpu: where a process spends its CPU time. */
struct told_samples {
    int32_t pid;
    const struct address_samples *s;
};
void json_cpu_samples(struct json_writer *j, int32_t pid, const struct address_samples *s);
/* The sentence in such an answer; false: none was permitted. */
bool json_cpu_samples_words(struct str answer, char words[ADDRESS_WORDS]);

extern const struct answer devices_answer, driver_answer, resources_answer, metrics_answer, summary_answer, stats_answer;
extern const struct answer processes_answer, limits_answer, cpu_samples_answer;
/* GET /api/gpu/devices and GET /api/gpu/driver. */
void json_devices(struct json_writer *j, const struct snapshot *s, int only);
void json_driver(struct json_writer *j, const struct snapshot *s);

/* GET /api/gpu/summary; with the answer of `why`, which may be NULL. */
void json_summary(struct json_writer *j, const struct snapshot *s, const struct why *why);

/* The StatsRow of section C, with its time as `timestamp`. */
void json_live_stats(struct json_writer *j, const struct snapshot *s, const struct gpu *gpu);
/* GET /api/system/gpu-stats */
void json_stats(struct json_writer *j, const struct snapshot *s, int only);

/* GET /api/resources (section D). host is s->host, or a later reading of it. */
void json_resources(struct json_writer *j, const struct snapshot *s, const struct host *host);

/* GET /api/targets, `whirr export --targets`: [{targets, labels}] of the hosts that can be scraped. */
struct config;
void json_scrape_targets(struct json_writer *j, const struct config *config);

/* ---- Guarded workers, as in the API and `whirr guard status --json`. ---- */

extern const struct answer guard_answer, guard_event_answer, guard_health_answer;
/* {"workers": [...]} */
void json_guard(struct json_writer *j, const struct guard_status *list, size_t count);
/* The data of the WebSocket event `guard`. */
void json_guard_event(struct json_writer *j, const struct guard_event *event);
/* The object in /api/health. */
void json_guard_health(struct json_writer *j, const struct guard_status *list, size_t count, const char *message);

/* ---- Stored rows as JSON. ---- */

enum { STATS_COLUMNS = 6 };

/* The columns of the StatsRow, in the order that json_history_row expects. */
void json_stats_columns(size_t columns[STATS_COLUMNS]);
/* A StatsRow from stored values. */
void json_history_row(struct json_writer *j, const struct store_row *row);
/* A StatsRow that represents a step: means. */
void json_history_point(struct json_writer *j, const struct store_gpu *gpu, struct wall at,
                        const struct aggregate values[STATS_COLUMNS]);

/* ---- The explanation as JSON: the body of GET /api/why and of `whirr why --json`. ---- */

/* s: the snapshot that was explained. */
void json_why(struct json_writer *j, const struct snapshot *s, const struct why *why, int only);

/* Only its keys, for an object with more of them; and of a moment about which nothing is known. */
void json_why_keys(struct json_writer *j, const struct snapshot *s, const struct why *why, int only);
void json_why_nothing(struct json_writer *j, const char *answer);
/* answer, severity, causes and suggestions of a struct why_part. */
extern const struct answer why_answer, why_part_answer, remedy_answer;

/* ---- Findings, the same list in every answer: the most important first. ---- */

enum { EVERY_GPU = -2 };
extern const struct answer finding_codes_answer;
/* All codes: `whirr why --codes --json`. */
void json_finding_codes(struct json_writer *j, const struct finding_settings *settings);
struct verdict *verdict_from_json(const json_t *findings, const struct snapshot *s); /* NULL: out of memory */

/* Parses a daemon's explanation for the GPUs of that snapshot. NULL if it is malformed, or out of memory. */
struct why *why_from_json(const json_t *json, const struct snapshot *s);
