/* SPDX-License-Identifier: Apache-2.0
 * The daemon's store: from settings to a running service, its words in the log, its part of /api/health.
 */
#pragma once

#include "base/env.h"
#include "base/json_writer.h"
#include "config/config.h"
#include "store/service.h"

/* NULL with `err` empty: the settings want none. NULL with a sentence: it cannot be had, and the daemon goes on without. */
struct store_service *history_start(const struct config *config, const struct env *env, struct error *err);
struct store_limits history_limits(const struct config *config);

/* The object of the contract: state, kind, queued_rows, message, and more. `v` may be NULL. */
void history_health(struct store_service *v, struct json_writer *j);
