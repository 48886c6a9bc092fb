/* SPDX-License-Identifier: Apache-2.0
 * Random bytes from the system.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#define GRND_NONBLOCK 1
ssize_t getrandom(void *to, size_t size, unsigned flags);
