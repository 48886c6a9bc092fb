/* SPDX-License-Identifier: Apache-2.0
 * Which GPU has which index. An index is assigned once and kept while the program runs, even if the card is lost: NVIDIA first in
 * NVML's order, then the others by PCI address; later cards go to the end; one that returns gets its old index.
 */
#pragma once

#include <stddef.h>

#include "base/clock.h"
#include "model/gpu.h"

struct roster_entry {
    struct gpu_id id;
    size_t slot;                 /* the source that reads it */
    size_t position;             /* in that source's list */
    bool present;                /* in the sample being built */
    bool lost;                   /* in the last sample: stays set until it answers again */
    enum gpu_state unseen;       /* never listed by a source: its assumed state; GPU_OK: listed */
    char reason[GPU_ERROR_SIZE]; /* why it was lost */
};

struct roster {
    size_t count;
    struct roster_entry entries[GPU_MAX];
};

/* Call before placing the GPUs of a new sample. */
void roster_begin(struct roster *r);
/* The index of this GPU; -1: another source has it in this sample, or the roster is full. */
int roster_place(struct roster *r, const struct gpu_id *id, size_t slot, size_t position);
/* An expected GPU: listed from now on, absent until a source places it. Goes last in its source. NULL: already listed, or the
 * roster is full. */
struct roster_entry *roster_expect(struct roster *r, const struct gpu_id *id, size_t slot);
/* After the very first sample: sorts the indices into the documented order. Call before publishing. */
void roster_sort(struct roster *r);
