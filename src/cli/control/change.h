/* SPDX-License-Identifier: Apache-2.0
 * What `quiet`, `limit`, `clocks`, `fan` and `tune` share: from what was typed to settings of GPUs, shown (--dry-run) or changed
 * with a way back.
 */
#pragma once

#include <signal.h>

#include "cli/show.h"
#include "lease/settings_plan.h"

/* Which values: `text` for one kind of setting of the GPU of --gpu (or of the only one); NULL: quiet, of all GPUs or that of --gpu.
 * EXIT_FINE, or what is wrong was said. */
int change_plan(struct cli *cli, enum control_kind kind, const char *text, struct change_list *ret);

/* Makes them, as --dry-run, --for, --until and --confirm say; with a command (NULL: none) as long as it runs. The exit status. */
int change_make(struct cli *cli, struct change_list *l, const char *const *command);

#define CHANGE_NEEDS_ROOT                                                                                         \
    "changing settings of GPUs needs root\n"                                                                      \
    "Run it with sudo, or let members of a group do it: [control] allow = true, and sudo systemctl enable --now " \
    "whirr-control.socket"

/* Ends a lease of settings: through the helper, else here. The exit status. */
int change_end(struct cli *cli, const char *id);

/* ---- hold.c: what this process itself keeps ---- */

/* As long as the command runs, until `until` or, without either, until Ctrl-C. */
int hold_here(struct cli *cli, struct lease *plan, const struct change_list *l, const char *const *command, int64_t confirm_ms);
/* The same through the helper's connection. */
int hold_there(struct cli *cli, int fd, const struct lease *l, const char *const *command);
/* Asks on the terminal whether to keep it. */
bool hold_confirmed(int64_t within_ms);
/* Blocks the signals that would end this process without putting back; they are asked for instead. */
void hold_signals(sigset_t *set, sigset_t *before);
/* Starts it with these signals, and with `out` for its output (-1: ours). 0, or an errno that was said. */
int hold_start(const char *const *command, const sigset_t *mask, int out, pid_t *ret);
/* Runs it to its end; calls `look` every two seconds (NULL: never). The exit status. */
int hold_command(const char *const *command, void (*look)(void *user), void *user);

#define OPTIONS_OF_CHANGES                                                                                          \
    {.name = "for", .argument = "DURATION", .help = "Put the old values back after this time"},                     \
        {.name = "until", .argument = "TIME", .help = "Put the old values back at this time, like 08:00"},          \
        {.name = "dry-run", .help = "Show old value, new value, range and the equivalent command; change nothing"}, \
    {                                                                                                               \
        .name = "confirm", .argument = "DURATION", .help = "Undo it after this time unless you press Enter"         \
    }
