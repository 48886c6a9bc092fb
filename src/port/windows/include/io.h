/* SPDX-License-Identifier: Apache-2.0
 * Hides tell(), which is too common a name.
 */
#pragma once

#define tell posix_not_this_tell
#include_next <io.h>
#undef tell
