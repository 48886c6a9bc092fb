/* SPDX-License-Identifier: Apache-2.0
 * A descriptor that one thread makes readable to wake another's event loop: an eventfd, or a socket pair where there is none.
 */
#pragma once

#include <stdbool.h>

struct wake {
    int in, out; /* read and write ends; -1: none */
    bool set;
};

int wake_open(struct wake *w); /* 0 or -errno */
void wake_close(struct wake *w);
void wake_set(struct wake *w);
void wake_clear(struct wake *w);
/* For the event loop; a socket on Windows. -1: none. Not while another thread sets or clears it. */
int wake_fd(struct wake *w);
