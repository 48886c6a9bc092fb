/* SPDX-License-Identifier: Apache-2.0
 * What has limited each process over the last seconds. Private to the judge: one moment says little of a program that works in
 * steps, and a mean never reaches over the end of a process into the next one.
 */
#pragma once

#include "model/snapshot.h"

struct limit_memory;

struct limit_memory *limit_memory_new(void); /* NULL: out of memory */
void limit_memory_free(struct limit_memory *m);
/* Judges every process of the snapshot and writes its limit. */
void limit_memory_judge(struct limit_memory *m, struct snapshot *s);
