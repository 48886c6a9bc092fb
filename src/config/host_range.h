/* SPDX-License-Identifier: Apache-2.0
 * Many hosts in a few characters, each with a number: "gpu[001-128]=8", "dgx7=8", "render-*=4".
 */
#pragma once

#include "base/str.h"

enum { HOST_RANGE_NAMES_MAX = 100000 };

struct host_range {
    struct str before, after; /* of the digits; a pattern or a single name is all in `before` */
    int64_t first, last;      /* 0 and 0 without digits */
    int width;                /* of the digits, filled up with zeros; 0: there are none */
    bool pattern;             /* with * or ?: it names no host that isn't there */
    int64_t count;            /* behind the = */
};

bool host_range_parse(struct str text, struct host_range *ret);
/* How many names it has; 0: a pattern. */
int64_t host_range_names(const struct host_range *r);
void host_range_name(const struct host_range *r, int64_t i, char *name, size_t size);
bool host_range_has(const struct host_range *r, const char *name);
