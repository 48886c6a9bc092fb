/* SPDX-License-Identifier: Apache-2.0
 * Pages of another process, one slot for each residue of the page number.
 */
#include "host/frames/target.h"

#include <string.h>

#include "base/cleanup.h"

void target_pages_forget(struct target_pages *p)
{
    memset(p->at, 0, sizeof p->at);
}

static const uint8_t *page_at(struct target_pages *p, uint64_t at)
{
    size_t slot = (at / TARGET_PAGE) % TARGET_PAGES;
    if (p->at[slot] == at)
        return p->bytes[slot];
    p->at[slot] = 0;
    if (!at || !p->target->read(p->target->user, at, p->bytes[slot], TARGET_PAGE))
        return NULL;
    p->at[slot] = at;
    return p->bytes[slot];
}

bool target_read(struct target_pages *p, uint64_t at, void *to, size_t size)
{
    uint8_t *next = to;
    if (at > UINT64_MAX - size)
        return false;
    while (size > 0) {
        size_t within = at % TARGET_PAGE, part = MIN_OF(size, TARGET_PAGE - within);
        const uint8_t *page = page_at(p, at - within);
        if (!page)
            return false;
        memcpy(next, page + within, part);
        next += part;
        at += part;
        size -= part;
    }
    return true;
}
