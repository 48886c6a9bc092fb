/* SPDX-License-Identifier: Apache-2.0
 * Why, right now: the daemon's explanation, or one from a few samples of our own.
 */
#pragma once

#include "ask/session.h"

/* The caller owns *ret_now and *ret. Watches for a second if there is no daemon and the drivers keep no history. */
/* Only the snapshot, whose processes were watched for a second; owned by the caller. NULL and a message on failure. */
const struct snapshot *sample_watched(struct session *session, struct error *err);
int explain_now(struct cli *cli, struct session *session, const struct snapshot **ret_now, struct why **ret, struct error *err);
