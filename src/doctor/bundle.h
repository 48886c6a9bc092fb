/* SPDX-License-Identifier: Apache-2.0
 * The doctor's bundle: a host as one text file (format/machine_text.h) to read, send with a bug report, or replay with --sysroot.
 * The report is a comment in it.
 *
 *   /sys, /proc, /etc    the files that were read, with their links
 *   /whirr/recording     samples of GPUs whose data does not come from files (NVML), for the source `replay`
 */
#pragma once

#include "ask/cli.h"
#include "base/buf.h"
#include "base/clock.h"

/* Returns the exit status. */
int bundle_write(struct cli *cli, const char *path, bool with_private);
/* Unpacks such a text into a new or empty directory. */
int bundle_unpack(const char *path, const char *dir);
