/* SPDX-License-Identifier: Apache-2.0
 * Numbers of device files, of which there are none.
 */
#pragma once

#define major(device) ((unsigned)((device) >> 8))
#define minor(device) ((unsigned)((device)&0xff))
