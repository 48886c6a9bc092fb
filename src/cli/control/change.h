/* SPDX-License-Identifier: Apache-2.0
 * Shared by `quiet`, `limit`, `clocks`, `fan` and `tune`: turns arguments into GPU settings, shows them (--dry-run) or applies
 * them, reversibly.
 */
#pragma once

#include <signal.h>

#include "cli/cli_show.h"
#include "lease/settings_plan.h"

/* Plans `text` for one kind of setting of the GPU of --gpu (or the only one); NULL: quiet, for all GPUs or that of --gpu.
 * EXIT_FINE, or prints what is wrong. */
int change_plan(struct cli *cli, enum control_kind kind, const char *text, struct change_list *ret);

#define CHANGE_NEEDS_ROOT                                                                                         \
    "changing settings of GPUs needs root\n"                                                                      \
    "Run it with sudo, or let members of a group do it: [control] allow = true, and sudo systemctl enable --now " \
    "whirr-control.socket"

/* Finds out whether settings are those of a simulated machine, and which (--source). */
int change_simulated(struct cli *cli, const struct snapshot *s, struct error *err);
const char *change_dir(const struct cli *cli); /* the journal: lease.dir, or that of simulated GPUs */

/* Ends a lease of settings, through the helper or in this process. Returns the exit status. */
int change_end(struct cli *cli, const char *id);

/* ---- hold.c: changes that this process keeps ---- */

/* Keeps them while the command runs, until `until` or, without either, until Ctrl-C. */
int hold_here(struct cli *cli, struct lease *plan, const struct change_list *l, const char *const *command, int64_t confirm_ms);
/* The same through the helper's connection. */
int hold_there(struct cli *cli, int fd, const struct lease *l, const char *const *command);
/* Prompts on the terminal whether to keep the change. */
bool hold_confirmed(int64_t within_ms);
/* Blocks signals that would end this process before it restores the settings; it waits for them instead. */
void hold_signals(sigset_t *set, sigset_t *before);
/* Starts the command with this signal mask and `out` as its output (-1: ours). 0, or an errno after printing a message. */
int hold_start(const char *const *command, const sigset_t *mask, int out, pid_t *ret);
