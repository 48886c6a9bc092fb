/* SPDX-License-Identifier: Apache-2.0
 * Writes snapshots into a recording for the `replay` source (see source/replay/codec.h for the format).
 */
#pragma once

#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "model/snapshot.h"

struct recorder;

/* A whole recording of one snapshot, in memory: how a daemon passes its newest one to a command. */
int record_one(struct buf *out, const struct snapshot *s, struct error *err);

/* Begins or continues a recording; cuts off a torn frame at the end. Refuses a file that is something else. Only the owner can
 * read the file, because it contains command lines. */
struct recorder *recorder_open(const char *path, struct error *err);
/* Adds a snapshot. After a failure (disk full) the file ends with the last complete one, and a later call may succeed. */
int recorder_add(struct recorder *r, const struct snapshot *s, struct error *err);
uint64_t recorder_bytes(const struct recorder *r);   /* of the file */
uint64_t recorder_samples(const struct recorder *r); /* added by this recorder */
/* 0, or the error when syncing the file to disk. NULL is fine. */
int recorder_close(struct recorder *r, struct error *err);
