/* SPDX-License-Identifier: Apache-2.0
 * The outer format of a recording: one line of text, then independent frames.
 *
 *   "whirr-recording 1\n"
 *   ┌──────┬───────────────┬─────────┬──────────┐
 *   │ type │ length varint │ payload │ CRC-32   │   repeated; the CRC is over type, length and payload, little endian
 *   └──────┴───────────────┴─────────┴──────────┘
 *
 * One write(2) writes a frame. A killed process leaves at most a torn last frame, which readers skip.
 */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/error.h"

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
