/* SPDX-License-Identifier: Apache-2.0
 * The parts of `whirr guard`.
 */
#pragma once

#include "cli/command.h"
#include "daemon/guard_part.h"
#include "guard/guard.h"

/* ---- Guards in the foreground: `whirr guard run`, `attach` and `probe`. ---- */

struct engine;

int guard_front_run(struct cli *cli, const char *const *command);
int guard_front_attach(struct cli *cli, const char *what);
int guard_probe_command(struct cli *cli, const char *what);

struct engine *guard_open_engine(struct cli *cli, struct error *err);
/* Builds a worker from a PID, a unit, a URL or the name of a [guard.worker.NAME], with malloc; NULL and a message. */
struct guard_spec *guard_spec_of(struct cli *cli, const struct config *config, const char *what, struct error *err);
/* Applies the options of `whirr guard` that are settings of [worker]. */
struct config;
int guard_load_config(struct cli *cli, struct config **ret);

/* ---- The control socket of a guard in the foreground: `whirr guard status`, `hold`, ... reach it like the daemon. ---- */

struct guard_socket;

/* -EADDRINUSE: a guard with that name is already running. The guard must outlive the socket. */
int guard_socket_open(struct guard *g, const char *name, struct guard_socket **ret, struct error *err);
void guard_socket_close(struct guard_socket *s); /* NULL is fine */
