/* SPDX-License-Identifier: Apache-2.0
 * This host's clock against a database's: the threshold at which the difference matters, and its wording.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CLOCK_OFF_MS = 30000 };

bool clock_is_off(int64_t ahead_ms);
/* "clock is 10m behind the receiver's"; returns `text`. */
const char *clock_off_words(int64_t ahead_ms, const char *whose, char *text, size_t size);
