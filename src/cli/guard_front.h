/* SPDX-License-Identifier: Apache-2.0
 * Guards in the foreground: `whirr guard run` and `whirr guard attach`.
 */
#pragma once

#include "cli/command.h"
#include "daemon/guard_eyes.h"
#include "guard/guard.h"

struct engine;

int guard_front_run(struct cli *cli, const char *const *command, size_t count);
int guard_front_attach(struct cli *cli, const char *what);

struct engine *guard_open_engine(struct cli *cli, struct error *err);
/* A worker from a pid, a unit, a URL, or the name of a [guard.worker.NAME]; NULL and a sentence. From malloc. */
struct guard_spec *guard_spec_of(struct cli *cli, const struct config *config, const char *what, struct error *err);
/* The options of `whirr guard` that are settings of [worker]. */
struct config;
int guard_load_config(struct cli *cli, struct config **ret);
