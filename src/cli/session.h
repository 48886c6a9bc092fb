/* SPDX-License-Identifier: Apache-2.0
 * Where a command's answers come from. Today it samples by itself through the engine; a running daemon is asked first, once
 * there is one, unless --source, --sysroot or --direct say otherwise. Commands see snapshots only and do not know the difference.
 */
#pragma once

#include "base/error.h"
#include "cli/command.h"
#include "model/snapshot.h"

struct session;

/* NULL and a sentence on failure. -EINVAL in err: wrong usage. */
struct session *session_open(struct cli *cli, struct error *err);
void session_close(struct session *s); /* NULL is fine */

/* A fresh snapshot that has at least `groups`. NULL and a sentence when nothing answered in time. */
const struct snapshot *session_sample(struct session *s, unsigned groups, struct error *err);

/* The position of the GPU that --gpu names, ALL_GPUS without --gpu; -ENODEV and a sentence when it is not there. */
int session_only(struct session *s, const struct snapshot *snapshot, int *ret_only, struct error *err);

/* For doctor: what the sources say about themselves. */
void session_describe(struct session *s, struct buf *out);
