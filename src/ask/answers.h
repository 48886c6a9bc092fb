/* SPDX-License-Identifier: Apache-2.0
 * Where commands get their answers about guards, alerts and what is to come: a daemon, else here.
 */
#pragma once

#include <jansson.h>

#include "alert/rule.h"
#include "ask/cli.h"
#include "base/clock.h"
#include "config/config.h"
#include "insight/forecast/forecast.h"

/* ---- Asks every guard of this user: the daemon's, and those in the foreground. ---- */

/* The answers' workers in one array, which the caller drops. *asked: how many guards answered; *problem: what the last one that
 * refused said, or that it is there and did not answer in time ("" none). `body` may be NULL. */
json_t *guard_ask(struct cli *cli, const char *method, const char *path, const char *body, size_t *asked, char *problem,
                  size_t size);

/* ---- What a forecast can know without a daemon: the stored history, and the disk under it. ---- */

/* Shows the last hours of the stored history to the memory, as they would have been seen; `now` ties the wall clock of the rows to
 * the monotonic one. Returns how many seconds back it reached without a gap up to now; 0: no history, or none that is fresh. One
 * that was named by --store and cannot be read is a problem. */
double forecast_see_past(const struct cli *cli, const struct snapshot *now, struct forecast_memory *memory, struct error *problem);

/* ---- What the words of `whirr alert` share: the daemon's answer, or one made from a single sample. ---- */

/* Asks the running daemon. NULL and a sentence: there is none (-ENOENT in err), or it refused. */
json_t *alert_ask(struct cli *cli, const char *method, const char *path, const char *body, struct error *err);
/* True: this command must do without a daemon (--source, --sysroot, --direct). */
bool alert_is_direct(const struct cli *cli);
/* The configuration and its rules; EXIT_FINE, or what was wrong was printed. */
int alert_load(struct cli *cli, struct config **ret_config, struct alert_rules **ret);
/* Indented, to stdout. */
int alert_print_json(const json_t *json);
