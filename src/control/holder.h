/* SPDX-License-Identifier: Apache-2.0
 * Leases of settings that this process keeps: sets them, looks after them every two seconds, puts back at their end. The same for
 * the helper and for a command that root runs in the foreground.
 */
#pragma once

#include "control/watchdog.h"
#include "lease/lease_settings.h"

enum { HOLDER_LEASES_MAX = 32, HOLDER_LOOK_MS = 2000 };

struct kept {
    struct lease lease;
    bool upset;                 /* it may have to be set again */
    char given[WATCH_WHY_SIZE]; /* why the watchdog gave its fan back; "": it did not */
};

struct settings_holder {
    const struct env *env;
    struct lease_dir dir;
    struct control_set set;
    size_t count;
    struct kept *kept[HOLDER_LEASES_MAX];
    int64_t slept_ms; /* of this boot, as of the last look */
    uint64_t drivers; /* changes when one is loaded anew */
    int watchdog;     /* its connection; -1: none, and no fan can be set */
};
#define HOLDER_CLOSED ((struct settings_holder){.dir = LEASE_DIR_CLOSED, .watchdog = -1})

/* Opens GPUs and journal, and ends what was left behind by processes that are gone. The watchdog (-1: none) becomes its own. */
int holder_open(struct settings_holder *k, const struct env *env, const char *lease_dir, int watchdog, struct error *err);
/* Puts everything back. */
void holder_close(struct settings_holder *k);
#define AUTO_HOLDER __attribute__((cleanup(holder_close)))

/* The journal's lock, for long enough that a watchdog takes it for a keeper that hangs. */
int holder_lock(struct settings_holder *k, struct error *err);
void holder_unlock(struct settings_holder *k);

/* Begins a lease that was planned; it becomes bound to this process unless `bound` is false. */
int holder_begin(struct settings_holder *k, struct lease *l, bool bound, struct error *err);
/* -ENOENT: this process keeps none of that name. `words`: SETTINGS_WORDS or NULL. */
int holder_end(struct settings_holder *k, const char *id, char *words, struct error *err);
/* Another end; ms 0: open. */
int holder_prolong(struct settings_holder *k, const char *id, struct wall until, struct error *err);
struct lease *holder_find(struct settings_holder *k, const char *id);

/* One look. `ended` is told of each that has ended, and why. */
void holder_look(struct settings_holder *k, void (*ended)(void *user, const struct lease *l, const char *why), void *user);

/* The watchdog of a command: a process that puts everything back (`whirr lease-recover`) once this one is gone, however it ended.
 * -errno: there is none. */
int holder_watchdog(const struct env *env, const char *lease_dir);
