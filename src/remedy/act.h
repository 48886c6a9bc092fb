/* SPDX-License-Identifier: Apache-2.0
 * A remedy becomes a lease of settings, through the helper or, on simulated GPUs and for root, in this process: the only file of
 * remedies that knows how those are made.
 */
#pragma once

#include "lease/control_request.h"
#include "model/remedy.h"

struct act {
    const struct env *env; /* env->simulated: settings are those of a simulated machine */
    const char *lease_dir; /* lease.dir of the configuration */
};

/* Plans what the remedy sets on this GPU; into `l`, which is empty. */
int act_plan(const struct act *a, const struct gpu *gpu, enum remedy_code code, struct change_list *l, struct error *err);
/* Whether it needs the helper, and there is none. */
bool act_is_denied(const struct act *a, const struct change_list *l);
/* "GPU 0: power limit 450 W -> 330 W" */
void act_words(const struct change_list *l, char *out, size_t size);
/* Makes it until that moment; `until` becomes 0 where nothing here could end it then. `who`: for the list of leases. */
int act_begin(const struct act *a, const struct change_list *l, const char *who, struct wall *until, struct lease *ret,
              struct error *err);
/* Puts the old values back. `words`: SETTINGS_WORDS, what came of it. -ENOENT: it is over. */
int act_end(const struct act *a, const char *id, char *words, struct error *err);
