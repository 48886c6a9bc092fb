/* SPDX-License-Identifier: Apache-2.0
 * The outer shape of a recording: one line of text, then frames that each stand or fall alone.
 *
 *   "whirr-recording 1\n"
 *   ┌──────┬───────────────┬─────────┬──────────┐
 *   │ type │ length varint │ payload │ CRC-32   │   repeated; the CRC is over type, length and payload, little endian
 *   └──────┴───────────────┴─────────┴──────────┘
 *
 * A frame is written by one write(2). A process that is killed leaves at most a torn last frame, which readers leave out.
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
    FRAME_SCHEMA = 'S', /* the names of the columns that follow */
    FRAME_KEY = 'K',    /* a snapshot on its own */
    FRAME_DELTA = 'D',  /* a snapshot as its difference to the one before */
};

/* A payload that is read or grown into. */
struct frame {
    int type;
    unsigned char *payload;
    size_t len, capacity;
};
void frame_done(struct frame *f);

/* 0, or an error that says what the file is instead. */
int frame_check_magic(FILE *f, const char *path, struct error *err);
/* 1: a frame; 0: the end, *torn when it comes in the middle of a frame; -EBADMSG: this one is damaged, the next may be fine;
 * -EPROTO: damaged beyond finding the next; -ENOMEM, -EIO. */
int frame_read(FILE *f, struct frame *frame, bool *torn);
/* Puts the whole frame, ready to be written, into out. */
void frame_build(struct buf *out, enum frame_type type, struct str payload);

void varint_put(struct buf *out, uint64_t value);
/* The number at *at, which moves behind it; false when it is cut off or too long. */
bool varint_get(const unsigned char **at, const unsigned char *end, uint64_t *ret);
