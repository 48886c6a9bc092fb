/* SPDX-License-Identifier: Apache-2.0
 * When people do not want messages: recurring quiet hours, and digests at fixed times, both by severity. Pure functions of the
 * time, in the local time zone.
 *
 *   quiet  = ["22:00-07:00", "sat,sun 00:00-24:00 info", "mon-fri 12:00-13:00 all"]
 *   digest = ["08:00", "hourly info"]
 *
 * A rule without severities applies to info and warning: critical alerts get through.
 */
#pragma once

#include "base/clock.h"
#include "base/error.h"
#include "config/config.h"
#include "model/severity.h"

enum { QUIET_RULES_MAX = 16 };

struct quiet_rule {
    unsigned days;        /* one bit per day, Monday is 1 */
    int from_min, to_min; /* time of day; a digest uses only the first. to_min below from_min: ends the next day */
    unsigned severities;  /* one bit per enum severity */
    bool hourly;          /* of a digest */
};

struct quiet {
    struct quiet_rule list[QUIET_RULES_MAX];
    size_t count;
};

/* -EINVAL and a message about the first mistake. */
int quiet_parse(const struct config_list *texts, bool digest, struct quiet *ret, struct error *err);

/* Until when alerts of this severity are held; ms 0: send now. */
struct wall quiet_until(const struct quiet *q, enum severity severity, struct wall now);
/* The first digest after `since`; ms 0: this severity isn't collected. */
struct wall digest_after(const struct quiet *d, enum severity severity, struct wall since);
