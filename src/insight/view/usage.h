/* SPDX-License-Identifier: Apache-2.0
 * What one program used, from snapshots: GPU by GPU, and put together to the course of the program.
 */
#pragma once

#include "host/tree.h"
#include "insight/view/course.h"
#include "model/energy.h"
#include "model/snapshot.h"

/* What the program has of one GPU at a moment. */
struct own_part {
    bool on_gpu;
    struct reading vram_bytes, util_permille, attributed_mw;
    struct reading power_mw, temp_mdegc; /* of the whole GPU */
};

struct run_gpu {
    int index;
    char name[GPU_NAME_SIZE], uuid[GPU_UUID_SIZE];
    bool used; /* at any time */
    bool simulated;
    struct course_level vram_bytes, util_permille, power_mw, temp_mdegc;
    double energy_j, attributed_j; /* of the GPU while the program ran; the part that its own use explains */
    struct reading vram_before;    /* in use when it was started */
    struct energy_meter meter;
    struct own_part last;
};

struct run_usage {
    struct run_course course;
    struct run_gpu *gpus;
    size_t gpu_count;
    int only;              /* position of a GPU that counts as a whole, for any user; -1: processes tell */
    bool processes_hidden; /* on no GPU the list of processes could be read */
    struct mono began;
    struct course_moment last;
};

/* `first` was taken just before the program was started, at `now`. -ENOMEM. */
int usage_init(struct run_usage *u, const struct snapshot *first, struct mono now, int only);
void usage_done(struct run_usage *u);
/* `tree` knows the program's processes; `use` is what they used of the host. */
void usage_see(struct run_usage *u, const struct snapshot *s, struct mono now, const struct process_tree *tree,
               const struct tree_use *use);
/* The program has ended, and its processes are gone: what was seen last held until now. `s` may be NULL. */
void usage_end(struct run_usage *u, const struct snapshot *s, struct mono now);
double usage_energy_j(const struct run_usage *u); /* of the GPUs that it used */
double usage_attributed_j(const struct run_usage *u);
