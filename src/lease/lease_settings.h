/* SPDX-License-Identifier: Apache-2.0
 * Settings of GPUs that are changed for a time, each step safe to be killed at:
 *
 *   written    before and asked are in the journal; the GPU has one of them, or half of a change
 *   active     it was set and read back; what the GPU has now is ours, or another program's
 *   restoring  it was ours, and is being put back
 *
 * The process that finds a lease whose end has come puts back what is ours: at "written" and "restoring" everything, at "active"
 * only what is as we left it. A value that another program has set since stays. Called with the lock of the directory held,
 * where nothing else is said.
 */
#pragma once

#include "lease/lease_dir.h"
#include "source/control.h"

/* One more setting of a lease that is being made, with what there is now; -ERANGE, -EOPNOTSUPP, -EACCES as control_look() says.
 * Changes nothing. */
int lease_set_plan(struct lease *l, const struct control_gpu *gpu, int gpu_index, enum control_kind kind, struct control_value v,
                   struct error *err);

/* Writes it down, sets, reads back. On failure everything is as before, and the lease does not exist. -EBUSY: another lease has one
 * of them. */
int lease_set_begin(struct lease_dir *d, const struct control_set *c, struct lease *l, struct error *err);

/* Puts back what is ours and takes the lease away. -ENODEV and others: a GPU cannot be reached, and the lease stays for the next
 * try. `ret_words` (may be NULL): what became of it, a sentence for people. */
enum { SETTINGS_WORDS = 256 };
int lease_set_end(struct lease_dir *d, const struct control_set *c, struct lease *l, char *ret_words, struct error *err);

/* The values alone, as far as they are ours: from memory, without lock and journal, for who keeps the lease and cannot have those.
 */
int lease_set_put_back(const struct control_set *c, const struct lease *l, struct error *err);
/* A fan at a fixed speed is the one setting that can do harm. Puts back those of leases whose end has come; with `all` of every
 * one. Reads the journal and takes no lock. The leases stay for who has it. */
int lease_set_release_fans(const struct lease_dir *d, const struct control_set *c, bool all, struct error *err);
bool lease_set_has_fan(const struct lease *l);

/* While it lasts: is everything as we set it? `upset`: since the last look the host slept, a driver was loaded anew or a GPU could
 * not be reached; then it is set again. */
enum lease_set_state { SETTINGS_FINE, SETTINGS_UNREACHABLE, SETTINGS_TAKEN /* another program has changed it: it ends */ };
enum lease_set_state lease_set_look(const struct control_set *c, const struct lease *l, bool upset);

/* Whether its end has come: its time is over, its process gone, the host has booted since. NULL: no; else why. */
const char *lease_set_over(const struct lease *l, struct wall now);
/* Ends all whose end has come; with `all` every one. How many are left, or -errno. */
int lease_set_recover(struct lease_dir *d, const struct control_set *c, bool all, struct error *err);
/* Ends those that change this of that GPU, and sets what is stock: nothing is to be put back afterwards. */
int lease_set_stock(struct lease_dir *d, const struct control_set *c, const struct control_gpu *gpu, enum control_kind kind,
                    struct error *err);

/* Of a setting of a lease; false: it is none that we know. */
bool lease_set_values(const struct lease_setting *s, enum control_kind *kind, struct control_value *asked,
                      struct control_value *before);
/* "power limit 330 W (was 450 W), fan target 73": what a lease has changed. */
const char *lease_set_words(const struct lease *l, char out[SETTINGS_WORDS]);
/* Adds what it has changed of one GPU: "power limit 330 W". */
void lease_set_add_words(const struct lease *l, const char *gpu, char *out, size_t size);
