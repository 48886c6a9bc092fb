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

#include <stdio.h>

#include "base/buf.h"
#include "base/error.h"
#include "model/snapshot.h"

/* The outer format of a recording: one line of text, then independent frames.
 *
 *   "whirr-recording 1\n"
 *   ┌──────┬───────────────┬─────────┬──────────┐
 *   │ type │ length varint │ payload │ CRC-32   │   repeated; the CRC is over type, length and payload, little endian
 *   └──────┴───────────────┴─────────┴──────────┘
 *
 * One write(2) writes a frame. A killed process leaves at most a torn last frame, which readers skip. */

#define RECORDING_MAGIC "whirr-recording 1\n"
#define RECORDING_WORD "whirr-recording "
enum { FRAME_MAX = 16 << 20, FRAME_OVERHEAD_MAX = 16 };

enum frame_type {
    FRAME_SCHEMA = 'S', /* names of the columns that follow */
    FRAME_KEY = 'K',    /* a complete snapshot */
    FRAME_DELTA = 'D',  /* a snapshot as the difference to the previous one */
};

/* A growing payload buffer. */
struct frame {
    int type;
    unsigned char *payload;
    size_t len, capacity;
};
void frame_done(struct frame *f);

/* 0, or an error that says what the file is instead. */
int frame_check_magic(FILE *f, const char *path, struct error *err);
/* 1: a frame; 0: the end, *torn if inside a frame; -EBADMSG: this one is damaged, the next may be fine; -EPROTO: damaged, and
 * the next can't be found; -ENOMEM, -EIO. */
int frame_read(FILE *f, struct frame *frame, bool *torn);
/* Builds the whole frame, ready to write. */
void frame_build(struct buf *out, enum frame_type type, struct str payload);

void varint_put(struct buf *out, uint64_t value);
/* Reads the number at *at and advances; false if truncated or too long. */
bool varint_get(const unsigned char **at, const unsigned char *end, uint64_t *ret);

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
