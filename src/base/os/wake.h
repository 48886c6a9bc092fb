/* SPDX-License-Identifier: Apache-2.0
 * A descriptor that becomes readable when one thread wants another's event loop to look: an eventfd, or a pair of sockets where
 * there is none.
 */
#pragma once

#include <stdbool.h>

struct wake {
    int in, out; /* what is waited for, and what is written to; -1: none */
    bool set;
};

int wake_open(struct wake *w); /* 0 or -errno */
void wake_close(struct wake *w);
void wake_set(struct wake *w);
void wake_clear(struct wake *w);
/* For the loop; a socket on Windows. -1: there is none. Not while another thread sets or clears it. */
int wake_fd(struct wake *w);
