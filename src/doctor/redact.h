/* SPDX-License-Identifier: Apache-2.0
 * Takes out of texts and snapshots what is private: host and user names, command lines, serial numbers, UUIDs.
 * The same secret has the same stand-in everywhere, so that what belongs together can still be seen.
 */
#pragma once

#include "base/buf.h"
#include "model/snapshot.h"

enum { SECRETS_MAX = 1024, SECRET_SIZE = 128, NUMBERS_MAX = 1024 };

struct privacy {
    bool off; /* everything is left as it is */
    size_t count;
    struct {
        char secret[SECRET_SIZE], stand_in[SECRET_SIZE];
    } list[SECRETS_MAX];
    size_t users, uuids, containers, serials;
    uint64_t numbers[NUMBERS_MAX]; /* of chips and containers; each is replaced by its place here */
    size_t number_count;
};

/* Learns the secrets of a machine: those in the snapshot, and our own user. */
void privacy_learn(struct privacy *p, const struct snapshot *s);
/* The text with every known secret replaced where it stands as a whole word. */
void privacy_text(const struct privacy *p, struct buf *out, struct str text);
/* A file of the host: one that is private as a whole gets its stand-in, the rest is gone through word by word. */
void privacy_file(struct privacy *p, const char *path, struct str bytes, struct buf *out);
/* In place; the snapshot must be a copy of one's own. */
void privacy_snapshot(const struct privacy *p, struct snapshot *s);
