/* SPDX-License-Identifier: Apache-2.0
 * Detectors: pure functions from the facts of one GPU to findings, one file for each area. All thresholds of an area are in its
 * file or in insight/facts/levels.h.
 */
#pragma once

#include "insight/facts/facts.h"
#include "insight/finding/collect.h"

void detect_clocks(const struct facts *f, struct collection *c); /* far too low under load */
void detect_fan(const struct facts *f, struct collection *c);    /* set by hand, and too slow for the heat */
void detect_link(const struct facts *f, struct collection *c);   /* fewer lanes than it could have */
void detect_memory(const struct facts *f, struct collection *c); /* without an owner, or moved to the host */
void detect_trust(const struct facts *f, struct collection *c);  /* utilization that other readings contradict */
