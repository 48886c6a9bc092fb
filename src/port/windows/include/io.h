/* SPDX-License-Identifier: Apache-2.0
 * Without tell(), which is a plain word.
 */
#pragma once

#define tell posix_not_this_tell
#include_next <io.h>
#undef tell
