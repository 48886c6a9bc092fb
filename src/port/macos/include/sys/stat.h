/* SPDX-License-Identifier: Apache-2.0
 * POSIX names for a file's timestamps.
 */
#pragma once

#include_next <sys/stat.h>

#define st_atim st_atimespec
#define st_mtim st_mtimespec
#define st_ctim st_ctimespec
