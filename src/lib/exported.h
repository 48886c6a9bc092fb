/* SPDX-License-Identifier: Apache-2.0
 * What the library shows of itself where that is told to the compiler and not to the linker (whirr.map): included before anything
 * else.
 */
#pragma once

#pragma GCC visibility push(default)
#include "../../include/whirr.h"
#pragma GCC visibility pop
