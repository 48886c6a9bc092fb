/* SPDX-License-Identifier: Apache-2.0
 * What threads wait for: conditions, and in an event loop each other.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>

#include "base/clock.h"

/* ---- condition waits with a monotonic deadline: setting the wall clock must not end or prolong them ---- */

/* Required for condition_wait_until. */
void condition_init(pthread_cond_t *condition);
/* False: deadline passed. */
bool condition_wait_until(pthread_cond_t *condition, pthread_mutex_t *lock, struct mono until);

/* ---- a descriptor that one thread makes readable to wake another's event loop: an eventfd, or a socket pair where there is none
 * ---- */

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
