/* SPDX-License-Identifier: Apache-2.0
 * A snapshot as bytes and back, as the difference to the one before. One walk serves both directions, so that writer and reader
 * cannot drift apart:
 *
 *   snapshot: gpus, sequence, times, mask of [groups | host | driver | sources | events | verdict], then each GPU, the verdict:
 *   GPU:      mask of [id | state | metrics | properties | process facts | processes | instances], then those that changed
 *   readings: how many changed, then for each: columns skipped, difference (with a bit for "its state changed, too")
 *   process:  which one of the list before it is (0: a new one), mask, what changed
 *
 * Columns have names (see schema): a recording made by another version is read as far as the names are known.
 */
#pragma once

#include "model/snapshot.h"
#include "source/replay/frame.h"

enum {
    SCHEMA_COLUMNS_MAX = 512,
    SCHEMA_NAME_SIZE = 64,
    /* In all of one snapshot; a writer leaves out what is more and counts it, a reader refuses. */
    RECORDED_PROCESSES_MAX = 16384,
    RECORDED_INSTANCES_MAX = 2048,
};

/* Column of the file -> column here; -1: not known here. */
struct column_map {
    size_t count;
    int16_t to[SCHEMA_COLUMNS_MAX];
};

struct recorded_columns {
    struct column_map metrics, properties, process_metrics, host, evidence; /* the last is new: empty in older files */
};

/* The names that this program writes, as the payload of a schema frame. */
void schema_write(struct buf *out);
/* -EBADMSG: not a schema. */
int schema_read(const unsigned char *payload, size_t len, struct recorded_columns *ret);

/* `before` NULL: a key frame. `now` is only read, but for lists that are over the limits: they are shortened. */
void snapshot_encode(struct buf *out, struct snapshot *now, const struct snapshot *before);
/* One reference for the caller. -EBADMSG: damaged; -ENOMEM. */
int snapshot_decode(const unsigned char *payload, size_t len, const struct recorded_columns *schema, const struct snapshot *before,
                    struct snapshot **ret);
