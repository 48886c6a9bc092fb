/* SPDX-License-Identifier: Apache-2.0
 * Completions for the word being typed: the same for bash, zsh and fish, whose scripts only ask.
 */
#pragma once

#include "cli/command.h"

/* One completion per line, with a tab and a description, among those that match the last word. A line with a colon delegates to
 * the shell: ":files", ":directories", ":users". words: everything after the program's name; the last one is unfinished and may
 * be empty. */
void offer_words(struct cli *cli, const char *const *words, size_t count, struct buf *out);
