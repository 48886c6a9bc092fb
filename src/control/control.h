/* SPDX-License-Identifier: Apache-2.0
 * Changed settings of GPUs while they last: the watchdog beside the process that maintains them, the holder in that process, and
 * the helper that maintains them for others.
 */
#pragma once

#include "base/env.h"
#include "base/error.h"
#include "lease/lease_settings.h"
#include "model/gpu.h"

struct config;

/* ---- The watchdog ----
 * A process beside the one that maintains changed settings. It returns a fixed fan speed to the driver within three seconds of any
 * doubt: the GPU is hot, its temperature is unreadable, the keeper is gone, or it hangs on a lock or a disk. The watchdog acts
 * from memory, without locks or files, and retries until it succeeds. When the keeper is gone, it also restores what the journal
 * has. */

enum { WATCH_WHY_SIZE = 200 };

/* The keeper's side is a connection, whose end tells the watchdog that the keeper is gone. */

/* Starts `program` with this NULL-terminated list of words, which must call watchdog_run(). Returns the connection, or -errno. */
int watchdog_start(const char *program, const char *const *words, const char *lease_dir);
/* Makes it watch this GPU's fan. Waits until it does; fails with the reason. */
int watchdog_watch(int connection, const char *gpu, struct error *err);
void watchdog_unwatch(int connection, const char *gpu);
/* Marks the start or end of something that a lock, disk or driver could block. False: the watchdog is gone. */
bool watchdog_busy(int connection, bool busy);
/* A fan that it restored: 1 with the GPU and the reason; 0: none; -EPIPE: the watchdog is gone. */
int watchdog_given(int connection, char gpu[GPU_UUID_SIZE], char why[WATCH_WHY_SIZE]);

/* The watchdog's side. */
enum { WATCHDOG_FD = 3 };
/* Runs until the keeper is gone and everything is restored. */
int watchdog_run(const struct env *env, const char *lease_dir);

/* ---- The holder ----
 * The leases of settings that this process maintains: sets them, checks them every two seconds, restores them at their end. Used
 * by the helper and by foreground commands of root. */

enum { HOLDER_LEASES_MAX = 32, HOLDER_LOOK_MS = 2000 };

struct kept {
    struct lease lease;
    struct mono due;            /* its end by the clock since boot, which no one sets; ns 0: open-ended */
    bool upset;                 /* it may have to be set again */
    char given[WATCH_WHY_SIZE]; /* why the watchdog restored its fan; "": it didn't */
};

struct settings_holder {
    const struct env *env;
    struct lease_dir dir;
    struct control_set set;
    size_t count;
    struct kept *kept[HOLDER_LEASES_MAX];
    int64_t slept_ms; /* in this boot, at the last look */
    uint64_t drivers; /* changes when a driver is reloaded */
    int watchdog;     /* its connection; -1: none, so no fan can be set */
};
#define HOLDER_CLOSED ((struct settings_holder){.dir = LEASE_DIR_CLOSED, .watchdog = -1})

/* Opens GPUs and journal, and ends leases of dead processes. Takes over the watchdog connection (-1: none). */
int holder_open(struct settings_holder *k, const struct env *env, const char *lease_dir, int watchdog, struct error *err);
/* Restores everything. */
void holder_close(struct settings_holder *k);

/* Takes the journal's lock, waiting so long that a watchdog assumes a hung keeper. */
int holder_lock(struct settings_holder *k, struct error *err);
void holder_unlock(struct settings_holder *k);

/* Starts a planned lease, bound to this process unless `bound` is false. */
int holder_begin(struct settings_holder *k, struct lease *l, bool bound, struct error *err);
/* -ENOENT: this process has no such lease. `words`: SETTINGS_WORDS or NULL. */
int holder_end(struct settings_holder *k, const char *id, char *words, struct error *err);
/* Sets a new end; ms 0: open-ended. */
int holder_prolong(struct settings_holder *k, const char *id, struct wall until, struct error *err);
struct lease *holder_find(struct settings_holder *k, const char *id);

/* One look. Calls `ended` for each lease that ended, with the reason. */
void holder_look(struct settings_holder *k, void (*ended)(void *user, const struct lease *l, const char *why), void *user);

/* A command's watchdog: a process that restores everything (`whirr lease-recover`) once this one is gone, however it ended.
 * -errno: none. */
int holder_watchdog(const struct env *env, const char *lease_dir);

/* Begins the quiet hours when it is time, once per period: a lease ended by hand stays ended until the next. */
void quiet_hours_look(struct settings_holder *k, const struct config *config);

/* ---- The helper ----
 * whirr-control, which maintains settings for others. */

/* Serves until stopped or, unless it `stays`, until idle for half a minute. Restores everything before returning. */
int helper_run(const struct env *env, const struct config *config, int listener, bool stays, struct error *err);

/* Its watchdog, in a separate process with the same confinement. */
int helper_watch(const struct env *env, const struct config *config, struct error *err);
