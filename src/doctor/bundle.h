/* SPDX-License-Identifier: Apache-2.0
 * The doctor's bundle: a host as one text file (format/record.h) to read, send with a bug report, or replay with --sysroot.
 * The report is a comment in it.
 *
 *   /sys, /proc, /etc    the files that were read, with their links
 *   /whirr/recording     samples of GPUs whose data does not come from files (NVML), for the source `replay`
 */
#pragma once

#include "ask/cli.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/env.h"
#include "model/snapshot.h"

/* Returns the exit status. */
int bundle_write(struct cli *cli, const char *path, bool with_private);
/* Unpacks such a text into a new or empty directory. */
int bundle_unpack(const char *path, const char *dir);

/* Removes private data from texts and snapshots: host and user names, command lines, serial numbers, UUIDs. A secret gets the same
 * replacement everywhere, so that relations stay visible. */

enum { SECRETS_MAX = 1024, SECRET_SIZE = 128, NUMBERS_MAX = 1024 };

struct privacy {
    bool off; /* leave everything as it is */
    size_t count;
    struct {
        char secret[SECRET_SIZE], stand_in[SECRET_SIZE];
    } list[SECRETS_MAX];
    size_t users, uuids, containers, serials;
    uint64_t numbers[NUMBERS_MAX]; /* of chips and containers; each is replaced by its index here */
    size_t number_count;
};

/* Learns the secrets of a host: those in the snapshot, and our own user name. */
void privacy_learn(struct privacy *p, const struct snapshot *s);
/* Replaces every known secret that appears as a whole word. */
void privacy_text(const struct privacy *p, struct buf *out, struct str text);
/* Redacts a file of the host: replaces it if it is private as a whole, otherwise word by word. */
void privacy_file(struct privacy *p, const char *path, struct str bytes, struct buf *out);
/* What in a line still looks as if it identified someone: "an e-mail address"; NULL: nothing. */
const char *privacy_suspect(struct str line);
/* Works in place; the snapshot must be the caller's own copy. */
void privacy_snapshot(const struct privacy *p, struct snapshot *s);
