/* SPDX-License-Identifier: Apache-2.0
 * The operations of the skeleton. Those of a real source are declared in source/source.h.
 */
#pragma once

#include "source/source.h"

extern const struct source_ops skeleton_source;
