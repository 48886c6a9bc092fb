/* SPDX-License-Identifier: Apache-2.0
 * Workers under guard, as the API and `whirr guard status --json` show them.
 */
#pragma once

#include "base/json_writer.h"
#include "guard/guard.h"

/* {"workers": [...]} */
void json_guard(struct json_writer *j, const struct guard_status *list, size_t count);
/* The data of the WebSocket event `guard`. */
void json_guard_event(struct json_writer *j, const struct guard_event *event);
/* The object in /api/health. */
void json_guard_health(struct json_writer *j, const struct guard_status *list, size_t count);
