/* SPDX-License-Identifier: Apache-2.0
 * Encodes and decodes a snapshot as the difference to the previous one. One walk serves both directions, so that writer and reader
 * can't drift apart:
 *
 *   snapshot: gpus, sequence, times, mask of [groups | host | driver | sources | events | verdict], then each GPU, the verdict:
 *   GPU:      mask of [id | state | metrics | properties | process facts | processes | instances], then those that changed
 *   readings: how many changed, then for each: columns skipped, difference (with a bit for "its state changed, too")
 *   process:  which one of the list before it is (0: a new one), mask, what changed
 *
 * Columns have names (see schema): of a recording from another version, the known names are read.
 */
#pragma once

#include "model/snapshot.h"
#include "source/replay/frame.h"

enum {
    SCHEMA_COLUMNS_MAX = 512,
    SCHEMA_NAME_SIZE = 64,
    /* Per snapshot; a writer drops and counts the rest, a reader refuses. */
    RECORDED_PROCESSES_MAX = 16384,
    RECORDED_INSTANCES_MAX = 2048,
};

/* Column of the file -> column here; -1: unknown. */
struct column_map {
    size_t count;
    int16_t to[SCHEMA_COLUMNS_MAX];
};

struct recorded_columns {
    struct column_map metrics, properties, process_metrics, host, evidence; /* the last is new: empty in older files */
};

/* The column names of this program, as the payload of a schema frame. */
void schema_write(struct buf *out);
/* -EBADMSG: not a schema. */
int schema_read(const unsigned char *payload, size_t len, struct recorded_columns *ret);

/* `before` NULL: a key frame. `now` is only read, except that lists beyond the limits are shortened. */
void snapshot_encode(struct buf *out, struct snapshot *now, const struct snapshot *before);
/* The caller gets one reference. -EBADMSG: damaged; -ENOMEM. */
int snapshot_decode(const unsigned char *payload, size_t len, const struct recorded_columns *schema, const struct snapshot *before,
                    struct snapshot **ret);
