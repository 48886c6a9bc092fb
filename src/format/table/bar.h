/* SPDX-License-Identifier: Apache-2.0
 * `whirr status --line`: all GPUs on one line, for status bars. Does not know where the line is shown.
 */
#pragma once

#include "format/table/page_table.h"
#include "model/snapshot.h"

/* Values of --format, NULL-terminated. */
extern const char *const bar_formats[];

void table_bar(struct buf *out, const struct page *page, const struct snapshot *s, int only, const char *format);
