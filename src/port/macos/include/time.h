/* SPDX-License-Identifier: Apache-2.0
 * The clock that goes on while the Mac sleeps: its monotonic one does.
 */
#pragma once

#include_next <time.h>

#define CLOCK_BOOTTIME CLOCK_MONOTONIC
