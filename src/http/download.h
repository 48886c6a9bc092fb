/* SPDX-License-Identifier: Apache-2.0
 * An answer of any length: one slice after the other, each asked for when the last one has been sent. A client that reads slowly
 * costs one slice of memory and no other client's time; one that goes away is not asked for any more.
 */
#pragma once

#include <stdbool.h>

#include "http/exchange.h"

enum { DOWNLOADS_MAX = 32, DOWNLOADS_OF_ONE = 8 };

/* Where slices come from. */
struct download_source {
    /* Asks for the next slice; download_slice() follows. False: busy, to be asked again. */
    bool (*ask)(struct download_source *s);
    /* The last call: all was sent, or the client has gone. `asked`: a slice is still on its way. */
    void (*gone)(struct download_source *s, bool asked);
};

/* Whether there is room for one more; if not, the request is answered. */
bool download_has_room(struct exchange *x);
/* The head of the answer and its first slice (NULL: nothing in it); `more`: others follow. False: out of memory, and the source is
 * still the caller's. */
bool download_begin(struct exchange *x, const struct reply *head, struct download_source *source, struct blob *first, bool more);
/* The slice that was asked for, while the source has not been told that the client is gone. */
void download_slice(struct conn *c, struct blob *slice, bool more);
/* There is none: the answer is broken off. */
void download_break_off(struct conn *c);
