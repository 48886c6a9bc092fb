/* SPDX-License-Identifier: Apache-2.0
 * What a host gave, kept to be read again: snapshots for the source `replay`, and the files of a host for --sysroot.
 */
#pragma once

#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

struct snapshot;

/* ---- snapshots: a recording for the `replay` source (see source/replay/codec.h for the format) ---- */

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

/* ---- a host's files (machine_text.c) ----
 * One text file (NAME.machine) with the files, links and processes that whirr reads, in lines that people can read and edit.
 * `whirr doctor --bundle` writes it; expanded into a directory, it serves as --sysroot. docs/machines.md describes the format.
 * What the files mean is not known here. */

enum { MACHINE_TEXT_MAX = 64 * 1024 * 1024 };

enum machine_kind { MACHINE_FILE, MACHINE_LINK, MACHINE_FOLDER };

struct machine_entry {
    enum machine_kind kind;
    const char *path; /* as on the host, without links in it */
    struct str bytes; /* content of a file, or target of a link */
};

/* Writes the entries, sorted by path, after `about` as a comment. Returns how many have names that the format can't hold. */
size_t machine_write(struct buf *out, struct str about, const struct machine_entry *entries, size_t count);

/* Creates the host in `dir`, which must be new or empty. The text may be malicious: writes nothing outside. */
int machine_expand(struct str text, const char *dir, struct error *err);
