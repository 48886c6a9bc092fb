/* SPDX-License-Identifier: Apache-2.0
 * --fleet URL of status, ps, why, fit, report and top: all hosts of a database instead of this one.
 */
#pragma once

#include "cli/command.h"
#include "fleet/fleet.h"

enum fleet_what { FLEET_STATUS, FLEET_PS, FLEET_WHY, FLEET_JOB, FLEET_FIT, FLEET_REPORT };

extern const char *const fleet_keys[]; /* of --by, in the order of enum fleet_by */

/* FLEET_BY_NONE: there is no such key. */
enum fleet_by fleet_by(const char *key);

/* Of --fleet, or of the settings where that is "fleet.url"; "": there is none. */
const char *fleet_url(const struct cli *cli);
/* EXIT_FINE, or the status after a sentence about what --fleet takes. */
int fleet_check_url(struct cli *cli);
/* The exit status. */
int fleet_run(struct cli *cli, enum fleet_what what);

#define FLEET_OPTION                                                                            \
    {                                                                                           \
        .name = "fleet", .argument = "URL",                                                     \
        .help = "Show all hosts of this Prometheus, VictoriaMetrics or PostgreSQL, worst first" \
    }
#define FLEET_OPTION_ALL                                                 \
    {                                                                    \
        .name = "all", .help = "With --fleet: every row, not one screen" \
    }
