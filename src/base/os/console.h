/* SPDX-License-Identifier: Apache-2.0
 * The terminal at the standard output, and the person in front of it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Terminal size; false if not a terminal or unknown. */
bool console_size(int *columns, int *rows);
/* Whether characters beyond ASCII display correctly. */
bool console_is_utf8(void);
/* Whether stdout is a terminal that understands escape sequences: colors, cursor movement. */
bool console_takes_sequences(void);
/* Like write() to stdout. */
ssize_t console_out(const char *text, size_t len);
/* Read a typed line, including its newline; false at end of input. The second doesn't echo, and prompts on stderr once it
 * doesn't. */
bool console_line(char *line, size_t size);
bool console_secret(const char *prompt, char *line, size_t size);
