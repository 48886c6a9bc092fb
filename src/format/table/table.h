/* SPDX-License-Identifier: Apache-2.0
 * Snapshots as text for people, which respects the page: its width, its colors, its signs.
 */
#pragma once

#include "base/error.h"
#include "format/process_rows.h"
#include "format/table/page_table.h"
#include "model/snapshot.h"

struct why;
struct finding_settings;

/* All codes of findings, with their severity and meaning. */
void table_finding_codes(struct buf *out, const struct page *page, const struct finding_settings *settings);
/* `whirr status`: a verdict and one row per GPU. only: the position of one GPU, or ALL_GPUS. */
void table_status(struct buf *out, const struct page *page, const struct snapshot *s, int only);
/* The last line: further commands. */
void table_status_hints(struct buf *out, const struct page *page, const struct snapshot *s);
/* The output of `whirr` without a GPU: why, and what to do. */
void table_no_gpu(struct buf *out, const struct page *page, const struct snapshot *s);
/* NPUs and accelerators, which no other table shows. */
void table_accelerators(struct buf *out, const struct page *page, const struct snapshot *s);
/* `whirr status --full`: every reading of every GPU, by groups. */
void table_full(struct buf *out, const struct page *page, const struct snapshot *s, int only);

void table_ps(struct buf *out, const struct page *page, const struct snapshot *s, const struct process_rows *rows);
/* Where a process spends its CPU time, below an explanation. */
void table_cpu_time(struct buf *out, const struct page *page, const struct process *p, const char *words);
/* `whirr why PID`: the limits of these processes; `told` is about the first. */
struct limits_told;
void table_limits(struct buf *out, const struct page *page, const struct snapshot *s, const struct process_rows *rows,
                  const struct limits_told *told);
/* "Where": the lines on which a program spends its time, and how they were seen. `p` NULL: it was named above. */
struct program_lines;
/* "Rank  rank 5 is in save(), train.py:301, while 7 wait for it", if any does. */
void table_late_rank(struct buf *out, const struct page *page, const struct snapshot *s, const struct process *p,
                     const struct program_lines *l);
void table_lines(struct buf *out, const struct page *page, const struct process *p, const struct program_lines *l);
/* At most 12 lines, worst first, equal GPUs on one line; a verbose page shows all evidence. command: prefix of the hints in the
 * last line; NULL: none. */
void table_why(struct buf *out, const struct page *page, const struct snapshot *s, const struct why *why, int only,
               const char *command);
/* `whirr why --idle`: what keeps each GPU from idling. */
void table_idle(struct buf *out, const struct page *page, const struct snapshot *s, const struct why *why, int only);
/* `whirr status --line`: all GPUs on one line, for status bars. `format`: one of bar_formats, which are NULL-terminated. */
extern const char *const bar_formats[];
void table_bar(struct buf *out, const struct page *page, const struct snapshot *s, int only, const char *format);
void table_resources(struct buf *out, const struct page *page, const struct snapshot *s, const struct host *host);
void table_devices(struct buf *out, const struct page *page, const struct snapshot *s, int only);
void table_driver(struct buf *out, const struct page *page, const struct snapshot *s);

struct lease;
struct lease_list;
void table_leases(struct buf *out, const struct page *page, const struct lease_list *list, struct wall now);
/* Everything about one lease, one property per line. */
void table_lease(struct buf *out, const struct page *page, const struct lease *l, struct wall now);

/* Answers about the past, from their JSON; -EPROTO if it is malformed. by: "user", "container", "command", or NULL for all of
 * them. */
struct json_t;
int table_past(struct buf *out, const struct page *page, const struct json_t *body);
int table_report(struct buf *out, const struct page *page, const struct json_t *body, const char *by);

/* "desk   4 GPUs   1184 W   ▲ GPU 1 is throttling (93 °C)", with a clear mark for simulated GPUs. */
void status_verdict(struct buf *out, const struct page *page, const struct snapshot *s, int only);
/* "61%", "off", "1800 rpm". */
void show_fan(char text[NUMBER_SIZE], const struct page *page, const struct gpu *gpu);
