/* SPDX-License-Identifier: Apache-2.0
 * The terminal that the output goes to, and a person at it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* How many columns and rows it has; false: it is none, or they are not known. */
bool console_size(int *columns, int *rows);
/* Whether signs beyond ASCII arrive as they are. */
bool console_is_utf8(void);
/* Whether the standard output is a terminal that takes sequences: colors, and a cursor that moves. */
bool console_takes_sequences(void);
/* To the standard output, as write() does. */
ssize_t console_out(const char *text, size_t len);
/* A line that is typed, with its end; false: there is none. The second is not shown while it is typed. */
bool console_line(char *line, size_t size);
bool console_secret(char *line, size_t size);
