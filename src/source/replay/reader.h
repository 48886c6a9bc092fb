/* SPDX-License-Identifier: Apache-2.0
 * The snapshots of a recording, one after the other.
 */
#pragma once

#include "base/error.h"
#include "model/snapshot.h"

struct replay_reader;

/* A recording, or a folder that holds one (an unpacked bundle of `whirr doctor`). */
int replay_reader_open(const char *path, struct replay_reader **ret, struct error *err);
/* From memory that must outlive the reader. */
int replay_reader_open_memory(const void *bytes, size_t len, struct replay_reader **ret, struct error *err);
void replay_reader_close(struct replay_reader *r);

/* 1: *ret is the next snapshot, with a reference for the caller. 0: there is none (yet: a recording that is still being written
 * may have more later). Negative: it cannot be read any further; what was given before holds. */
int replay_reader_next(struct replay_reader *r, const struct snapshot **ret, struct error *err);
/* Back to the first. */
int replay_reader_rewind(struct replay_reader *r, struct error *err);

struct replay_reader_facts {
    uint64_t samples; /* given so far */
    uint64_t damaged; /* frames left out */
    bool torn;        /* the end is in the middle of a frame: the writer was killed, or is at it */
};
struct replay_reader_facts replay_reader_facts(const struct replay_reader *r);
