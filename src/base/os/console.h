/* SPDX-License-Identifier: Apache-2.0
 * The terminal that the output goes to.
 */
#pragma once

#include <stdbool.h>

/* How many columns and rows it has; false: it is none, or they are not known. */
bool console_size(int *columns, int *rows);
