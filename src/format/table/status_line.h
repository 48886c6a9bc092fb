/* SPDX-License-Identifier: Apache-2.0
 * The lines around the numbers of the status table: title, what a GPU is doing and for whom, troubles of sources.
 */
#pragma once

#include "format/table/page.h"
#include "model/snapshot.h"

/* "box · NVIDIA 580.159.04 · CUDA 13.0 · 02:13:05", and in plain sight where the GPUs are simulated. */
void status_title(struct buf *out, const struct page *page, const struct snapshot *s, int only);
/* The second line of a GPU: why it is slowed, its clock where no column shows it, and as many processes as fit. */
void status_line(struct buf *out, const struct page *page, const struct gpu *gpu, int indent, bool with_clock);
/* One line for each source that is in trouble. */
void status_troubles(struct buf *out, const struct page *page, const struct snapshot *s);
