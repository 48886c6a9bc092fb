/* SPDX-License-Identifier: Apache-2.0
 * --fleet URL of status, ps, why, fit, report and top: all hosts of a database instead of this one.
 */
#pragma once

#include "cli/command.h"
#include "fleet/fleet.h"

enum fleet_what { FLEET_STATUS, FLEET_PS, FLEET_WHY, FLEET_JOB, FLEET_FIT, FLEET_REPORT };

extern const char *const fleet_keys[]; /* keys of --by, in the order of enum fleet_by */

/* FLEET_BY_NONE: no such key. */
enum fleet_by fleet_by(const char *key);

/* The URL of --fleet, or of the settings if that is "fleet.url"; "": none. */
const char *fleet_url(const struct cli *cli);
/* Its database, with a minute to answer. */
struct fleet_place fleet_place(const struct cli *cli);
/* EXIT_FINE, or the exit status after explaining what --fleet accepts. */
int fleet_check_url(struct cli *cli);
/* Returns the exit status. */
int fleet_run(struct cli *cli, enum fleet_what what);
/* Where on all hosts these bytes fit. notes: what was assumed of them, "" nothing. */
int fleet_fit(struct cli *cli, int64_t bytes, const char *notes);

#define FLEET_OPTION \
    .name = "fleet", .argument = "URL", .help = "Show all hosts of this Prometheus, VictoriaMetrics or PostgreSQL, worst first"
#define FLEET_OPTION_ALL .name = "all", .help = "With --fleet: every row, not one screen"
