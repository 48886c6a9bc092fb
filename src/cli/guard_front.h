/* SPDX-License-Identifier: Apache-2.0
 * Guards in the foreground: `whirr guard run` and `whirr guard attach`.
 */
#pragma once

#include "cli/command.h"
#include "guard/guard.h"

struct engine;

int guard_front_run(struct cli *cli, const char *const *command, size_t count);
int guard_front_attach(struct cli *cli, const char *what);

/* What keepers and probes need of the engine. */
struct guard_eyes {
    struct engine *engine;
    bool lean;             /* nobody else looks at what this engine samples: only what the guard needs is read */
    int64_t slow_every_ms; /* how often errors are read, too; 0: 10000 */
    _Atomic int64_t slow_at_ms;
};
/* For guard_options.sample; `user` points to a struct guard_eyes. NULL when what there is is too old. */
const struct snapshot *guard_eyes_sample(void *user, int64_t max_age_ms);
struct engine *guard_open_engine(struct cli *cli, struct error *err);
/* A worker from a pid, a unit, a URL, or the name of a [guard.worker.NAME]; NULL and a sentence. From malloc. */
struct guard_spec *guard_spec_of(struct cli *cli, const struct config *config, const char *what, struct error *err);
/* The options of `whirr guard` that are settings of [worker]. */
struct config;
int guard_load_config(struct cli *cli, struct config **ret);
