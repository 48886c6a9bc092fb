/* SPDX-License-Identifier: Apache-2.0
 * GPU settings changed for a time; a crash is safe at every step:
 *
 *   written    the old and the requested value are in the journal; the GPU has one of them, or half of a change
 *   active     set and read back; the GPU's value is ours, or another program's
 *   restoring  it was ours, and is being restored
 *
 * The process that finds a lease past its end restores what is ours: at "written" and "restoring" everything, at "active" only what
 * is as we left it. A value set by another program since then stays. Call with the directory's lock held unless stated otherwise.
 */
#pragma once

#include "lease/lease_dir.h"
#include "source/source_control.h"

/* Adds a setting to a lease being planned, with its current value; -ERANGE, -EOPNOTSUPP, -EACCES as in control_look(). `gpu` may be
 * NULL: it is gone, -ENODEV. Changes nothing. */
int lease_set_plan(struct lease *l, const struct control_gpu *gpu, int gpu_index, enum control_kind kind, struct control_value v,
                   struct error *err);

/* Records, sets, reads back. On failure everything is as before, and the lease doesn't exist. -EBUSY: another lease has one of
 * the settings. */
int lease_set_begin(struct lease_dir *d, const struct control_set *c, struct lease *l, struct error *err);

/* Restores what is ours and removes the lease. -ENODEV and others: a GPU is unreachable, and the lease stays for the next try.
 * `ret_words` (may be NULL): the outcome as a sentence. */
enum { SETTINGS_WORDS = 256 };
int lease_set_end(struct lease_dir *d, const struct control_set *c, struct lease *l, char *ret_words, struct error *err);

/* Restores only the values that are ours: from memory, without lock and journal, for a keeper that can't get those. */
int lease_set_put_back(const struct control_set *c, const struct lease *l, struct error *err);
/* A fixed fan speed is the only setting that can do harm. Restores fans of leases that are over; with `all`, of every one. Reads
 * the journal without the lock. Leaves the leases to the lock's holder. */
int lease_set_release_fans(const struct lease_dir *d, const struct control_set *c, bool all, struct error *err);
bool lease_set_has_fan(const struct lease *l);

/* While active: is everything as we set it? `upset`: since the last look the host slept, a driver was reloaded or a GPU was
 * unreachable; then sets it again. */
enum lease_set_state { SETTINGS_FINE, SETTINGS_UNREACHABLE, SETTINGS_TAKEN /* another program changed it: the lease ends */ };
enum lease_set_state lease_set_look(const struct control_set *c, const struct lease *l, bool upset);

/* Ends all leases that are over; with `all`, every one. Returns how many remain, or -errno. */
int lease_set_recover(struct lease_dir *d, const struct control_set *c, bool all, struct error *err);
/* Ends leases of this setting on that GPU, and sets the stock value: nothing is restored afterwards. */
int lease_set_stock(struct lease_dir *d, const struct control_set *c, const struct control_gpu *gpu, enum control_kind kind,
                    struct error *err);

/* Decodes a lease's setting; false: unknown. */
bool lease_set_values(const struct lease_setting *s, enum control_kind *kind, struct control_value *asked,
                      struct control_value *before);
/* "power limit 330 W (was 450 W), fan target 73": what a lease changed. */
const char *lease_set_words(const struct lease *l, char out[SETTINGS_WORDS]);
/* Appends what it changed on one GPU: "power limit 330 W". */
void lease_set_add_words(const struct lease *l, const char *gpu, char *out, size_t size);
