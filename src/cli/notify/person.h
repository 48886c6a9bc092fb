/* SPDX-License-Identifier: Apache-2.0
 * Questions to the person at the terminal. Without a terminal there is no person to ask: callers look with person_is_there() first.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

bool person_is_there(void);
/* What was typed, without blanks around it; nothing: the fallback. False: the terminal was closed. */
bool person_line(const char *question, const char *fallback, char *to, size_t size);
/* The same without showing it. */
bool person_secret(const char *question, char *to, size_t size);
bool person_agrees(const char *question, bool fallback);
