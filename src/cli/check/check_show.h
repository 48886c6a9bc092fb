/* SPDX-License-Identifier: Apache-2.0
 * How a run is shown: as text, as the passport of a GPU, beside an earlier one.
 */
#pragma once

#include "answer/answer.h"
#include "base/buf.h"
#include "format/table/page_table.h"
#include "insight/check/run.h"

void check_table(struct buf *out, const struct page *page, const struct check_run *run);
void check_history_table(struct buf *out, const struct page *page, const struct check_run *runs, size_t count);
/* Measured now beside `before`: "read  4,466 GB/s  4,470 GB/s  -0.1%". */
void check_compare_table(struct buf *out, const struct page *page, const struct check_run *run, const struct check_run *before);

/* {"passport": 1, "runs": [...], "sha256": ...}: the checksum is of the compact JSON of `runs`. */
void passport_json(struct json_writer *j, const struct check_run *const *runs, size_t count);
/* One page without anything from elsewhere, with the same JSON inside. */
void passport_html(struct buf *out, const struct check_run *const *runs, size_t count);
/* Reads either. 0 and the first run; -EINVAL: not a passport; -EBADMSG: its checksum is wrong. */
int passport_read(struct str text, struct check_run *ret, struct error *err);
/* Replaces what names this one GPU by a hash: equal for the same GPU, and the number can't be read from it. */
void passport_hash_ids(struct check_run *run);
