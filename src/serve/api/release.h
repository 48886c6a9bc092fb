/* SPDX-License-Identifier: Apache-2.0
 * POST /api/source/release: the engine releases the driver. Closing a driver's library can take a while, so a thread does it while
 * the request is parked.
 */
#pragma once

#include <stdint.h>

#include "serve/api/errand.h"

struct data;

struct release {
    struct errand errand; /* takes at most as long as a release may; end it before the engine */
    struct data *data;
    int result;
    int64_t for_ms;
};

int release_init(struct release *r, struct loop *loop, struct data *data);

void post_release(struct exchange *x);
