/* SPDX-License-Identifier: Apache-2.0
 * The thresholds of the course of a program; docs/watch.md gives them to users. Private to insight/watch.
 */
#pragma once

/* Permille of the GPU's time */
enum { GPU_BUSY = 800, COMPUTING_LEAST = 100, SHARES_GPU = 100, OTHERS_LEAST = 200 };
/* Of bandwidth: counters of the memory itself read about 900 at most; the driver's share of time is rougher. */
enum { BANDWIDTH_FULL = 600, BANDWIDTH_FULL_ROUGH = 750, PCIE_FULL = 600, AT_POWER_LIMIT = 970 };
/* CPU in permille of a core */
enum { CORE_FULL = 900, CORE_HALF = 500 };
enum { DISK_FULL = 700, IO_PRESSED = 300, DISK_MOVES = 5000000 };
/* What counts as loading or saving, a second */
enum { READS_LEAST = 20000000, WRITES_LEAST = 20000000, GROWS_LEAST = 64 << 20 };

/* Bursts shorter than this are one with what is around them; so is a phase that is shorter than PHASE_SHARE of the whole. */
#define SMOOTH_S 3.0
#define PHASE_LEAST_S 1.0
#define PHASE_SHARE 0.02
