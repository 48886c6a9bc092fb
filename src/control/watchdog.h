/* SPDX-License-Identifier: Apache-2.0
 * A process beside the one that maintains changed settings. It returns a fixed fan speed to the driver within three seconds of any
 * doubt: the GPU is hot, its temperature is unreadable, the keeper is gone, or it hangs on a lock or a disk. The watchdog acts
 * from memory, without locks or files, and retries until it succeeds. When the keeper is gone, it also restores what the journal
 * has.
 */
#pragma once

#include "base/env.h"
#include "base/error.h"
#include "model/gpu.h"

enum { WATCH_WHY_SIZE = 200 };

/* ---- the keeper's side: a connection, whose end tells the watchdog that the keeper is gone ---- */

/* Starts `program` with this NULL-terminated list of words, which must call watchdog_run(). Returns the connection, or -errno. */
int watchdog_start(const char *program, const char *const *words, const char *lease_dir);
/* Makes it watch this GPU's fan. Waits until it does; fails with the reason. */
int watchdog_watch(int connection, const char *gpu, struct error *err);
void watchdog_unwatch(int connection, const char *gpu);
/* Marks the start or end of something that a lock, disk or driver could block. False: the watchdog is gone. */
bool watchdog_busy(int connection, bool busy);
/* A fan that it restored: 1 with the GPU and the reason; 0: none; -EPIPE: the watchdog is gone. */
int watchdog_given(int connection, char gpu[GPU_UUID_SIZE], char why[WATCH_WHY_SIZE]);

/* ---- the watchdog's side ---- */

enum { WATCHDOG_FD = 3 };
/* Runs until the keeper is gone and everything is restored. */
int watchdog_run(const struct env *env, const char *lease_dir);
