/* SPDX-License-Identifier: Apache-2.0
 * What a shell may offer for the word that is being typed: the same for bash, zsh and fish, which only ask.
 */
#pragma once

#include "cli/command.h"

/* One offer a line, with a tab and what it means behind it, of those that begin like the last word. A line that begins with a colon
 * names what the shell knows better: ":files", ":directories", ":users". words: what was typed behind the name of the program; the
 * last one is unfinished and may be empty. */
void offer_words(struct cli *cli, const char *const *words, size_t count, struct buf *out);
