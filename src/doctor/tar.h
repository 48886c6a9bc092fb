/* SPDX-License-Identifier: Apache-2.0
 * Writes a tar archive (ustar) into memory: folders, files and symbolic links.
 */
#pragma once

#include "base/buf.h"
#include "base/clock.h"

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
