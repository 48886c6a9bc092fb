/* SPDX-License-Identifier: Apache-2.0
 * A run as JSON: from the helper to the process that started it (a line each: {"device"}, {"progress"}, {"run"}), in the history of
 * checks, with --json, and in a report.
 */
#pragma once

#include <stdio.h>

#include "answer/answer.h"
#include "insight/check/judge.h"

extern const struct answer check_run_answer, check_device_answer;

void record_write_device(FILE *to, const struct check_device *device);
void record_write_progress(FILE *to, const struct check_run *run);
void record_write_run(FILE *to, const struct check_run *run);

/* One line of them. Takes what it has to `run`. 1: that was the last one; 0; -EPROTO: it is none. */
int record_read(struct str line, struct check_run *run);
/* False: not a run, or of a version that can't be read. */
bool check_run_read(const json_t *json, struct check_run *run);
