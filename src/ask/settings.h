/* SPDX-License-Identifier: Apache-2.0
 * The configuration as a command sees it: files, environment, and the flags that it was given.
 */
#pragma once

#include "ask/cli.h"
#include "config/config.h"

/* What every command looks at, into cli->settings. A file that was named (--config, WHIRR_CONFIG) and the environment must be
 * right; a default one may have mistakes: they are reported, and cost only what is wrong. EXIT_FINE, or the exit status. */
int settings_open(struct cli *cli);
/* The same without a word: 0 or -errno, and what is wrong in `problems`. */
int settings_quietly(struct cli *cli, struct config_problems *problems);

/* Reads the configuration of --config, or the usual ones, and judges all of it. `flags` may be NULL. */
int settings_read(const struct cli *cli, const struct config_flag *flags, size_t flag_count, struct config **ret,
                  struct config_problems *problems);

/* For `config check`: what a daemon would go on without, as an unguarded worker, is an error, too. */
int settings_check(const struct cli *cli, struct config **ret, struct config_problems *problems);

/* The same for commands that need it to go on: problems are printed to stderr, one a line. EXIT_FINE, or the exit status. */
int settings_load(const struct cli *cli, const struct config_flag *flags, size_t flag_count, struct config **ret);

/* The problems for `check`: with excerpts for people, as an object for machines. `config` may be NULL. */
void settings_problems_text(const struct config_problems *problems, struct buf *out);
void settings_problems_json(const struct config *config, const struct config_problems *problems, struct buf *out);
