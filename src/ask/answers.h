/* SPDX-License-Identifier: Apache-2.0
 * Where commands get answers about guards, alerts, forecasts, health and the present: from a daemon, or
 * computed here.
 */
#pragma once

#include <jansson.h>

#include "ask/cli.h"
#include "ask/session.h"
#include "base/clock.h"
#include "format/health_forms.h"
#include "insight/forecast/forecast.h"

struct alert_rules;
struct config;

/* ---- Queries every guard of this user: the daemon's and those in the foreground. ---- */

/* All workers in one array that the caller releases. *asked: how many guards answered; *problem: the last refusal or timeout
 * ("": none). `body` may be NULL. */
json_t *guard_ask(struct cli *cli, const char *method, const char *path, const char *body, size_t *asked, char *problem,
                  size_t size);

/* ---- Forecast data without a daemon: the stored history, and the disk under it. ---- */

/* Feeds the last hours of the stored history to the memory; `now` relates the rows' wall clock to the monotonic one. Returns how
 * many seconds the gapless history up to now covers; 0: none, or none that is recent. An unreadable --store is an error. */
double forecast_see_past(const struct cli *cli, const struct snapshot *now, struct forecast_memory *memory, struct error *problem);

/* ---- Shared by the subcommands of `whirr alert`: the daemon's answer, or one from a single sample. ---- */

/* Queries the running daemon. NULL and a message if none is running (-ENOENT in err), or it refused. */
json_t *alert_ask(struct cli *cli, const char *method, const char *path, const char *body, struct error *err);
/* Loads the configuration and its rules. EXIT_FINE, or an exit status after printing the errors. */
int alert_load(struct cli *cli, struct config **ret_config, struct alert_rules **ret);
/* Prints indented JSON to stdout. */
int alert_print_json(const json_t *json);

/* ---- The health of the GPUs: as a daemon remembers it, or from one sample. ---- */

/* Requires a session_sample(). The caller frees *ret with health_free(); the basis points into `texts`. */
int health_ask(const struct cli *cli, struct session *session, struct health **ret, struct health_basis *basis, struct buf *texts,
               struct error *err);

/* ---- Why, right now: the daemon's explanation, or one from a few samples of our own. ---- */

/* The caller owns *ret_now and *ret. Watches for a second if there is no daemon and the drivers keep no history. */
int explain_now(struct cli *cli, struct session *session, const struct snapshot **ret_now, struct why **ret, struct error *err);
/* Only the snapshot, whose processes were watched for a second; owned by the caller. NULL and a message on failure. */
const struct snapshot *sample_watched(struct session *session, struct error *err);
