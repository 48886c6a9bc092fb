/* SPDX-License-Identifier: Apache-2.0
 * `whirr status --line`: all GPUs on one line, for status bars. Where the line is shown is not known here.
 */
#pragma once

#include "format/table/page.h"
#include "model/snapshot.h"

/* What --format knows, NULL at the end. */
extern const char *const bar_formats[];

void table_bar(struct buf *out, const struct page *page, const struct snapshot *s, int only, const char *format);
