/* SPDX-License-Identifier: Apache-2.0
 * Many hosts in a few characters, each with a GPU count: "gpu[001-128]=8", "dgx7=8", "render-*=4".
 */
#pragma once

#include "base/str.h"

enum { HOST_RANGE_NAMES_MAX = 100000 };

struct host_range {
    struct str before, after; /* around the digits; a pattern or single name is all in `before` */
    int64_t first, last;      /* 0 and 0 without digits */
    int width;                /* of the zero-padded digits; 0: none */
    bool pattern;             /* has * or ?: matches only hosts that exist */
    int64_t count;            /* after the = */
};

bool host_range_parse(struct str text, struct host_range *ret);
/* Number of names; 0: a pattern. */
int64_t host_range_names(const struct host_range *r);
void host_range_name(const struct host_range *r, int64_t i, char *name, size_t size);
bool host_range_has(const struct host_range *r, const char *name);
