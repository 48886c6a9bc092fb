/* SPDX-License-Identifier: Apache-2.0
 * Leases of settings that this process keeps: sets them, looks after them every two seconds, puts back at their end. The same for
 * the helper and for a command that root runs in the foreground.
 */
#pragma once

#include "lease/lease_settings.h"

enum { HOLDER_LEASES_MAX = 32, HOLDER_LOOK_MS = 2000 };

struct kept {
    struct lease lease;
    bool upset;       /* it may have to be set again */
    int unread_looks; /* in a row, at a temperature */
};

struct settings_holder {
    const struct env *env;
    struct lease_dir dir;
    struct control_set set;
    size_t count;
    struct kept *kept[HOLDER_LEASES_MAX];
    int64_t slept_ms; /* of this boot, as of the last look */
    uint64_t drivers; /* changes when one is loaded anew */
};

/* Opens GPUs and journal, and ends what was left behind by processes that are gone. */
int holder_open(struct settings_holder *k, const struct env *env, const char *lease_dir, struct error *err);
/* Puts everything back. */
void holder_close(struct settings_holder *k);
#define AUTO_HOLDER __attribute__((cleanup(holder_close)))

/* Begins a lease that was planned; it becomes bound to this process unless `bound` is false. */
int holder_begin(struct settings_holder *k, struct lease *l, bool bound, struct error *err);
/* -ENOENT: this process keeps none of that name. `words`: SETTINGS_WORDS or NULL. */
int holder_end(struct settings_holder *k, const char *id, char *words, struct error *err);
/* Another end; ms 0: open. */
int holder_prolong(struct settings_holder *k, const char *id, struct wall until, struct error *err);
struct lease *holder_find(struct settings_holder *k, const char *id);

/* One look. `ended` is told of each that has ended, and why. */
void holder_look(struct settings_holder *k, void (*ended)(void *user, const struct lease *l, const char *why), void *user);

/* A process of its own that puts everything back (`PROGRAM lease-recover`) once this one is gone, however it ended. -errno: there
 * is none, and the next command has to. */
int holder_watch_over(const char *program, const char *lease_dir);
