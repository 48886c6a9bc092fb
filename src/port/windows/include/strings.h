/* SPDX-License-Identifier: Apache-2.0
 * Case-insensitive comparison.
 */
#pragma once

#include_next <strings.h>
