/* SPDX-License-Identifier: Apache-2.0
 * A clock that keeps counting during sleep: macOS's CLOCK_MONOTONIC does.
 */
#pragma once

#include_next <time.h>

#define CLOCK_BOOTTIME CLOCK_MONOTONIC
