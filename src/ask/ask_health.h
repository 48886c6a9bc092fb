/* SPDX-License-Identifier: Apache-2.0
 * The health of the GPUs for a command: as a daemon remembers it, or from one sample.
 */
#pragma once

#include "ask/session.h"
#include "format/health.h"

/* Requires a session_sample(). The caller frees *ret with health_free(); the basis points into `texts`. */
int health_ask(const struct cli *cli, struct session *session, struct health **ret, struct health_basis *basis, struct buf *texts,
               struct error *err);
