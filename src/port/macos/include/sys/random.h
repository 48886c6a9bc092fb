/* SPDX-License-Identifier: Apache-2.0
 * Random bytes from the system.
 */
#pragma once

#include_next <sys/random.h>
#include <sys/types.h>

ssize_t getrandom(void *to, size_t len, unsigned flags);
