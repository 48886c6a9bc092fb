/* SPDX-License-Identifier: Apache-2.0
 * When people do not want to be told: quiet hours that recur, and digests at certain times, both by severity. Pure functions of the
 * time; the hours are those of the local time zone.
 *
 *   quiet  = ["22:00-07:00", "sat,sun 00:00-24:00 info", "mon-fri 12:00-13:00 all"]
 *   digest = ["08:00", "hourly info"]
 *
 * Without severities, info and warning are meant: what is critical comes through.
 */
#pragma once

#include "base/clock.h"
#include "base/error.h"
#include "config/config.h"
#include "model/severity.h"

enum { QUIET_RULES_MAX = 16 };

struct quiet_rule {
    unsigned days;        /* a bit each, Monday is 1 */
    int from_min, to_min; /* of the day; a digest has only the first. to_min below from_min: until the next day */
    unsigned severities;  /* a bit each, by enum severity */
    bool hourly;          /* of a digest */
};

struct quiet {
    struct quiet_rule list[QUIET_RULES_MAX];
    size_t count;
};

/* -EINVAL and a sentence about the first that is wrong. */
int quiet_parse(const struct config_list *texts, bool digest, struct quiet *ret, struct error *err);

/* Until when nothing of this severity is told; ms 0: it is told now. */
struct wall quiet_until(const struct quiet *q, enum severity severity, struct wall now);
/* The next digest after `since`; ms 0: this severity is not collected. */
struct wall digest_after(const struct quiet *d, enum severity severity, struct wall since);
