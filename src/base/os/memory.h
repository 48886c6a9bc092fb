/* SPDX-License-Identifier: Apache-2.0
 * Returns memory that a program that stays no longer needs to the system.
 */
#pragma once

#include "base/clock.h"
#include "base/env.h"

struct memory {
    struct mono trimmed, dropped; /* when each was last done; 0: not yet */
};

/* Call with every sample; acts every 20 seconds, and more thoroughly every hour. */
void memory_give_back(struct memory *m, const struct env *env, struct mono now);
/* Drops unmodified file pages of the program and its libraries: those still in use come back on access, those that only loading
 * needed don't. Returns the bytes. */
size_t memory_drop_files(const struct env *env);
