/* SPDX-License-Identifier: Apache-2.0
 * Paths may exceed the 260 characters of old Windows functions.
 */
#pragma once

#include_next <limits.h>

#undef PATH_MAX
#define PATH_MAX 4096
