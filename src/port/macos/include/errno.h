/* SPDX-License-Identifier: Apache-2.0
 * Errors of Linux that macOS lacks, as numbers that it does not use.
 */
#pragma once

#include_next <errno.h>

#define EUCLEAN 10117
#define ENOMEDIUM 10123
#define EREMOTEIO 10121
