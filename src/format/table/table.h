/* SPDX-License-Identifier: Apache-2.0
 * Snapshots as text for people. All of it keeps to the page: its width, its colours, its signs.
 */
#pragma once

#include "alert/notify/notify.h"
#include "base/error.h"
#include "base/json_writer.h"
#include "format/table/page.h"
#include "insight/explain/why.h"
#include "model/snapshot.h"

/* ---- The processes of all GPUs as one list, filtered and sorted: one row for each (process, GPU). ---- */

struct process_row {
    const struct gpu *gpu;
    const struct process *process;
};

struct process_rows {
    size_t count;
    struct process_row *rows;
    size_t hidden;  /* exist, but may not be seen */
    size_t unknown; /* GPUs that do not tell their processes */
    int only;       /* position of the GPU asked for, ALL_GPUS */
    bool whole;     /* everybody on these GPUs was asked for: what is not attributed completes the sum */
};

struct process_filter {
    int only;         /* position of the GPU, ALL_GPUS */
    const char *user; /* NULL: any */
    const char *name; /* part of the name or of the command, without regard to case; NULL: any */
    int type;         /* PROCESS_COMPUTE, PROCESS_GRAPHICS; 0: any */
    int32_t pid;      /* 0: any */
    const char *sort; /* of process_sort_names; NULL: by GPU, then the biggest first */
    bool reverse;
};

/* The orders that there are, NULL at the end. */
extern const char *const process_sort_keys[];
/* What --sort takes, in upper or lower case: columns as they are called in the table, and the orders themselves. */
extern const char *const process_sort_names[];
/* The order of that name; NULL: unknown. */
const char *process_sort_key(const char *name);

/* 0 or -ENOMEM. The rows point into the snapshot. */
int process_rows_init(struct process_rows *rows, const struct snapshot *s, const struct process_filter *filter);
void process_rows_done(struct process_rows *rows);
#define AUTO_PROCESS_ROWS __attribute__((cleanup(process_rows_done)))

/* The processes of one GPU, those that explain its load best first; returns how many. `sorted` has room for all. */
size_t process_biggest_first(const struct gpu *gpu, const struct process **sorted);

/* Whether the GPU at this position gets a row for the power that no process explains. */
bool process_rows_remainder(const struct process_rows *rows, const struct snapshot *s, size_t position);

/* Cells of the table: "util", "memory", "alone" (how the watts were attributed); "compute", ...; "" where nothing is known. A
 * container is known by its name, else by its short ID, as `docker ps` shows it. */
const char *process_basis_word(enum power_basis basis);
const char *process_type_word(enum process_type type);
void process_container_words(char *text, size_t size, const struct process *p);

/* The body of `whirr ps --json`. */
void json_processes(struct json_writer *j, const struct snapshot *s, const struct process_rows *rows);

/* `whirr status`: a verdict and one row for each GPU. only: the position of one GPU, or ALL_GPUS. */
/* Every code of a finding, with its severity and meaning. */
void table_finding_codes(struct buf *out, const struct page *page);
void table_status(struct buf *out, const struct page *page, const struct snapshot *s, int only);
/* The last line: where to look next. */
void table_status_hints(struct buf *out, const struct page *page, const struct snapshot *s);
/* What `whirr` says where there is no GPU: why, and what to do. */
void table_no_gpu(struct buf *out, const struct page *page, const struct snapshot *s);
/* `whirr status --full`: every reading of every GPU, by groups. */
void table_full(struct buf *out, const struct page *page, const struct snapshot *s, int only);

void table_ps(struct buf *out, const struct page *page, const struct snapshot *s, const struct process_rows *rows);
/* At most 12 lines, worst first, equal GPUs on one line; a verbose page has all evidence. command: what the hints of the last line
 * begin with; NULL: none. */
void table_why(struct buf *out, const struct page *page, const struct snapshot *s, const struct why *why, int only,
               const char *command);
/* `whirr why --idle`: what keeps each GPU from resting. */
void table_idle(struct buf *out, const struct page *page, const struct snapshot *s, const struct why *why, int only);
void table_resources(struct buf *out, const struct page *page, const struct snapshot *s, const struct host *host);
void table_devices(struct buf *out, const struct page *page, const struct snapshot *s, int only);
void table_driver(struct buf *out, const struct page *page, const struct snapshot *s);

/* Answers about the past, from their JSON; -EPROTO when it is not such a body. by: "user", "container", "command", or NULL for all
 * of them. */
struct json_t;
int table_past(struct buf *out, const struct page *page, const struct json_t *body);
int table_report(struct buf *out, const struct page *page, const struct json_t *body, const char *by);

/* ---- The lines around the rows of the status table. ---- */

/* "desk   4 GPUs   1184 W   ▲ GPU 1 is throttling (93 °C)", and in plain sight where the GPUs are simulated. */
void status_verdict(struct buf *out, const struct page *page, const struct snapshot *s, int only);
/* One line for each source that is in trouble. */
void status_troubles(struct buf *out, const struct page *page, const struct snapshot *s);

/* ---- Notifiers and how they are doing, as the API, the metrics and `whirr notify` show them. ---- */

/* {"notifiers": [...]} */
void json_notifiers(struct json_writer *j, const struct notifier_stats *list, size_t count);
/* What has been sent, given up, tried and what waits, one series a notifier. */
void prometheus_notifiers(struct buf *out, const struct notifier_stats *list, size_t count);
/* `running`: the figures are those of a daemon. */
void table_notifiers(struct buf *out, const struct page *page, const struct notifier_stats *list, size_t count, bool running);
/* Reads what json_notifiers wrote; returns how many, at most `max`. */
size_t notifiers_from_json(struct str text, struct notifier_stats *list, size_t max);
