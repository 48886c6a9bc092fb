/* SPDX-License-Identifier: Apache-2.0
 * Why, right now: the daemon's explanation, else one of our own from a few samples.
 */
#pragma once

#include "ask/session.h"

/* *ret_now and *ret are the caller's. Without a daemon, and where the drivers keep no past, it watches for a second. */
/* The same without words: a snapshot whose processes were watched for a second; NULL with a sentence. The caller's. */
const struct snapshot *sample_watched(struct session *session, struct error *err);
int explain_now(struct cli *cli, struct session *session, const struct snapshot **ret_now, struct why **ret, struct error *err);
