/* SPDX-License-Identifier: Apache-2.0
 * The daemon's store: from settings to a running service, its words in the log, its part of /api/health.
 */
#pragma once

#include "base/env.h"
#include "base/json_writer.h"
#include "config/config.h"
#include "config/places.h"
#include "store/service.h"

/* Where it is kept, for as long as it is. */
struct history_place {
    char text[STORE_PLACE_SIZE]; /* an absolute path, or a server without its password; "": nowhere */
    int lock;                    /* one daemon a file; -1: none */
};

/* NULL with `err` empty: the settings want none. NULL with a sentence: it cannot be had, and the daemon goes on without; but
 * -EBUSY: another daemon writes into that file. */
struct store_service *history_start(const struct config *config, const struct env *env, struct history_place *place,
                                    struct error *err);
struct store_limits history_limits(const struct config *config);

/* The object of the contract: state, kind, queued_rows, message, and more. `v` may be NULL. */
void history_health(struct store_service *v, const struct history_place *place, struct json_writer *j);
