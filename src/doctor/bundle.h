/* SPDX-License-Identifier: Apache-2.0
 * The doctor's bundle: a machine as one text file (format/machine_text.h) that can be read, sent with a bug report, and replayed
 * with --sysroot. The report is its comment.
 *
 *   /sys, /proc, /etc    the files that were read, with their links
 *   /whirr/recording     some samples of the GPUs that are not read from files (NVML), for the source `replay`
 */
#pragma once

#include "ask/cli.h"
#include "base/buf.h"
#include "base/clock.h"

/* Returns the exit status. */
int bundle_write(struct cli *cli, const char *path, bool with_private);
/* Makes the files of such a text in a new or empty directory. */
int bundle_unpack(const char *path, const char *dir);
