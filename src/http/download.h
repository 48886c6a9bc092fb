/* SPDX-License-Identifier: Apache-2.0
 * An answer of any length: slices, each requested when the previous one is sent. A slow client costs one slice of memory and no
 * other client's time; after a client leaves, nothing more is requested.
 */
#pragma once

#include <stdbool.h>

#include "http/exchange.h"

enum { DOWNLOADS_MAX = 32, DOWNLOADS_OF_ONE = 8 };

/* The source of slices. */
struct download_source {
    /* Requests the next slice; download_slice() follows. False: busy, retry later. */
    bool (*ask)(struct download_source *s);
    /* The last call: all sent, or the client is gone. `asked`: a slice is still pending. */
    void (*gone)(struct download_source *s, bool asked);
};

/* Whether there is room for one more; if not, answers the request. */
bool download_has_room(struct exchange *x);
/* Sends the head and the first slice (NULL: empty); `more`: others follow. False: out of memory, and the caller keeps the
 * source. */
bool download_begin(struct exchange *x, const struct reply *head, struct download_source *source, struct blob *first, bool more);
/* Delivers the requested slice; not after gone(). */
void download_slice(struct conn *c, struct blob *slice, bool more);
/* No slice is available: aborts the answer. */
void download_break_off(struct conn *c);
