/* SPDX-License-Identifier: Apache-2.0
 * Writes snapshots into a recording that the `replay` source plays (see source/replay/frame.h for its shape).
 */
#pragma once

#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "model/snapshot.h"

struct recorder;

/* A whole recording of one snapshot, in memory: how a daemon hands its newest to a command. */
int record_one(struct buf *out, const struct snapshot *s, struct error *err);

/* Begins a recording, or goes on with one: behind its last whole frame, a torn rest is cut off. A file that is something else is
 * refused. The file is for its owner only, because command lines are in it. */
struct recorder *recorder_open(const char *path, struct error *err);
/* Adds a snapshot. After a failure (disk full) the file ends with the last whole one, and a later call may succeed. */
int recorder_add(struct recorder *r, const struct snapshot *s, struct error *err);
uint64_t recorder_bytes(const struct recorder *r);   /* of the file */
uint64_t recorder_samples(const struct recorder *r); /* added by this recorder */
/* 0, or what went wrong when the last bytes were brought to the disk. NULL is fine. */
int recorder_close(struct recorder *r, struct error *err);
