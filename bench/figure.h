/* SPDX-License-Identifier: Apache-2.0
 * A figure that is promised: one line that tools/bench reads and puts into the table at its end. figures.py is the same for Python.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

/* Whether the value is within its goal. peer: what it is compared with, in words. */
static inline bool figure(const char *what, double value, const char *unit, bool at_least, double goal, const char *peer)
{
    printf("figure\t%s\t%.6g\t%s\t%s\t%g\t%s\n", what, value, unit, at_least ? "at least" : "at most", goal, peer);
    fflush(stdout);
    return at_least ? value >= goal : value <= goal;
}
