/* SPDX-License-Identifier: Apache-2.0
 * The state of the service itself, for /api/health.
 */
#pragma once

#include "base/buf.h"
#include "serve/http/core.h"

enum health_status { HEALTH_OK, HEALTH_DEGRADED, HEALTH_ERROR };

/* Pure: from the newest sample, how old it may be at most (ms) and how old it is. */
enum health_status health_of(const struct snapshot *s, bool has_sample, int64_t age_ms, int64_t interval_ms, int64_t uptime_ms);
void service_health_write(struct server *server, struct buf *out, enum health_status *ret);
