/* SPDX-License-Identifier: Apache-2.0
 * Queries about the past: commands try the daemon first; otherwise, or with --direct or --store, they read the history here,
 * without changing it.
 */
#pragma once

#include <jansson.h>

#include "ask/cli.h"
#include "ask/history_source.h"
#include "past/past_json.h"

/* Queries; release *ret with json_decref(). EXIT_FINE, or an exit status after printing a message. */
int past_fetch(struct cli *cli, struct past_question *q, json_t **ret);
/* Queries and prints text or JSON; returns the exit status. `by` selects one breakdown of a report; NULL: all. */
int past_show(struct cli *cli, struct past_question *q, const char *by);
