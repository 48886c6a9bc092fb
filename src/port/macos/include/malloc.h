/* SPDX-License-Identifier: Apache-2.0
 * Returning free memory to the system; macOS decides itself how to keep it.
 */
#pragma once

#include <stddef.h>

int malloc_trim(size_t pad);
