/* SPDX-License-Identifier: Apache-2.0
 * Paths may be longer than the 260 signs that names of old functions of Windows had.
 */
#pragma once

#include_next <limits.h>

#undef PATH_MAX
#define PATH_MAX 4096
