/* SPDX-License-Identifier: Apache-2.0
 * Device numbers: Windows has none.
 */
#pragma once

#define major(device) ((unsigned)((device) >> 8))
#define minor(device) ((unsigned)((device)&0xff))
