/* SPDX-License-Identifier: Apache-2.0
 * Time and size constants. 64 bits wide: a product such as 90 * DAY_MS doesn't fit an int.
 */
#pragma once

#include <stdint.h>

#define MINUTE_MS INT64_C(60000)
#define HOUR_MS (60 * MINUTE_MS)
#define DAY_MS (24 * HOUR_MS)

#define MIB_BYTES (INT64_C(1) << 20)
#define GIB_BYTES (INT64_C(1) << 30)
/* Factors from bytes, for tables of scales */
#define PER_MIB (1.0 / MIB_BYTES)
#define PER_GIB (1.0 / GIB_BYTES)
