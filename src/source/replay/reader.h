/* SPDX-License-Identifier: Apache-2.0
 * The snapshots of a recording, one after the other.
 */
#pragma once

#include "base/error.h"
#include "model/snapshot.h"

struct replay_reader;

/* A recording, or a directory that contains one (an unpacked bundle of `whirr doctor`). */
int replay_reader_open(const char *path, struct replay_reader **ret, struct error *err);
/* Reads from memory that must outlive the reader. */
int replay_reader_open_memory(const void *bytes, size_t len, struct replay_reader **ret, struct error *err);
void replay_reader_close(struct replay_reader *r);

/* 1: *ret is the next snapshot, with a reference for the caller. 0: none (yet: more may follow in a recording in progress).
 * Negative: unreadable from here on; earlier snapshots remain valid. */
int replay_reader_next(struct replay_reader *r, const struct snapshot **ret, struct error *err);
/* Back to the start. */
int replay_reader_rewind(struct replay_reader *r, struct error *err);

struct replay_reader_facts {
    uint64_t samples; /* given so far */
    uint64_t damaged; /* frames skipped */
    bool torn;        /* the end is inside a frame: the writer was killed, or is still writing */
};
struct replay_reader_facts replay_reader_facts(const struct replay_reader *r);
