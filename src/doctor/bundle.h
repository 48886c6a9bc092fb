/* SPDX-License-Identifier: Apache-2.0
 * The doctor's bundle: a machine in an archive that can be sent with a bug report and replayed with --sysroot.
 *
 *   sys/, proc/, etc/    the files that were read, with their links
 *   whirr/recording      some samples of the GPUs that are not read from files (NVML), for the source `replay`
 *   whirr/doctor.txt     the report
 *   whirr/status.json    what was seen
 *
 * A name that ends with .machine asks for the same as one text file (format/machine_text.h), with the report as a comment.
 */
#pragma once

#include "ask/cli.h"
#include "base/buf.h"
#include "base/clock.h"

/* Returns the exit status. */
int bundle_write(struct cli *cli, const char *path, bool with_private);
/* Makes the files of such a text in a new or empty directory. */
int bundle_unpack(const char *path, const char *dir);

/* ---- Writes a tar archive (ustar) into memory: folders, files and symbolic links. ---- */

struct tar {
    struct buf *out;
    struct wall time; /* of every entry */
    size_t left_out;  /* entries whose names are too long for the format */
};

/* Names are relative, with slashes, without one at the end. */
void tar_folder(struct tar *t, const char *name);
void tar_file(struct tar *t, const char *name, struct str bytes);
void tar_link(struct tar *t, const char *name, const char *target);
void tar_end(struct tar *t);
