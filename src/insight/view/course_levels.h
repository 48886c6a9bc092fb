/* SPDX-License-Identifier: Apache-2.0
 * The thresholds of the course of a program; docs/watch.md gives them to users. Private to insight/view.
 */
#pragma once

/* Permille of the GPU's time */
enum { COMPUTING_LEAST = 100 };
/* What counts as loading or saving, a second */
enum { READS_LEAST = 20000000, WRITES_LEAST = 20000000, GROWS_LEAST = 64 << 20 };

/* Bursts shorter than this are one with what is around them; so is a phase that is shorter than PHASE_SHARE of the whole. */
#define SMOOTH_S 3.0
#define PHASE_LEAST_S 1.0
#define PHASE_SHARE 0.02
