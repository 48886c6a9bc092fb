/* SPDX-License-Identifier: Apache-2.0
 * Comparing without regard to case.
 */
#pragma once

#include_next <strings.h>
