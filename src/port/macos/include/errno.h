/* SPDX-License-Identifier: Apache-2.0
 * Linux error codes that macOS lacks, as numbers that it doesn't use.
 */
#pragma once

#include_next <errno.h>

#define EUCLEAN 10117
#define ENOMEDIUM 10123
#define EREMOTEIO 10121
