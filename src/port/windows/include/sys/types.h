/* SPDX-License-Identifier: Apache-2.0
 * POSIX integer types.
 */
#pragma once

#include_next <sys/types.h>

typedef unsigned uid_t;
typedef unsigned gid_t;
