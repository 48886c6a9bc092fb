/* SPDX-License-Identifier: Apache-2.0
 * The configuration as a command sees it: files, environment and command-line flags.
 */
#pragma once

#include "ask/cli.h"
#include "config/config.h"

/* Loads the common settings into cli->settings. A named file (--config, WHIRR_CONFIG) and the environment must be valid;
 * mistakes in a default file are reported and only lose the wrong settings. EXIT_FINE, or the exit status. */
int settings_open(struct cli *cli);
/* The same without printing: 0 or -errno, with the mistakes in `problems`. */
int settings_quietly(struct cli *cli, struct config_problems *problems);

/* Reads the configuration of --config, or the usual ones, and checks all of it. `flags` may be NULL. */
int settings_read(const struct cli *cli, const struct config_flag *flags, size_t flag_count, struct config **ret,
                  struct config_problems *problems);

/* For `config check`: problems that a daemon tolerates, like an unguarded worker, are errors, too. */
int settings_check(const struct cli *cli, struct config **ret, struct config_problems *problems);

/* The same for commands that need it to continue: prints problems to stderr, one per line. EXIT_FINE, or the exit status. */
int settings_load(const struct cli *cli, const struct config_flag *flags, size_t flag_count, struct config **ret);

/* The problems for `check`: with excerpts for people, as an object for programs. `config` may be NULL. */
void settings_problems_text(const struct config_problems *problems, struct buf *out);
void settings_problems_json(const struct config *config, const struct config_problems *problems, struct buf *out);
