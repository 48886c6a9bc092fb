/* SPDX-License-Identifier: Apache-2.0
 * Snapshots as text for people. All of it keeps to the page: its width, its colours, its signs.
 */
#pragma once

#include "format/table/page.h"
#include "format/table/process_rows.h"
#include "insight/why/why.h"
#include "model/snapshot.h"

/* `whirr status`: one or two lines a GPU. only: the position of one GPU, or ALL_GPUS. */
void table_status(struct buf *out, const struct page *page, const struct snapshot *s, int only);
/* What `whirr` says where there is no GPU: why, and what to do. */
void table_no_gpu(struct buf *out, const struct page *page, const struct snapshot *s);
/* `whirr status --full`: every reading of every GPU, by groups. */
void table_full(struct buf *out, const struct page *page, const struct snapshot *s, int only);

void table_ps(struct buf *out, const struct page *page, const struct snapshot *s, const struct process_rows *rows);
void table_why(struct buf *out, const struct page *page, const struct snapshot *s, const struct why *why, int only);
void table_resources(struct buf *out, const struct page *page, const struct snapshot *s, const struct host *host);
void table_devices(struct buf *out, const struct page *page, const struct snapshot *s, int only);
void table_driver(struct buf *out, const struct page *page, const struct snapshot *s);

/* Answers about the past, from their JSON; -EPROTO when it is not such a body. by: "user", "container", "command", or NULL for all
 * of them. */
struct json_t;
int table_past(struct buf *out, const struct page *page, const struct json_t *body);
int table_report(struct buf *out, const struct page *page, const struct json_t *body, const char *by);
