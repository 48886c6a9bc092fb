/* SPDX-License-Identifier: Apache-2.0
 * Prompts for the person at the terminal. Callers check person_is_there() first.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

bool person_is_there(void);
/* The typed line, trimmed; an empty one gives the fallback. False: the terminal was closed. */
bool person_line(const char *question, const char *fallback, char *to, size_t size);
/* The same without echo. */
bool person_secret(const char *question, char *to, size_t size);
bool person_agrees(const char *question, bool fallback);
