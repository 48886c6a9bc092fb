/* SPDX-License-Identifier: Apache-2.0
 * Which GPU has which index. An index is given once and kept while the program runs, also when the card is lost: NVIDIA first in
 * NVML's order, then the others by PCI address; a card that appears later goes to the end; one that returns gets its own again.
 */
#pragma once

#include <stddef.h>

#include "base/clock.h"
#include "model/gpu.h"

struct roster_entry {
    struct gpu_id id;
    size_t slot;                 /* which source reads it */
    size_t position;             /* in that source's list */
    bool present;                /* in the sample being built */
    bool lost;                   /* in the last one: stays so until it answers again */
    enum gpu_state unseen;       /* no source has listed it yet: what it is taken for; GPU_OK: one has */
    char reason[GPU_ERROR_SIZE]; /* why it was lost */
};

struct roster {
    size_t count;
    struct roster_entry entries[GPU_MAX];
};

/* Before the GPUs of a new sample are placed. */
void roster_begin(struct roster *r);
/* The index of this GPU; -1 when another source has it already in this sample, or the roster is full. */
int roster_place(struct roster *r, const struct gpu_id *id, size_t slot, size_t position);
/* A GPU that should be there: it is listed from now on, and absent until a source places it. The last of its source. NULL: it is
 * listed already, or the roster is full. */
struct roster_entry *roster_expect(struct roster *r, const struct gpu_id *id, size_t slot);
/* After the very first sample: puts the indices into the documented order. Returns nothing to undo: call before publishing. */
void roster_sort(struct roster *r);
