/* SPDX-License-Identifier: Apache-2.0
 * The state of the service itself, for /api/health.
 */
#pragma once

#include "base/buf.h"
#include "serve/api/core.h"

enum service_status { SERVICE_OK, SERVICE_DEGRADED, SERVICE_ERROR };

/* Pure: depends on the newest sample, its age and its maximum age (ms). */
void service_health_write(struct server *server, struct buf *out, enum service_status *ret);
