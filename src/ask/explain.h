/* SPDX-License-Identifier: Apache-2.0
 * Why, right now: the daemon's explanation, else one of our own from a few samples.
 */
#pragma once

#include "ask/session.h"
#include "model/recent.h"

/* What was seen so far, kept between answers. Zeroed is a beginning. */
struct explain_memory {
    bool begun;
    struct recent past;
    const struct snapshot *last; /* whose processes may have ended */
};

void explain_forget(struct explain_memory *m);

/* *ret_now and *ret are the caller's. Without a daemon, and where the drivers keep no past, it watches for a second. */
int explain_now(struct cli *cli, struct session *session, struct explain_memory *m, const struct snapshot **ret_now,
                struct why **ret, struct error *err);
