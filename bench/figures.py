# SPDX-License-Identifier: Apache-2.0
"""A figure that is promised: one line that tools/bench reads and puts into the table at its end. bench/figure.h is the same for C."""


def figure(what, value, unit, goal, peer="", at_least=False):
    """Whether the value is within its goal. `peer` is what it is compared with, in words."""
    print("figure", what, f"{value:.6g}", unit, "at least" if at_least else "at most", f"{goal:g}", peer, sep="\t", flush=True)
    return value >= goal if at_least else value <= goal
