/* SPDX-License-Identifier: Apache-2.0
 * POST /api/source/release: the engine lets go of the driver. Closing a driver's library can take a while, so a thread of its own
 * waits for it and the request is parked meanwhile.
 */
#pragma once

#include <stdint.h>

#include "serve/api/errand.h"

struct data;

struct release {
    struct errand errand; /* ends after at most the time that a release may take; to be ended before the engine goes */
    struct data *data;
    int result;
    int64_t for_ms;
};

int release_init(struct release *r, struct loop *loop, struct data *data);

void post_release(struct exchange *x);
