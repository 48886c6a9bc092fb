/* SPDX-License-Identifier: Apache-2.0
 * Memory that the daemon no longer needs goes back to the system.
 */
#pragma once

#include "base/clock.h"
#include "base/env.h"

struct memory {
    struct mono trimmed, dropped; /* when each was done last; 0: not yet */
};

/* To be called with every sample; does something every 20 seconds, and more every hour. */
void memory_give_back(struct memory *m, const struct env *env, struct mono now);
/* The pages of the program and its libraries that are as they are in their files: whatever is still needed comes back by itself,
 * and what only the loading needed does not. Returns their bytes. */
size_t memory_drop_files(const struct env *env);
