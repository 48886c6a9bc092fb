/* SPDX-License-Identifier: Apache-2.0
 * Memory of GPUs that the kernel lets a program have: dmem.max of a control group of its own, where kernel and driver have it.
 * Beyond it, the driver moves memory to the host's, or refuses it.
 */
#pragma once

#include "base/env.h"
#include "base/error.h"
#include "base/file.h"

struct vram_cap {
    char folder[PATH_SIZE]; /* the control group; "": none */
};

/* 0, or why this kernel can limit no memory of GPUs. */
int vram_cap_possible(const struct env *env, struct error *err);
/* Moves the process into a group of its own that may have `bytes` on each of these GPUs; on errors there is no group. */
int vram_cap_set(const struct env *env, const char *const *addresses, size_t count, int64_t bytes, int32_t pid,
                 struct vram_cap *ret, struct error *err);
/* Removes the group once the program is over. One whose children still run stays, and the kernel keeps limiting them. */
void vram_cap_done(const struct vram_cap *cap);
