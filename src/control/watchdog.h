/* SPDX-License-Identifier: Apache-2.0
 * A process beside the one that keeps changed settings. A fixed fan speed is given back to the driver within three seconds of any
 * doubt: the GPU is hot, its temperature cannot be read, the keeper is gone, or it hangs at a lock or a disk. The watchdog knows
 * what to do from memory: it takes no lock and reads no file for it, and tries again until it is done. When the keeper is gone, it
 * also puts back what the journal has.
 */
#pragma once

#include "base/env.h"
#include "base/error.h"
#include "model/gpu.h"

enum { WATCH_WHY_SIZE = 200 };

/* ---- of the keeper: a connection, which the watchdog takes for its life ---- */

/* Starts `program` with these words, a list that ends with NULL; it calls watchdog_run(). The connection, or -errno. */
int watchdog_start(const char *program, const char *const *words, const char *lease_dir);
/* From now on it looks after the fan of that GPU. Waits until it can; else why not. */
int watchdog_watch(int connection, const char *gpu, struct error *err);
void watchdog_unwatch(int connection, const char *gpu);
/* Something has begun that a lock, a disk or a driver could keep from ending, or has ended. false: the watchdog is gone. */
bool watchdog_busy(int connection, bool busy);
/* A fan that it gave back: 1, the GPU and why; 0: none; -EPIPE: the watchdog is gone. */
int watchdog_given(int connection, char gpu[GPU_UUID_SIZE], char why[WATCH_WHY_SIZE]);

/* ---- of the watchdog ---- */

enum { WATCHDOG_FD = 3 };
/* Until the keeper is gone and everything is back. */
int watchdog_run(const struct env *env, const char *lease_dir);
