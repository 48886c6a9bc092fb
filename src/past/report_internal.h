/* SPDX-License-Identifier: Apache-2.0
 * What the files of the report share. Private to report*.c.
 */
#pragma once

#include "past/report.h"

/* Below this, a process or card does nothing: permille. */
enum { MINUTE_MS = 60000 };

/* Fills groups and held. */
int report_processes(struct store *s, const char *host, int64_t gpu_id, struct report *r, struct error *err);
/* Hours, load and hot spells of one card. */
int report_card(struct store *s, struct report_gpu *gpu, struct report *r, struct error *err);
