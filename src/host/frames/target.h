/* SPDX-License-Identifier: Apache-2.0
 * The memory of another process, read by whole pages that are kept for one look: what lies together is read together, so that it
 * also belongs together. The process may change or lie at any time: every read can fail, and no value is trusted.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TARGET_PAGE = 4096, TARGET_PAGES = 256 };

struct target_memory {
    /* Fills `to` with memory of the other process, all of it or nothing. */
    bool (*read)(void *user, uint64_t at, void *to, size_t size);
    void *user;
};

struct target_pages {
    const struct target_memory *target;
    uint64_t at[TARGET_PAGES]; /* address of the page in each slot, or 0 */
    uint8_t bytes[TARGET_PAGES][TARGET_PAGE];
};

void target_pages_forget(struct target_pages *p);
bool target_read(struct target_pages *p, uint64_t at, void *to, size_t size);

static inline bool target_u64(struct target_pages *p, uint64_t at, uint64_t *ret)
{
    return target_read(p, at, ret, sizeof *ret);
}

static inline bool target_u32(struct target_pages *p, uint64_t at, uint32_t *ret)
{
    return target_read(p, at, ret, sizeof *ret);
}
